// The part of Connection that hands a connection over to the next process: pause() and leave() in the old process,
// go_on() in the new one, and the notes in the record.
#include <algorithm>
#include <cstring>

#include "supervisor/base/json.h"
#include "supervisor/mcp/connection.h"

namespace mcp {

void Connection::pause() {
  if (accepted_.kept) reader_.reset();
}

void Connection::leave() {
  if (!accepted_.kept) return;
  reader_.reset();
  std::string_view rest = lines_.held();
  // The large line on the thread comes first; it was not handled.
  if (large_) rest = {large_->text.data(), static_cast<size_t>(rest.data() + rest.size() - large_->text.data())};
  accepted_.kept->record.write_rest(rest);
  note(ConnectionRecord::reading, lines_.is_discarding());
  accepted_.kept->leave();
}

// Continues the connection of the previous process. Requests in work when that process ended are lost. Their client
// still waits for answers, so each gets an error.
void Connection::go_on(ConnectionRecord::Read before) {
  const Json& handshake = before.handshake;
  auto text_of = [&handshake](const char* key) {
    const auto found = handshake.find(key);
    return found != handshake.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (handshake.is_object()) negotiated_ = version_named(text_of("version"));
  if (negotiated_) {
    log_level_ = severity_named(text_of("log_level"));
    start_legacy(handshake.value("capabilities", Json()), handshake.value("info", Json()));
    for (const Json& uri : handshake.value("uris", Json::array())) (void)!add_uri(interest_->wishes, uri);
    interest_->watch();
    note_handshake();
  }
  for (std::string_view rest = before.rest; !rest.empty();) {
    const auto space = lines_.space();
    const size_t bytes = std::min(space.size(), rest.size());
    std::memcpy(space.data(), rest.data(), bytes);
    lines_.commit(bytes);
    rest.remove_prefix(bytes);
  }
  for (const RequestId& id : before.calls) {
    refuse(id,
           {ErrorCode::internal_error,
            "warderd was restarted while this request ran; its answer is lost, and the request may have had effects",
            {{"code", "interrupted"}, {"remedy", "check the effects of the request, then send it again"}}},
           {});
  }
  note_calls();
}

void Connection::note_handshake() {
  if (!accepted_.kept) return;
  Json uris = Json::array();
  for (const std::string& uri : interest_->wishes.uris) uris.push_back(uri);
  Json known = {{"version", version_name(*negotiated_)},
                {"capabilities", client_->capabilities},
                {"info", client_->info},
                {"uris", std::move(uris)}};
  if (log_level_) known["log_level"] = severity_name(*log_level_);
  handshake_ = dump_json(known);
  note_calls();
}

void Connection::note_calls() {
  if (!accepted_.kept) return;
  std::string ids;
  for (const auto& [id, call] : calls_) ids.append(ids.empty() ? "" : ",").append(id.wire);
  accepted_.kept->record.write(handshake_, ids);
}

void Connection::note(ConnectionRecord::Busy kind, bool is) {
  if (accepted_.kept) accepted_.kept->record.set_busy(kind, is);
}

}  // namespace mcp

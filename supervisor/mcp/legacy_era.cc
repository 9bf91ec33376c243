// The part of Connection for settings that a legacy client makes for its whole connection: version, capabilities, log
// level, subscriptions.
#include <fmt/format.h>

#include "supervisor/base/json.h"
#include "supervisor/mcp/answers.h"
#include "supervisor/mcp/connection_call.h"

namespace mcp {

Answer Connection::initialize(const Json& params) {
  if (is_large(params)) {
    const auto text = fmt::format("Invalid params: initialize has more than {} KiB", kSmallText >> 10);
    return mcp::refuse(ErrorCode::invalid_params, text);
  }
  const auto requested = params.find("protocolVersion");
  if (requested == params.end() || !requested->is_string()) {
    return tl::unexpected(RpcError{ErrorCode::invalid_params, "Invalid params: protocolVersion must be a string", {}});
  }
  negotiated_ = negotiate(requested->get_ref<const std::string&>());
  log_level_ = Severity::info;  // until logging/setLevel says otherwise
  start_legacy(params.value("capabilities", Json()), params.value("clientInfo", Json()));
  note_handshake();
  return server_.initialize_members(*negotiated_);
}

void Connection::start_legacy(Json capabilities, Json info) {
  auto client = std::make_shared<ClientInfo>();
  if (capabilities.is_object()) client->capabilities = std::move(capabilities);
  client->info = std::move(info);
  client_ = std::move(client);
  interest_.emplace(server_.subscriptions(), accepted_.user, "", [this](std::string line) {
    if (takes_notifications()) reply(std::move(line), {});
  });
  interest_->wishes.lists = server_.told();
}

Answer Connection::subscribe(Method method, const Json& params) {
  const auto uri = params.find("uri");
  if (uri == params.end() || !uri->is_string())
    return mcp::refuse(ErrorCode::invalid_params, "Invalid params: uri must be a string");
  if (method == Method::unsubscribe) {
    interest_->wishes.uris.erase(uri->get<std::string>());
  } else if (auto added = add_uri(interest_->wishes, *uri); !added) {
    return tl::unexpected(std::move(added).error());
  }
  interest_->watch(params.value("_meta", Json()));
  note_handshake();
  return std::string();
}

Answer Connection::set_level(const Json& params) {
  const auto level = params.find("level");
  std::optional<Severity> severity;
  if (level != params.end() && level->is_string()) severity = severity_named(level->get_ref<const std::string&>());
  if (!severity) {
    return tl::unexpected(RpcError{ErrorCode::invalid_params,
                                   "Invalid params: level must be one of debug, info, notice, warning, "
                                   "error, critical, alert, emergency",
                                   {}});
  }
  log_level_ = severity;
  note_handshake();
  return std::string();
}

}  // namespace mcp

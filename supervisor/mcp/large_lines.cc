// The part of Connection that parses large lines on a thread beside the loop, so that they delay only their own user.
#include "supervisor/base/json.h"
#include "supervisor/mcp/connection_call.h"

namespace mcp {

namespace {
constexpr size_t kShortLine = 1 << 10;  // bytes; the values of a shorter line are not counted
}

bool Connection::take(const LineSplitter::Item& item) {
  const std::string_view text = item.text;
  const bool has_thread = server_.json_work() != nullptr, is_long = text.size() > JsonWork::kSmall;
  const size_t bytes = text.size() > kShortLine && !(has_thread && is_long) ? value_bytes(text) : 0;
  if (has_thread && item.kind == LineSplitter::Kind::line && (is_long || has_many_values(text, bytes))) {
    large_ = item;
    return false;
  }
  on_item(item, bytes);
  return true;
}

bool Connection::take_last(const LineSplitter::Item& item) {
  const LoopShare::Use use(*accepted_.account->loop);
  Outbox::Cork cork(outbox_);
  return take(item);
}

// Uses only its arguments, so any thread may call it.
Connection::Line Connection::measure(std::string_view text, tl::expected<Json, Refusal> value) {
  Line line{std::move(value), {}};
  if (!line.value) return line;
  const auto digest = [](const Json& message) {
    const auto params = message.is_object() ? message.find("params") : message.end();
    return params != message.end() && params->is_object() ? std::optional<size_t>(digest_of(*params)) : std::nullopt;
  };
  if (line.value->is_array()) {
    for (const Json& one : *line.value) line.measures.push_back(Measure{value_bytes(dump_json(one)), digest(one)});
  } else {
    line.measures.push_back(Measure{value_bytes(text), digest(*line.value)});
  }
  return line;
}

// Parses a large line beside the loop. The connection reads no other line meanwhile.
Task<> Connection::on_large(LineSplitter::Item item) {
  std::string_view text = item.text;
  std::shared_ptr<const char> kept = lines_.keep(item);
  if (!kept) {
    auto copy = std::make_shared<const std::string>(text);
    text = *copy;
    kept = {copy, copy->data()};
  }
  std::function<Result<Line>()> job = [text, kept]() -> Result<Line> { return measure(text, parse_line(text)); };
  JsonWork::Owner owner{name_};
  note(ConnectionRecord::reading, true);
  const Server::Busy busy(server_, Server::Busy::Kind::call);
  auto line = co_await server_.json_work()->run(std::move(owner), text.size(), std::move(job));
  large_.reset();
  if (!line) co_return refuse({}, {ErrorCode::internal_error, line.error().what, {}}, {});
  const Doing doing(LoopWork::client_message, &name_);
  const LoopShare::Use use(*accepted_.account->loop);
  Outbox::Cork cork(outbox_);
  on_line(text, *std::move(line));
}

}  // namespace mcp

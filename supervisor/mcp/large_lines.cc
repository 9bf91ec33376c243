// Lines of a connection that are read beside the loop: how long they take is their user's matter alone.
#include "supervisor/mcp/connection.h"

namespace mcp {

namespace {
constexpr size_t kShortLine = 1 << 10;  // of which the values need not be counted
}

Connection::Line Connection::read_line(std::string_view text) {
  auto value = parse_line(text);
  const size_t bytes = value && text.size() > kShortLine ? value_bytes(text) : 0;
  return {std::move(value), bytes};
}

bool Connection::is_large(const LineSplitter::Item& item) const {
  return server_.json_work() && item.kind == LineSplitter::Kind::line && item.text.size() > JsonWork::kSmall;
}

// Beside the loop; nothing else of this connection is read meanwhile.
Task<> Connection::on_large(LineSplitter::Item item) {
  const std::string_view text = item.text;
  std::function<Result<Line>()> job = [text, kept = lines_.keep(item)]() -> Result<Line> { return read_line(text); };
  JsonWork::Owner owner{name_};
  note(ConnectionRecord::reading, true);
  const Server::Busy busy(server_, Server::Busy::Kind::call);
  auto line = co_await server_.json_work()->run(std::move(owner), text.size(), std::move(job));
  large_.reset();
  if (!line) co_return refuse({}, {ErrorCode::internal_error, line.error().what, {}}, {});
  const Doing doing(LoopWork::client_message, &name_);
  Outbox::Cork cork(outbox_);
  on_line(text, *std::move(line));
}

}  // namespace mcp

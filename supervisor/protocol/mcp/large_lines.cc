// The part of Connection that parses large lines on a thread beside the loop, so that they delay only their own user.
#include "supervisor/protocol/mcp/connection.h"

namespace mcp {

bool Connection::take(const LineSplitter::Item& item) {
  const ReadingPlan plan = plan_reading(item.text, server_.work() != nullptr);
  if (plan.beside && item.kind == LineSplitter::Kind::line) {
    input_.large = item;
    return false;
  }
  on_item(item, plan.bytes);
  return true;
}

bool Connection::take_last(const LineSplitter::Item& item) {
  const LoopShare::Use use(*account().loop);
  Outbox::Cork cork(outbox_);
  return take(item);
}

// Parses a large line beside the loop. The connection reads no other line meanwhile.
Task<> Connection::on_large(LineSplitter::Item item) {
  std::string_view text = item.text;
  std::shared_ptr<const char> line_bytes = input_.lines.keep(item);
  if (!line_bytes) {
    auto copy = std::make_shared<const std::string>(text);
    text = *copy;
    line_bytes = {copy, copy->data()};
  }
  std::function<Result<IncomingJson>()> job = [text, line_bytes]() -> Result<IncomingJson> {
    return measure_json(text, parse_line(text));
  };
  Work::Owner owner{conversation_->name()};
  note(ConnectionRecord::reading, true);
  const Server::Busy busy(server_, Server::Busy::Kind::call);
  auto json = co_await server_.work()->run(std::move(owner), text.size(), std::move(job));
  input_.large.reset();
  if (!json) co_return refuse({}, {ErrorCode::internal_error, json.error().what, {}});
  const NamedWork named_work(LoopWork::client_message, &conversation_->name());
  const LoopShare::Use use(*account().loop);
  Outbox::Cork cork(outbox_);
  on_json(text, *std::move(json));
}

}  // namespace mcp

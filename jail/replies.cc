#include "jail/replies.h"

#include <fmt/format.h>

#include "supervisor/base/json.h"

using nlohmann::json;

namespace jail {
namespace {

std::string message_of(const json& id, Result<json> done) {
  json reply{{"type", "reply"}, {"id", id}};
  if (done) {
    reply["result"] = *std::move(done);
  } else {
    const Error& e = done.error();
    reply["error"] = {{"code", code_name(e.code)}, {"message", e.what}};
    if (!e.rule.empty()) reply["error"]["rule"] = e.rule;
    if (!e.hint.empty()) reply["error"]["remedy"] = e.hint;
  }
  return dump_json(reply);
}

}  // namespace

Replies::~Replies() {
  while (!waiting_.empty()) drop_first();
}

void Replies::drop_first() {
  room_.taken -= waiting_.front().size();
  waiting_.pop_front();
}

Task<> Replies::send(json id, Result<json> done) {
  std::string text = message_of(id, std::move(done));
  if (text.size() > Room::kSmall && room_.taken + text.size() > room_.bytes)
    text = message_of(
        id, fail(Code::exhausted, fmt::format("answers of {} MB wait for jails to read them", room_.taken >> 20),
                 "ask again, or for less at once"));
  room_.taken += text.size();
  waiting_.push_back(std::move(text));
  if (sending_) co_return;
  sending_ = true;
  while (!waiting_.empty()) {
    auto sent = co_await guest_.send(waiting_.front());
    if (!sent) break;
    drop_first();
  }
  sending_ = false;
}

}  // namespace jail

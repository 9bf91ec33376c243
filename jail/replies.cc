#include "jail/replies.h"

#include <fmt/format.h>

#include "supervisor/base/json.h"
#include "supervisor/base/value_bytes.h"

namespace jail {
namespace {

std::string message_of(const Json& id, Result<Json> done) {
  Json reply{{"type", "reply"}, {"id", id}};
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
  room_.taken -= waiting_.front()->size();
  waiting_.pop_front();
}

// What is being written takes its room already.
class Replies::Writing {
 public:
  Writing(Replies& replies, size_t bytes) : replies_(replies), bytes_(bytes) {
    replies_.room_.taken += bytes_;
    replies_.writing_++;
  }
  ~Writing() {
    replies_.room_.taken -= bytes_;
    replies_.writing_--;
  }
  Writing(const Writing&) = delete;

 private:
  Replies& replies_;
  size_t bytes_;
};

Task<Result<std::string>> Replies::write(Json id, Json value, size_t length) {
  const Writing writing(*this, length);
  auto whole = std::make_shared<Json>(std::move(value));
  std::function<Result<std::string>()> job = [id, whole]() -> Result<std::string> {
    return message_of(id, std::move(*whole));
  };
  auto text = co_await json_.run(owner_, 0, std::move(job));  // what it was made of has been charged
  co_return text;
}

Task<> Replies::send(Json id, Result<Json> done) {
  const size_t length = done ? rough_length(*done) : 0;
  std::string text;
  if (length > Room::kSmall && room_.taken + length > room_.bytes) {
    text = message_of(
        id, fail(Code::exhausted, fmt::format("answers of {} MB wait for jails to read them", room_.taken >> 20),
                 "ask again, or for less at once"));
    if (length > JsonWork::kSmall) json_.free_elsewhere(*std::move(done));
  } else if (length > JsonWork::kSmall) {
    auto written = co_await write(id, *std::move(done), length);
    text = written ? *std::move(written) : message_of(id, tl::unexpected<Error>(std::move(written).error()));
  } else {
    text = message_of(id, std::move(done));
  }
  room_.taken += text.size();
  waiting_.push_back(std::make_shared<const std::string>(std::move(text)));
  if (sending_) co_return;
  sending_ = true;
  while (!waiting_.empty()) {
    auto sent = co_await guest_.send_shared(waiting_.front());
    if (!sent) break;
    drop_first();
  }
  sending_ = false;
}

}  // namespace jail

#include "jail/talk/replies.h"

#include <fmt/format.h>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/value_bytes.h"

namespace jail {
namespace {

constexpr size_t kFreedElsewhere = 4 << 20;  // bytes of one text

// The text before a result; after the result there is one '}'.
std::string before_result(const Json& id) { return R"({"type":"reply","id":)" + dump_json(id) + R"(,"result":)"; }

std::string message_of(const Json& id, std::string_view result) {
  std::string text = before_result(id);
  text += result;
  text += '}';
  return text;
}

std::string refusal_of(const Json& id, const Error& e) {
  Json reply{{"type", "reply"}, {"id", id}};
  reply["error"] = {{"code", code_name(e.code)}, {"message", e.what}};
  if (!e.rule.empty()) reply["error"]["rule"] = e.rule;
  if (!e.hint.empty()) reply["error"]["remedy"] = e.hint;
  return dump_json(reply);
}

}  // namespace

Replies::~Replies() {
  while (!waiting_.empty()) drop_first();
}

void Replies::drop_first() {
  room_.claimed -= waiting_.front()->size();
  if (waiting_.front()->size() > kFreedElsewhere) work_.free_elsewhere(std::move(waiting_.front()));
  waiting_.pop_front();
}

// Writing: while a large reply is being written as text, its bytes count as taken.
class Replies::Writing {
 public:
  Writing(Replies& replies, size_t bytes) : replies_(replies), bytes_(bytes) {
    replies_.room_.claimed += bytes_;
    replies_.writing_++;
  }
  ~Writing() {
    replies_.room_.claimed -= bytes_;
    replies_.writing_--;
  }
  Writing(const Writing&) = delete;

 private:
  Replies& replies_;
  size_t bytes_;
};

Task<Result<std::string>> Replies::write(Json id, Json value, size_t length) {
  const Writing writing(*this, length);
  auto document = std::make_shared<Json>(std::move(value));
  std::function<Result<std::string>()> job = [id, document]() -> Result<std::string> {
    std::string text = message_of(id, dump_json(*document));
    *document = nullptr;
    return text;
  };
  auto text = co_await work_.run(owner_, 0, std::move(job));  // the value was charged when it was made
  co_return text;
}

tl::unexpected<Error> Replies::no_room() const {
  return fail(Code::exhausted, fmt::format("answers of {} MB wait for jails to read them", room_.claimed >> 20),
              "call again, or ask for less data in one call");
}

Task<> Replies::send(Json id, Result<CallReply> done) {
  const size_t length = !done ? 0 : done->bytes > 0 ? done->bytes : rough_length(done->value);
  Result<std::string> text = std::string();
  if (!done) {
    text = tl::unexpected<Error>(std::move(done).error());
  } else if (!has_room(length)) {
    work_.free_elsewhere(std::move(*done));
    text = no_room();
  } else if (!done->text.empty()) {
    text = message_of(id, done->text);
  } else if (length <= Work::kSmall) {
    text = message_of(id, dump_json(done->value));
  } else {
    text = co_await write(id, std::move(done->value), length);
  }
  if (text && observer_) {
    const size_t before = before_result(id).size();
    observer_(std::string_view(*text).substr(before, text->size() - before - 1));
  }
  if (!text) text = refusal_of(id, text.error());
  room_.claimed += text->size();
  waiting_.push_back(std::make_shared<const std::string>(*std::move(text)));
  if (sending_) co_return;
  sending_ = true;
  while (!waiting_.empty()) {
    auto sent = co_await guest_.send_shared(waiting_.front());
    if (!sent) break;
    drop_first();
    sent_++;
  }
  sending_ = false;
}

}  // namespace jail

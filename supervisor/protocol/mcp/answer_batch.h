// AnswerBatch: the answers to one array of requests, sent as one array when the last request was answered or cancelled.
// Owned by the requests of the array, by shared_ptr. Used by: Conversation. No errors.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "supervisor/protocol/mcp/jsonrpc.h"
#include "supervisor/protocol/mcp/unread.h"

namespace mcp {

class AnswerBatch {
 public:
  // `id`: the id of the first answer that has one.
  using Send = std::function<void(const RequestId* id, std::string line)>;
  AnswerBatch(std::shared_ptr<UnreadAccount> account, Send send)
      : unread_(std::move(account)), send_(std::move(send)) {}
  ~AnswerBatch() {
    unread_.set(0);
    if (!lines_.empty()) send_(first_ ? &*first_ : nullptr, "[" + lines_ + "]");
  }
  AnswerBatch(const AnswerBatch&) = delete;
  AnswerBatch& operator=(const AnswerBatch&) = delete;

  void add(const RequestId* id, std::string_view line) {
    if (!first_ && id) first_ = *id;
    if (!lines_.empty()) lines_ += ',';
    lines_ += line;
    unread_.set(lines_.size());
  }

 private:
  UnreadShare unread_;
  Send send_;
  std::optional<RequestId> first_;
  std::string lines_;
};

}  // namespace mcp

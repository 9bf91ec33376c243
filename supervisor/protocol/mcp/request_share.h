// RequestCounts: how many requests of one conversation are in work. RequestShare: one request's share of these counts
// and of its user's account, returned when the request ends.
// Used by: Conversation, RunningCall. No errors.
#pragma once
#include <cstddef>
#include <memory>
#include <utility>

#include "supervisor/protocol/mcp/account.h"

namespace mcp {

// Calls that were answered with questions count, too.
struct RequestCounts {
  size_t calls = 0;     // requests in work, without those of `queued`
  size_t queued = 0;    // calls of tools with ToolDefinition::queues
  size_t id_bytes = 0;  // bytes of the ids of both
  size_t held_up = 0;   // calls that wait until the user's answers are read
};

class RequestShare {
 public:
  RequestShare(std::shared_ptr<RequestCounts> counts, std::shared_ptr<Account> account, bool queues, size_t id_bytes,
               size_t bytes)
      : counts_(std::move(counts)), account_(std::move(account)), queues_(queues), id_bytes_(id_bytes), bytes_(bytes) {
    enter();
    account_->call_bytes += bytes_;
  }
  ~RequestShare() {
    leave();
    account_->call_bytes -= bytes_;
  }
  RequestShare(const RequestShare&) = delete;
  RequestShare& operator=(const RequestShare&) = delete;

  // Adds `bytes` of memory to the user's account. False: the account would be over its limit, and stays as it was.
  bool add(size_t bytes) {
    if (account_->call_bytes + bytes > account_->max_call_bytes) return false;
    account_->call_bytes += bytes;
    bytes_ += bytes;
    return true;
  }
  // Counts the request in another conversation of its user from now on.
  void move_to(std::shared_ptr<RequestCounts> counts) {
    leave();
    counts_ = std::move(counts);
    enter();
  }

 private:
  void enter() {
    (queues_ ? counts_->queued : counts_->calls)++;
    counts_->id_bytes += id_bytes_;
  }
  void leave() {
    (queues_ ? counts_->queued : counts_->calls)--;
    counts_->id_bytes -= id_bytes_;
  }

  std::shared_ptr<RequestCounts> counts_;
  std::shared_ptr<Account> account_;
  bool queues_;
  size_t id_bytes_, bytes_;
};

}  // namespace mcp

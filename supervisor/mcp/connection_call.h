// Connection::Call: one request in work. Connection::Batch: the answers to one array of requests.
// Used by: the source files of Connection.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/mcp/connection.h"

namespace mcp {

class Connection::Batch {
 public:
  Batch(Outbox& outbox, std::shared_ptr<UnreadAccount> account) : outbox_(outbox), unread_(std::move(account)) {}
  ~Batch() {
    unread_.set(0);
    if (!lines_.empty()) outbox_.send("[" + lines_ + "]");
  }
  void add(std::string_view line) {
    if (!lines_.empty()) lines_ += ',';
    lines_ += line;
    unread_.set(lines_.size());
  }

 private:
  Outbox& outbox_;
  UnreadShare unread_;
  std::string lines_;
};

// Counts of one connection's requests in work. Calls that were answered with questions count, too.
struct Connection::Work {
  size_t calls = 0;     // requests in work, without those of `queued`
  size_t queued = 0;    // calls of tools with ToolDefinition::queues
  size_t id_bytes = 0;  // bytes of the ids of both
};

// Counts one call while it waits for room in the user's account of unread answers.
struct Connection::HeldUp {
  explicit HeldUp(size_t& count) : count_(count) { count_++; }
  ~HeldUp() { count_--; }
  HeldUp(const HeldUp&) = delete;
  HeldUp& operator=(const HeldUp&) = delete;
  size_t& count_;
};

// One request's share of the connection's limits and of its user's limits. Returned when the request ends.
class Connection::Share {
 public:
  Share(std::shared_ptr<Work> work, std::shared_ptr<Account> account, bool queues, size_t id_bytes, size_t bytes)
      : work_(std::move(work)), account_(std::move(account)), queues_(queues), id_bytes_(id_bytes), bytes_(bytes) {
    (queues_ ? work_->queued : work_->calls)++;
    work_->id_bytes += id_bytes_;
    account_->call_bytes += bytes_;
  }
  ~Share() {
    (queues_ ? work_->queued : work_->calls)--;
    work_->id_bytes -= id_bytes_;
    account_->call_bytes -= bytes_;
  }
  // Adds `bytes` of memory to the user's account. False: the account would be over its limit, and stays as it was.
  bool add(size_t bytes) {
    if (account_->call_bytes + bytes > account_->max_call_bytes) return false;
    account_->call_bytes += bytes;
    bytes_ += bytes;
    return true;
  }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

 private:
  std::shared_ptr<Work> work_;
  std::shared_ptr<Account> account_;
  bool queues_;
  size_t id_bytes_, bytes_;
};

// One request that a handler works on. Destroying it cancels the handler.
struct Connection::Call {
  Call(Server& server, RequestContext request, std::shared_ptr<Batch> in)
      : batch(std::move(in)), context(std::move(request)) {
    busy.emplace(server, Server::Busy::Kind::call);
  }
  ~Call() {
    context.close();
    task.reset();  // before the members that the task uses
  }
  std::optional<Share> share;
  std::optional<UnreadShare> unread;  // the answer's memory, until the connection has the answer
  std::optional<Server::Busy> busy;
  std::shared_ptr<Batch> batch;  // may be null
  RequestContext context;

  // For calls that ask a modern client.
  size_t digest = 0;                   // digest_of() the request's params
  std::vector<std::string> questions;  // keys of embedded_
  std::string state;                   // `requestState`, while the call is parked
  std::optional<Answer> answer;        // made while the call was parked
  Deadline forgetting;                 // drops that answer

  std::optional<Task<>> task;
};

// A hash over a request's params without the answers: equal for a call and for its repetition with answers. A client
// that forges an equal hash only deceives itself, because the first request continues: no secret is needed.
size_t digest_of(const Json& params);

}  // namespace mcp

// What connection.cc and questions.cc know of one request in work, and of an array of them.
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

// Requests of one connection that are in work, those that were answered with questions among them.
struct Connection::Work {
  size_t calls = 0;     // of handlers that do not queue
  size_t queued = 0;    // of those that do
  size_t id_bytes = 0;  // of both
};

// While a call waits for room.
struct Connection::HeldUp {
  explicit HeldUp(size_t& count) : count_(count) { count_++; }
  ~HeldUp() { count_--; }
  HeldUp(const HeldUp&) = delete;
  HeldUp& operator=(const HeldUp&) = delete;
  size_t& count_;
};

// What one request takes of the connection's limits and of its user's, until it ends.
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
  // False, and nothing changes: the user has no more.
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
    task.reset();  // before what it uses
  }
  std::optional<Share> share;
  std::optional<UnreadShare> unread;  // of its answer, until that is with the connection
  std::optional<Server::Busy> busy;
  std::shared_ptr<Batch> batch;  // may be null
  RequestContext context;

  // Of one that asks a modern client.
  size_t digest = 0;                   // of what was asked for
  std::vector<std::string> questions;  // keys of embedded_
  std::string state;                   // while it is parked
  std::optional<Answer> answer;        // that came while it was parked
  Deadline forgetting;                 // of that

  std::optional<Task<>> task;
};

// What a request asks for, whatever its id and answers: equal for a call and its repetition with answers. Whom it tells
// apart is the client itself, and what goes on is the first one: no secret is needed.
size_t digest_of(const Json& params);

}  // namespace mcp

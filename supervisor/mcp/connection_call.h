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
  explicit Batch(Outbox& outbox) : outbox_(outbox) {}
  ~Batch() {
    if (!lines_.empty()) outbox_.send("[" + lines_ + "]");
  }
  void add(std::string_view line) {
    if (!lines_.empty()) lines_ += ',';
    lines_ += line;
  }

 private:
  Outbox& outbox_;
  std::string lines_;
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
size_t digest_of(const nlohmann::json& params);

}  // namespace mcp

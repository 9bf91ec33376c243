// ParkedCalls: calls that were answered with questions and wait for the client to repeat the request. They are found by
// the client's principal and a random key of 128 bits, the `requestState` of the answer: on any connection, as MCP
// 2026-07-28 demands. A call outlives the conversation that it began in for some time, and so does an answer that is
// made while it is parked.
// Each principal has a limit of calls and of bytes in stored answers. No principal finds the calls of another one.
// Owned by: Server. Used by: Conversation. No errors.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/protocol/mcp/running_call.h"

namespace mcp {

struct ParkedLimits {
  size_t calls = 8192;                          // of one principal; the limits of one connection are lower
  size_t answer_bytes = 64 << 20;               // stored answers of one principal
  size_t conversation_answer_bytes = 8 << 20;   // the part of them from one conversation
  std::chrono::milliseconds patience{600'000};  // how long an answer waits
};

class ParkedCalls : private CallHost {
 public:
  // `limits` are for tests.
  explicit ParkedCalls(Loop& loop, ParkedLimits limits = {}) : loop_(loop), limits_(limits) {}
  ~ParkedCalls() override;
  ParkedCalls(const ParkedCalls&) = delete;
  ParkedCalls& operator=(const ParkedCalls&) = delete;

  // The conversation that parked a call; nullptr: it has ended.
  using Owner = const void*;

  // Whether the principal may park one more call.
  bool has_room(const std::string& principal) const;
  // Parks a call and returns its new key. Until take(), this object is the call's host. Call has_room() before.
  std::string add(const std::string& principal, Owner owner, std::unique_ptr<RunningCall> call);
  // nullptr: the principal has no parked call with this key.
  const RunningCall* find(const std::string& principal, const std::string& key) const;
  struct ParkedAnswer {
    std::unique_ptr<RunningCall> call;  // the caller becomes its host
    std::optional<Answer> answer;       // made while the call was parked
  };
  // Removes a call that find() has found.
  ParkedAnswer take(const std::string& principal, const std::string& key);
  // The end of `owner`: its calls wait for a repetition as long as `patience`, then they are cancelled.
  void leave(const std::string& principal, Owner owner, std::chrono::milliseconds patience);
  // The number of the principal's calls.
  size_t count(const std::string& principal) const;

 private:
  struct Entry {
    Owner owner = nullptr;
    std::unique_ptr<RunningCall> call;
    std::optional<Answer> answer;
    Deadline forgetting;  // drops the call
  };
  using Entries = std::map<std::string, Entry>;  // by key

  void notify(const RunningCall& call, std::string line) override;
  std::shared_ptr<Elicitation> ask(RunningCall& call, ElicitationForm form,
                                   std::function<void(Elicited)> answered) override;
  void finish(RunningCall& call, Answer answer) override;
  Result<> detach(RunningCall& call, ToolResult now) override;
  Task<Result<>> become_task(RunningCall& call) override;
  bool may_keep(const Entries& entries, const Entry& entry, size_t bytes) const;
  void forget_later(Entry& entry, std::chrono::milliseconds patience);
  Entries::node_type extract(const std::string& principal, const std::string& key);

  Loop& loop_;
  ParkedLimits limits_;
  std::map<std::string, Entries> principals_;
};

}  // namespace mcp

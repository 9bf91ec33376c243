#include "supervisor/protocol/mcp/parked_calls.h"

#include <utility>

#include "supervisor/base/random.h"

namespace mcp {

// Calls are destroyed after their entries are gone: the destructor of one handler may let another handler finish.
ParkedCalls::~ParkedCalls() {
  auto principals = std::exchange(principals_, {});
  principals.clear();
}

bool ParkedCalls::has_room(const std::string& principal) const { return count(principal) < limits_.calls; }

size_t ParkedCalls::count(const std::string& principal) const {
  const auto entries = principals_.find(principal);
  return entries == principals_.end() ? 0 : entries->second.size();
}

std::string ParkedCalls::add(const std::string& principal, Owner owner, std::unique_ptr<RunningCall> call) {
  std::string key = random_hex(16);
  call->host = this;
  call->parked_principal = principal;
  call->parked_key = key;
  Entry& entry = principals_[principal][key];
  entry.owner = owner;
  entry.call = std::move(call);
  return key;
}

const RunningCall* ParkedCalls::find(const std::string& principal, const std::string& key) const {
  const auto entries = principals_.find(principal);
  if (entries == principals_.end()) return nullptr;
  const auto it = entries->second.find(key);
  return it != entries->second.end() ? it->second.call.get() : nullptr;
}

ParkedCalls::Entries::node_type ParkedCalls::extract(const std::string& principal, const std::string& key) {
  const auto entries = principals_.find(principal);
  if (entries == principals_.end()) return {};
  auto node = entries->second.extract(key);
  if (entries->second.empty()) principals_.erase(entries);
  return node;
}

ParkedCalls::ParkedAnswer ParkedCalls::take(const std::string& principal, const std::string& key) {
  auto node = extract(principal, key);
  Entry& entry = node.mapped();
  entry.call->parked_principal.clear();
  entry.call->parked_key.clear();
  return {std::move(entry.call), std::move(entry.answer)};
}

void ParkedCalls::leave(const std::string& principal, Owner owner, std::chrono::milliseconds patience) {
  const auto entries = principals_.find(principal);
  if (entries == principals_.end()) return;
  for (auto& [key, entry] : entries->second) {
    if (entry.owner != owner) continue;
    entry.owner = nullptr;
    if (!entry.answer) forget_later(entry, patience);
  }
}

// The client reads no message of a request that was answered.
void ParkedCalls::notify(const RunningCall&, std::string) {}

// The client gets the question when it repeats the request.
std::shared_ptr<Elicitation> ParkedCalls::ask(RunningCall& call, ElicitationForm form,
                                              std::function<void(Elicited)> answered) {
  return call.add_question(std::move(form), std::move(answered));
}

// No request waits for an answer.
Result<> ParkedCalls::detach(RunningCall&, ToolResult) {
  return fail(Code::unavailable, "the client was asked a question, and has not answered it");
}

Task<Result<>> ParkedCalls::become_task(RunningCall& call) {
  auto refused = detach(call, {});
  co_return refused;
}

bool ParkedCalls::may_keep(const Entries& entries, const Entry& entry, size_t bytes) const {
  size_t of_principal = bytes, of_owner = bytes;
  for (const auto& [key, other] : entries) {
    if (!other.answer || !*other.answer) continue;
    const size_t size = (*other.answer)->size();
    of_principal += size;
    if (other.owner == entry.owner) of_owner += size;
  }
  return of_principal <= limits_.answer_bytes && (!entry.owner || of_owner <= limits_.conversation_answer_bytes);
}

// Keeps the answer: the client has no open request for it, but may still repeat the request.
void ParkedCalls::finish(RunningCall& call, Answer answer) {
  call.context.close();
  const auto entries = principals_.find(call.parked_principal);
  if (entries == principals_.end()) return;  // the call is being destroyed
  const auto it = entries->second.find(call.parked_key);
  if (it == entries->second.end()) return;
  Entry& entry = it->second;
  if (answer && !may_keep(entries->second, entry, answer->size())) {
    answer = tl::unexpected(
        RpcError{ErrorCode::internal_error,
                 "The call was done, but its answer was too large to be stored until the client asks for it",
                 {{"remedy", "check the effects of the call; call again for a smaller answer"}}});
  }
  call.unread->set(answer ? answer->size() : 0);
  call.busy.reset();
  entry.answer = std::move(answer);
  forget_later(entry, limits_.patience);
}

void ParkedCalls::forget_later(Entry& entry, std::chrono::milliseconds patience) {
  const RunningCall& call = *entry.call;
  entry.forgetting = Deadline(loop_, patience, [this, principal = call.parked_principal, key = call.parked_key] {
    const auto forgotten = extract(principal, key);  // also destroys this deadline: must be the last statement
  });
}

}  // namespace mcp

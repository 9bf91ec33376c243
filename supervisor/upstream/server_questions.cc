#include "supervisor/upstream/server_questions.h"

#include "supervisor/base/json/json.h"

namespace upstream {
namespace {

constexpr int kInvalidParams = -32602;

// Stops the clock while the guard exists.
class PauseGuard {
 public:
  explicit PauseGuard(RequestClock& clock) : clock_(clock) { clock_.hold(); }
  ~PauseGuard() { clock_.release(); }
  PauseGuard(const PauseGuard&) = delete;

 private:
  RequestClock& clock_;
};

}  // namespace

// One question that a person is asked. Destroying it withdraws the question.
struct ServerQuestions::Open {
  Open(Loop& loop, Json params, int64_t of) : id(std::move(params)), call(of), task(loop) {}
  Json id;
  int64_t call;
  Scope task;
};

ServerQuestions::ServerQuestions(Loop& loop, Work& work, Work::Owner owner, Send send)
    : loop_(loop), work_(work), owner_(std::move(owner)), send_(std::move(send)) {}

ServerQuestions::~ServerQuestions() {
  for (const auto& [key, one] : std::exchange(open_, {})) one->task.cancel_all();
}

void ServerQuestions::open(int64_t call, Asking asking, RequestClock& clock) {
  calls_.emplace(call, Call{std::move(asking), &clock});
}

void ServerQuestions::close(int64_t call, bool received) {
  auto node = calls_.extract(call);
  if (!node) return;
  if (!received && abandoned_.size() >= kMaxGivenUp) lost_count_ = true;
  if (!received && !lost_count_) abandoned_.emplace(call, node.mapped().asking.owner_name);
  std::erase_if(open_, [call](const auto& entry) { return entry.second->call == call; });
}

ServerQuestions::Call* ServerQuestions::call_of(std::optional<int64_t> of, int64_t& id) {
  if (of) {
    const auto it = calls_.find(*of);
    id = *of;
    return it == calls_.end() ? nullptr : &it->second;
  }
  if (calls_.size() != 1 || lost_count_) return nullptr;
  Call& only = calls_.begin()->second;
  for (const auto& [other, owner_name] : abandoned_)
    if (owner_name != only.asking.owner_name) return nullptr;
  id = calls_.begin()->first;
  return &only;
}

void ServerQuestions::ask(const Json& id, Json params, std::optional<int64_t> of) {
  const std::string key = dump_json(id);
  if (open_.contains(key)) return;  // with the same id, the two answers could be confused
  int64_t number = 0;
  Call* call = call_of(of, number);
  if (!call || !call->asking.ask || call->requested >= kMaxOfCall) return reply(id, {});
  call->requested++;
  auto item = std::make_shared<Open>(loop_, id, number);
  open_.emplace(key, item);
  item->task.spawn(answer(*item, call->asking, *call->clock, std::move(params)));
}

Task<> ServerQuestions::answer(Open& item, Asking asking, RequestClock& clock, Json params) {
  Work::Owner owner = owner_;
  auto question = co_await read_question_in_turn(work_, std::move(owner), std::move(params));
  if (question) {
    Reply statement;
    {
      const PauseGuard paused(clock);
      statement = co_await asking.ask(*std::move(question));
    }
    reply(item.id, statement);
  } else {
    const Json error{{"code", kInvalidParams}, {"message", question.error().what}};
    send_({{"jsonrpc", "2.0"}, {"id", item.id}, {"error", error}});
  }
  // `item` owns this task, so a later turn of the loop destroys it.
  if (auto node = open_.extract(dump_json(item.id))) loop_.defer([done = std::move(node.mapped())] {});
}

void ServerQuestions::reply(const Json& id, const Reply& reply) const {
  send_({{"jsonrpc", "2.0"}, {"id", id}, {"result", reply.result()}});
}

void ServerQuestions::take_back(const Json& id) { open_.erase(dump_json(id)); }

}  // namespace upstream

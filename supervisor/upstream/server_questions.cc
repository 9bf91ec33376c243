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
  Open(Loop& loop, Json given, int64_t of) : id(std::move(given)), call(of), task(loop) {}
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

void ServerQuestions::close(int64_t call, bool heard) {
  auto node = calls_.extract(call);
  if (!node) return;
  if (!heard && given_up_.size() >= kMaxGivenUp) lost_count_ = true;
  if (!heard && !lost_count_) given_up_.emplace(call, node.mapped().asking.whose);
  std::erase_if(open_, [call](const auto& entry) { return entry.second->call == call; });
}

ServerQuestions::Call* ServerQuestions::call_of(std::optional<int64_t> of, int64_t& id) {
  if (of) {
    const auto found = calls_.find(*of);
    id = *of;
    return found == calls_.end() ? nullptr : &found->second;
  }
  if (calls_.size() != 1 || lost_count_) return nullptr;
  Call& only = calls_.begin()->second;
  for (const auto& [other, whose] : given_up_)
    if (whose != only.asking.whose) return nullptr;
  id = calls_.begin()->first;
  return &only;
}

void ServerQuestions::ask(const Json& id, Json params, std::optional<int64_t> of) {
  const std::string key = dump_json(id);
  if (open_.contains(key)) return;  // with the same id, the two answers could be confused
  int64_t number = 0;
  Call* call = call_of(of, number);
  if (!call || !call->asking.ask || call->asked >= kMaxOfCall) return reply(id, {});
  call->asked++;
  auto one = std::make_shared<Open>(loop_, id, number);
  open_.emplace(key, one);
  one->task.spawn(answer(*one, call->asking, *call->clock, std::move(params)));
}

Task<> ServerQuestions::answer(Open& one, Asking asking, RequestClock& clock, Json params) {
  Work::Owner owner = owner_;
  auto question = co_await read_question_in_turn(work_, std::move(owner), std::move(params));
  if (question) {
    Reply said;
    {
      const PauseGuard paused(clock);
      said = co_await asking.ask(*std::move(question));
    }
    reply(one.id, said);
  } else {
    const Json error{{"code", kInvalidParams}, {"message", question.error().what}};
    send_({{"jsonrpc", "2.0"}, {"id", one.id}, {"error", error}});
  }
  // `one` owns this task, so a later turn of the loop destroys it.
  if (auto node = open_.extract(dump_json(one.id))) loop_.defer([done = std::move(node.mapped())] {});
}

void ServerQuestions::reply(const Json& id, const Reply& reply) const {
  send_({{"jsonrpc", "2.0"}, {"id", id}, {"result", reply.result()}});
}

void ServerQuestions::take_back(const Json& id) { open_.erase(dump_json(id)); }

}  // namespace upstream

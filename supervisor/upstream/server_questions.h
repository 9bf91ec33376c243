// ServerQuestions: the questions (elicitation/create) that a server of the legacy era asks over one connection. Finds
// the call of each question, asks the person behind the call, and sends the answer.
// Over HTTP a question comes in the reply to its call's request. Over standard streams a question names no call: it
// belongs to the only open call. If several calls are open, or another person's call was given up and may still run,
// the question is cancelled, because a person must never see the question of another person's call. A question that
// cannot be asked is cancelled at once.
// Source: Client. The server is not trusted: the number of questions in a call is limited, and question.h checks them.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/loop.h"
#include "supervisor/upstream/question.h"
#include "supervisor/upstream/request_clock.h"

namespace upstream {

class ServerQuestions {
 public:
  static constexpr size_t kMaxOfCall = 10;
  static constexpr size_t kMaxGivenUp = 256;
  using Send = std::function<void(const Json& message)>;

  // `owner`: questions are read in its turn. Loop and `work` must outlive this object.
  ServerQuestions(Loop& loop, Work& work, Work::Owner owner, Send send);
  ~ServerQuestions();
  ServerQuestions(const ServerQuestions&) = delete;

  // A call begins. `clock` stops while the person is asked, and must outlive the call's close().
  void open(int64_t call, Asking asking, RequestClock& clock);
  // The call ends, and its open questions are withdrawn. `was_received`: the server answered; false: the call was given
  // up.
  void close(int64_t call, bool was_received);
  // The answer to a call came after the call was given up.
  void received(int64_t call) { abandoned_.erase(call); }

  // A question of the server, with its id. `of`: the call that the HTTP reply belongs to; empty: not known.
  void ask(const Json& id, Json params, std::optional<int64_t> of);
  // The server withdraws its question.
  void take_back(const Json& id);
  size_t waiting() const { return open_.size(); }

 private:
  struct Call {
    Asking asking;
    RequestClock* clock;
    size_t requested = 0;
  };
  struct Open;
  Call* call_of(std::optional<int64_t> of, int64_t& id);
  Task<> answer(Open& item, Asking asking, RequestClock& clock, Json params);
  void reply(const Json& id, const Reply& reply) const;

  Loop& loop_;
  Work& work_;
  const Work::Owner owner_;
  Send send_;
  std::map<int64_t, Call> calls_;
  // Calls that were given up and may still run at the server, with the person of each.
  std::map<int64_t, std::string> abandoned_;
  bool lost_count_ = false;                            // abandoned_ was full, so it is incomplete
  std::map<std::string, std::shared_ptr<Open>> open_;  // key: the server's id, as JSON
};

}  // namespace upstream

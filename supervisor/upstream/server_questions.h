// ServerQuestions: what a server of the legacy era asks over one connection (elicitation/create), for which of the
// calls that are open there, and the answers. Over HTTP a question comes in the reply to its call's request; over
// standard streams nothing says whose it is: it is that of the one call that is open. Where there are more, or somebody
// else's was given up and may still go on there, nobody is asked: a person is never shown the question of another
// person's call. What cannot be asked is cancelled at once.
// Source: Client. The server is not trusted: a call has so many questions, and what it asks is checked by question.h.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "supervisor/base/json_value.h"
#include "supervisor/base/loop.h"
#include "supervisor/upstream/question.h"
#include "supervisor/upstream/request_clock.h"

namespace upstream {

class ServerQuestions {
 public:
  static constexpr size_t kMostOfCall = 10;
  static constexpr size_t kMostGivenUp = 256;
  using Send = std::function<void(const Json& message)>;

  ServerQuestions(Loop& loop, Send send);
  ~ServerQuestions();
  ServerQuestions(const ServerQuestions&) = delete;

  // A call is under way; `clock` stands still while somebody is asked, and outlives the call's close().
  void open(int64_t call, Asking asking, RequestClock& clock);
  // It is over, and its questions are taken back. `heard`: the server answered; else it was given up.
  void close(int64_t call, bool heard);
  // The answer came after all.
  void heard(int64_t call) { given_up_.erase(call); }

  // A question, with the server's own id. `of`: the call in whose reply it came; nothing: nobody knows.
  void ask(const Json& id, const Json& params, std::optional<int64_t> of);
  // The server does not want to know any more.
  void take_back(const Json& id);
  size_t waiting() const { return open_.size(); }

 private:
  struct Call {
    Asking asking;
    RequestClock* clock;
    size_t asked = 0;
  };
  struct Open;
  Call* call_of(std::optional<int64_t> of, int64_t& id);
  Task<> answer(Open& one, Asking asking, RequestClock& clock, Question question);
  void reply(const Json& id, const Reply& reply) const;

  Loop& loop_;
  Send send_;
  std::map<int64_t, Call> calls_;
  // Calls that may still go on at the server though nobody waits for them, and whose they were.
  std::map<int64_t, std::string> given_up_;
  bool lost_count_ = false;                            // of those
  std::map<std::string, std::shared_ptr<Open>> open_;  // by the server's id, as JSON
};

}  // namespace upstream

// PendingQuestions: those that wait for a person (call_question.cc). They are cancelled when the policies are loaded
// anew, and when the daemon ends; then nobody is asked any more, and what runs is answered.
#pragma once
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "supervisor/base/loop.h"

namespace calls {

class PendingQuestions {
 public:
  bool closed() const { return closed_; }
  // It is fired when nobody is to be waited for any more.
  void add(const std::shared_ptr<Event>& settled) {
    std::erase_if(waiting_, [](const auto& one) { return one.expired(); });
    waiting_.push_back(settled);
  }
  // Whoever waits goes on in a turn of its own.
  void cancel_all(Loop& loop) {
    for (const auto& one : std::exchange(waiting_, {}))
      loop.defer([one] {
        const auto settled = one.lock();
        if (settled && !settled->fired()) settled->fire();
      });
  }
  void close(Loop& loop) {
    closed_ = true;
    cancel_all(loop);
  }

 private:
  std::vector<std::weak_ptr<Event>> waiting_;
  bool closed_ = false;
};

}  // namespace calls

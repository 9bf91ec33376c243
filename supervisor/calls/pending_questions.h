// PendingQuestions: the questions of upstream servers that wait for a person. A reload of the policies cancels them,
// and so does the end of the daemon. While the daemon ends, no person is asked, so that running calls can end. Source:
// call_question.cc. Used by: supervisor/daemon/. No errors.
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
  // Adds a waiting question. cancel_all() fires `settled`.
  void add(const std::shared_ptr<Event>& settled) {
    std::erase_if(waiting_, [](const auto& one) { return one.expired(); });
    waiting_.push_back(settled);
  }
  // Each waiting task resumes in a later turn of the loop.
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

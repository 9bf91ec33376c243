// PendingQuestions: the questions of upstream servers that wait for a person. A reload of the policies cancels them,
// and so does the end of the daemon. While the daemon ends, no person is asked, so that running calls can end. Source:
// call_question.cc. Used by: supervisor/daemon/. No errors.
#pragma once
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "supervisor/base/one_shot.h"
#include "supervisor/protocol/mcp/elicitation.h"

namespace calls {

// QuestionEnd: how a question ended. Without an answer, its time is over, or it was cancelled.
struct QuestionEnd {
  std::shared_ptr<mcp::Elicited> answer;  // nullptr: no answer came; g++ 12 warns of an optional here without cause
  bool expired = false;
};

class PendingQuestions {
 public:
  bool closed() const { return closed_; }
  // Adds a waiting question. cancel_all() ends it.
  void add(OneShot<QuestionEnd>::Resolver settled) {
    std::erase_if(waiting_, [](const auto& item) { return !item.is_wanted(); });
    waiting_.push_back(std::move(settled));
  }
  // Each waiting task resumes in a later turn of the loop.
  void cancel_all(Loop& loop) {
    loop.defer([all = std::exchange(waiting_, {})] {
      for (const auto& item : all) item.resolve_now();
    });
  }
  void close(Loop& loop) {
    closed_ = true;
    cancel_all(loop);
  }

 private:
  std::vector<OneShot<QuestionEnd>::Resolver> waiting_;
  bool closed_ = false;
};

}  // namespace calls

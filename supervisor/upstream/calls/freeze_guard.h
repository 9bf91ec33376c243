// FreezeGuard: holds the jail of a call that waits for a person (jail::Handle::hold()). The jail's clocks stop, and so
// do its processes if a cgroup holds them. Used by: call_approval.cc, call_question.cc. No errors.
#pragma once
#include "jail/execution/handle.h"

namespace calls {

class FreezeGuard {
 public:
  // `jail`: must outlive the guard; nullptr: the call has no jail.
  explicit FreezeGuard(jail::Handle* jail) : jail_(jail) {
    if (jail_) jail_->hold();
  }
  ~FreezeGuard() {
    if (jail_) jail_->release();
  }
  FreezeGuard(const FreezeGuard&) = delete;

 private:
  jail::Handle* jail_;
};

}  // namespace calls

// FreezeGuard: while it lives, the jail of whoever waits for a person stands still, and so do its clocks.
// Made by: call_approval.cc, call_question.cc.
#pragma once
#include "jail/handle.h"

namespace calls {

class FreezeGuard {
 public:
  // nullptr: there is no jail.
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

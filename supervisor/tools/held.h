// Held: while it lives, the jail of whoever waits for a person stands still, and so do its clocks.
// Made by: call_approval.cc, call_question.cc.
#pragma once
#include "jail/handle.h"

namespace tools {

class Held {
 public:
  // nullptr: there is no jail.
  explicit Held(jail::Handle* jail) : jail_(jail) {
    if (jail_) jail_->hold();
  }
  ~Held() {
    if (jail_) jail_->release();
  }
  Held(const Held&) = delete;

 private:
  jail::Handle* jail_;
};

}  // namespace tools

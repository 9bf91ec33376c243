// FlagGuard: sets a flag, and clears it in the destructor, also when the task that owns the guard is cancelled. The
// flag must outlive the guard.
#pragma once

class [[nodiscard]] FlagGuard {
 public:
  explicit FlagGuard(bool& flag) : flag_(flag) { flag_ = true; }
  ~FlagGuard() { flag_ = false; }
  FlagGuard(const FlagGuard&) = delete;
  FlagGuard& operator=(const FlagGuard&) = delete;

 private:
  bool& flag_;
};

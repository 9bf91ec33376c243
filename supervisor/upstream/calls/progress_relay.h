// ProgressRelay: passes an upstream server's progress of one call on to the caller, with a bounded rate and bounded,
// printable texts. If values come too fast, only the newest is passed on later, or not at all if the call ends first.
// Source: notifications/progress of a server, which is not trusted. Used by: upstream_call.cc. No errors. After its
// destruction no progress is passed on.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"

namespace calls {

class ProgressRelay {
 public:
  static constexpr unsigned kBurst = 8;                    // values passed on at once
  static constexpr std::chrono::milliseconds kEvery{250};  // between two values after the burst
  static constexpr size_t kMaxText = 200;                  // bytes of a message
  struct Value {
    double value = 0;
    std::optional<double> total;
    std::string text;  // may be empty
  };
  // dropped: texts are left out, as they may hold personal data that the caller must not see.
  enum class Texts { passed, dropped };
  ProgressRelay(Loop& loop, Texts texts, std::function<void(const Value&)> notify);
  ProgressRelay(const ProgressRelay&) = delete;

  // Drops a value if it is not greater than the last value: the protocol demands increasing values.
  void take(double value, std::optional<double> total, std::string_view text);

 private:
  void report_last();  // remaining_ must not be 0
  void wait_for_slot();
  void refill();

  Loop& loop_;
  Texts texts_;
  std::function<void(const Value&)> report_;
  std::optional<Value> last_;  // the newest value, if it is not yet passed on
  std::optional<double> highest_;
  unsigned remaining_ = kBurst;
  Monotonic::time_point filled_ = Monotonic::now();
  std::optional<Deadline> later_;
};

// "files.copy: 3 of 10: copying": one line of an execution's progress.
std::string progress_line(std::string_view server, std::string_view tool, const ProgressRelay::Value& report);

}  // namespace calls

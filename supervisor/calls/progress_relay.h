// ProgressRelay: how far a server says that a call is, on its way to whoever asked: bounded in rate, and told in one
// printable line. Values that come too fast are told later, the newest of them, or never, when the call ends first.
// Source: notifications/progress of a server, which is not trusted. Destroying it ends the telling.
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
  static constexpr unsigned kBurst = 8;                    // at once, then
  static constexpr std::chrono::milliseconds kEvery{250};  // one
  static constexpr size_t kMaxText = 200;                  // bytes of a message
  struct Told {
    double value = 0;
    std::optional<double> total;
    std::string text;  // may be empty
  };
  // Without texts where they may say what must not be seen.
  enum class Texts { told, dropped };
  ProgressRelay(Loop& loop, Texts texts, std::function<void(const Told&)> tell);
  ProgressRelay(const ProgressRelay&) = delete;

  // Values that are not greater than the last are dropped, as the protocol wants it.
  void take(double value, std::optional<double> total, std::string_view text);

 private:
  void tell_last();  // there is a place for it
  void wait_for_a_place();
  void refill();

  Loop& loop_;
  Texts texts_;
  std::function<void(const Told&)> tell_;
  std::optional<Told> last_;  // not told yet
  std::optional<double> highest_;
  unsigned left_ = kBurst;
  Monotonic::time_point filled_ = Monotonic::now();
  std::optional<Deadline> later_;
};

// "files.copy: 3 of 10: copying": one line of an execution's progress.
std::string progress_line(std::string_view server, std::string_view tool, const ProgressRelay::Told& told);

}  // namespace calls

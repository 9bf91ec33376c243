// BusyTime: the longest time that the loop was busy in one turn, and with what. One loop serves everybody: as long as a
// turn takes, nobody else is answered.
// Source: whatever libuv calls begins with a Doing, and so does what may take long; it names the work, and for whom.
// Told by: supervisor/metrics, supervisor/doctor.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "supervisor/base/clock.h"

enum class LoopWork : uint8_t {
  other,  // what has no name here
  client_message,
  arguments,
  answer,
  personal_data,
  program_message,
  program_answer,
  program_output,
  jail,
  server_message,
  server_request,
  definitions,
  search,
  workspace,
  journal,
  policies,
  bus,
  metrics,
  doctor,
};
constexpr size_t kWorks = static_cast<size_t>(LoopWork::doctor) + 1;
std::string_view work_name(LoopWork work);  // "client_message": for metrics
std::string_view work_text(LoopWork work);  // "reading a client's message"

class BusyTime {
 public:
  using Clock = Monotonic::time_point (*)();
  using Span = std::chrono::nanoseconds;
  static constexpr std::chrono::minutes kRemembered{10};  // counted in whole minutes, the one under way among them

  struct Turn {
    Span busy{0};
    LoopWork work = LoopWork::other;  // what took most of it
    Span worked{0};                   // of that
    std::string whom;                 // for whom: a tenant, a user; empty: for several, or nobody in particular
    int64_t at = 0;                   // when it ended, in seconds since 1970
  };

  explicit BusyTime(Clock clock = &Monotonic::now) : clock_(clock) {}
  BusyTime(const BusyTime&) = delete;
  // The loop is about to wait, or to look who has something to say: what was done since it last did is a turn.
  void end_turn();
  // Of the turns that ended lately.
  Turn longest() const;
  // As if nothing had been done yet.
  void forget();

 private:
  friend class Doing;
  struct Piece {
    LoopWork work = LoopWork::other;
    const std::string* whom = nullptr;
    Span spent{0};
  };
  struct Sum {  // of one kind of work in this turn
    Span all{0}, longest{0};
  };
  struct Slot {
    int64_t minute = -1;
    Turn longest;
  };
  Piece begin(LoopWork work, const std::string* whom);
  void end(const Piece& before);
  void lose_names();
  void start_anew();
  void pause(Monotonic::time_point now);
  void count(const Piece& piece);
  int64_t minute_of(Monotonic::time_point now) const;

  Clock clock_;
  bool under_way_ = false;
  uint32_t turns_ = 0;                   // and times that all names were lost
  uint32_t depth_ = 0;                   // of Doings within one another
  Monotonic::time_point began_, since_;  // the turn; since when `now_` is done without a break
  Piece now_;
  std::array<Sum, kWorks> sums_;
  std::array<std::string, kWorks> whom_;  // of the longest piece, where that is long
  std::array<Slot, kRemembered.count()> slots_;
};

// Names what the loop does until it is destroyed, or until another one within. Not over a co_await: what happens while
// a task waits is somebody else's work, and the turn would lose its names. On a thread that runs no loop it does
// nothing. `whom` must outlive it; nullptr: for whom the work around it is.
class Doing {
 public:
  explicit Doing(LoopWork work, const std::string* whom = nullptr) : time_(of_this_thread) {
    if (!time_) return;
    before_ = time_->begin(work, whom);
    turn_ = time_->turns_;
    depth_ = time_->depth_;
  }
  ~Doing() {
    if (!time_ || time_->turns_ != turn_) return;
    if (time_->depth_ == depth_) {
      time_->end(before_);
    } else {
      time_->lose_names();
    }
  }
  Doing(const Doing&) = delete;

  // Of the loop that runs on the calling thread.
  static thread_local BusyTime* of_this_thread;

 private:
  BusyTime* time_;
  BusyTime::Piece before_;
  uint32_t turn_ = 0, depth_ = 0;
};

// BusyTime: the longest turn of the event loop in the last ten minutes, and the kind of work that took most of that
// turn. One loop serves all clients, so no other client gets an answer while a turn runs.
// Source: each libuv callback begins with a NamedWork, and so does each piece of work that may take long. A NamedWork
// names the kind of work and its tenant or user. Used by: supervisor/operations/metrics, supervisor/operations/doctor.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "supervisor/base/clock.h"

enum class LoopWork : uint8_t {
  other,  // work without a name in this list
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
  static constexpr std::chrono::minutes kRemembered{10};  // in whole minutes; the current one counts

  struct Turn {
    Span busy{0};
    LoopWork work = LoopWork::other;  // the kind of work that took most of the turn
    Span worked{0};                   // the part of `busy` that this kind of work took
    std::string whom;                 // the tenant or the user of the work; empty: several, or no particular one
    int64_t at = 0;                   // end of the turn, in seconds since 1970
  };

  explicit BusyTime(Clock clock = &Monotonic::now) : clock_(clock) {}
  BusyTime(const BusyTime&) = delete;
  // Ends the turn: the work since the last call is one turn. The loop calls this right before it waits for events.
  void end_turn();
  // The longest turn of the last kRemembered minutes.
  Turn longest() const;
  // Forgets all turns, and the current one.
  void forget();

 private:
  friend class NamedWork;
  struct Piece {
    LoopWork work = LoopWork::other;
    const std::string* whom = nullptr;
    Span spent{0};
  };
  struct Sum {  // all pieces of one kind of work in this turn
    Span all{0}, longest{0};
  };
  struct Slot {
    int64_t minute = -1;
    Turn longest;
  };
  Piece begin(LoopWork work, const std::string* user);
  void end(const Piece& before);
  void lose_names();
  void forget_turn();
  void pause(Monotonic::time_point now);
  void count(const Piece& piece);
  int64_t minute_of(Monotonic::time_point now) const;

  Clock clock_;
  bool under_way_ = false;
  uint32_t turns_ = 0;                     // counts turns, and each loss of all names
  uint32_t depth_ = 0;                     // how many NamedWorks are nested now
  Monotonic::time_point started_, since_;  // start of the turn; the time up to which `now_.spent` is counted
  Piece now_;
  std::array<Sum, kWorks> sums_;
  std::array<std::string, kWorks> whom_;  // the tenant or user of the longest piece, where that piece reached 1 ms
  std::array<Slot, kRemembered.count()> slots_;
};

// Names the loop's work until this NamedWork is destroyed; a NamedWork within another one names the work meanwhile.
// Must not live across a co_await: the work while a task waits belongs to other tasks, and the turn would lose its
// names. Does nothing on a thread that runs no loop. `user` must outlive this object. nullptr: the tenant or user of
// the surrounding work.
class NamedWork {
 public:
  explicit NamedWork(LoopWork work, const std::string* user = nullptr) : time_(of_this_thread) {
    if (!time_) return;
    before_ = time_->begin(work, user);
    turn_ = time_->turns_;
    depth_ = time_->depth_;
  }
  ~NamedWork() {
    if (!time_ || time_->turns_ != turn_) return;
    if (time_->depth_ == depth_) {
      time_->end(before_);
    } else {
      time_->lose_names();
    }
  }
  NamedWork(const NamedWork&) = delete;

  // The BusyTime of the loop that runs on the calling thread; nullptr: no loop runs there.
  static thread_local BusyTime* of_this_thread;

 private:
  BusyTime* time_;
  BusyTime::Piece before_;
  uint32_t turn_ = 0, depth_ = 0;
};

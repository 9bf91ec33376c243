#include "supervisor/base/busy_time.h"

#include <ctime>

namespace {

constexpr std::chrono::milliseconds kWorthAName{1};  // shorter work is too frequent to copy its names

struct Name {
  std::string_view name, text;
};
constexpr std::array<Name, kWorks> kWorkNames = {{
    {"other", "other work"},
    {"client_message", "reading a client's message"},
    {"arguments", "checking a call's arguments"},
    {"answer", "writing an answer to a client"},
    {"personal_data", "replacing personal data"},
    {"program_message", "reading a program's message"},
    {"program_answer", "writing an answer to a program"},
    {"program_output", "reading the output of a program"},
    {"jail", "starting, watching or ending a jail"},
    {"server_message", "reading a server's message"},
    {"server_request", "writing a request to a server"},
    {"definitions", "reading the definitions of tools"},
    {"search", "searching for tools"},
    {"workspace", "reading or writing files of a workspace"},
    {"journal", "reading the journal"},
    {"policies", "adopting new policies"},
    {"bus", "answering on D-Bus"},
    {"metrics", "writing the metrics"},
    {"doctor", "checking the machine for the doctor"},
}};

size_t index_of(LoopWork work) { return static_cast<size_t>(work); }

}  // namespace

thread_local BusyTime* NamedWork::of_this_thread = nullptr;

std::string_view work_name(LoopWork work) { return kWorkNames[index_of(work)].name; }
std::string_view work_text(LoopWork work) { return kWorkNames[index_of(work)].text; }

int64_t BusyTime::minute_of(Monotonic::time_point now) const {
  return std::chrono::duration_cast<std::chrono::minutes>(now.time_since_epoch()).count();
}

// Adds the time since the last change to the current work.
void BusyTime::pause(Monotonic::time_point now) {
  now_.spent += now - since_;
  since_ = now;
}

BusyTime::Piece BusyTime::begin(LoopWork work, const std::string* user) {
  const auto now = clock_();
  if (!under_way_) {
    under_way_ = true;
    started_ = since_ = now;
    now_ = {};
  }
  pause(now);
  Piece before = now_;
  now_ = {work, user ? user : before.whom, Span{0}};
  depth_++;
  return before;
}

void BusyTime::end(const Piece& before) {
  pause(clock_());
  count(now_);
  now_ = before;
  depth_--;
}

// For NamedWorks that did not end in the reverse order of their beginnings: the current piece may point to a freed
// name.
void BusyTime::lose_names() {
  pause(clock_());
  now_ = {LoopWork::other, nullptr, now_.spent};
  depth_ = 0;
  turns_++;
}

void BusyTime::count(const Piece& piece) {
  Sum& sum = sums_[index_of(piece.work)];
  sum.all += piece.spent;
  if (piece.spent <= sum.longest) return;
  sum.longest = piece.spent;
  if (piece.spent < kWorthAName) return;
  std::string& user = whom_[index_of(piece.work)];
  user = piece.whom ? *piece.whom : std::string();
}

void BusyTime::end_turn() {
  if (!under_way_) return;
  const auto now = clock_();
  const Span busy = now - started_;
  Slot& slot = slots_[static_cast<size_t>(minute_of(now)) % slots_.size()];
  const bool is_old = slot.minute != minute_of(now);
  if (is_old || busy > slot.longest.busy) {
    pause(now);
    now_.whom = nullptr;  // the NamedWork has not ended, so its name may be freed already
    count(now_);
    size_t max = 0;
    for (size_t i = 1; i < sums_.size(); i++)
      if (sums_[i].all > sums_[max].all) max = i;
    const Sum& sum = sums_[max];
    slot.minute = minute_of(now);
    slot.longest = {busy, static_cast<LoopWork>(max), sum.all, {}, static_cast<int64_t>(::time(nullptr))};
    if (sum.longest >= kWorthAName && 2 * sum.longest > sum.all) slot.longest.whom = whom_[max];
  }
  forget_turn();
}

BusyTime::Turn BusyTime::longest() const {
  const int64_t minute = minute_of(clock_());
  Turn longest;
  for (const Slot& slot : slots_)
    if (slot.minute > minute - kRemembered.count() && slot.longest.busy > longest.busy) longest = slot.longest;
  return longest;
}

void BusyTime::forget() {
  slots_.fill({});
  forget_turn();
}

void BusyTime::forget_turn() {
  under_way_ = false;
  turns_++;
  depth_ = 0;
  sums_.fill({});
}

#include "jail/usage/disk_users.h"

#include <algorithm>
#include <utility>

#include "supervisor/base/log.h"

namespace jail {
namespace {

using namespace std::chrono_literals;

constexpr auto kCheckInterval = 50ms;
constexpr size_t kMaxCounting = 6;  // at a time; the jailer has room for some more (jail/jailer/file_counters.h)
constexpr double kShare = 10;       // a count of 20 ms is followed by 200 ms without one

uint64_t grown(uint64_t now, uint64_t before) { return now - std::min(now, before); }

}  // namespace

DiskUse::DiskUse(DiskUsers& users, int pidfd, DiskAccount account)
    : users_(users), pidfd_(pidfd), number_(++users.last_number_), account_(std::move(account)) {
  if (account_.named) named_before_ = account_.named();
  next_ = Monotonic::now() + pace_;
  users_.add(*this);
}

DiskUse::~DiskUse() {
  users_.remove(*this);
  if (held_files_.bytes > 0 || held_files_.files > 0) take({});
}

void DiskUse::set_pace(Pace pace) {
  pace_ = pace;
  next_ = Monotonic::now() + pace;
}

void DiskUse::end() const {
  const auto end = end_;
  if (end) end();
}

void DiskUse::take(const HeldFiles& files) {
  held_files_ = files;
  if (account_.holds) account_.holds(files);
}

DiskSize DiskUse::claimed() const {
  DiskSize size{held_files_.bytes, held_files_.files};
  if (account_.named) {
    const DiskSize now = account_.named();
    size.bytes += grown(now.bytes, named_before_.bytes);
    size.files += grown(now.files, named_before_.files);
  }
  size.bytes = std::max(size.bytes, held_files_.written);
  return size;
}

void DiskUsers::add(DiskUse& use) {
  uses_.push_back(&use);
  if (uses_.size() == 1 && first_) first_();
  if (!std::exchange(is_watching_, true)) tasks_.spawn(watch());
}

void DiskUsers::remove(DiskUse& use) { std::erase(uses_, &use); }

DiskUse* DiskUsers::find(uint64_t number) const {
  const auto it =
      std::find_if(uses_.begin(), uses_.end(), [number](const DiskUse* use) { return use->number_ == number; });
  return it == uses_.end() ? nullptr : *it;
}

// Runs while there are jails, so that the next one of many short programs needs no new task.
Task<> DiskUsers::watch() {
  while (!uses_.empty()) {
    co_await sleep_for(loop_, kCheckInterval);
    const auto now = Monotonic::now();
    for (DiskUse* use : uses_) {
      if (!use->account_.holds || use->pace_ == 0ms || use->next_ > now || counting_ >= kMaxCounting) continue;
      use->next_ = Monotonic::time_point::max();  // until this count has ended
      tasks_.spawn(count(use->number_));
    }
  }
  is_watching_ = false;
}

Task<> DiskUsers::count(uint64_t number) {
  DiskUse* use = find(number);
  if (use == nullptr) co_return;
  counting_++;
  const auto started = Monotonic::now();
  auto files = co_await jailer_.count_files(use->pidfd_);
  counting_--;
  const double took_ms = ms_since(started);
  use = find(number);
  if (use == nullptr) co_return;
  use->next_ = Monotonic::now() + std::max(use->pace_, DiskUse::Pace(static_cast<int64_t>(took_ms * kShare)));
  if (files) use->take(*files);
  const bool is_hidden = files ? files->is_denied : files.error().err == EPERM || files.error().err == EACCES;
  if (is_hidden && !std::exchange(has_complained_, true))
    log_warning("files without a name that jails hold cannot be counted: {}",
                files ? "the kernel does not show their processes to the jailer" : files.error().what);
}

Task<> DiskUsers::count_all() {
  std::vector<uint64_t> numbers;
  for (const DiskUse* use : uses_)
    if (use->pace_ != 0ms) numbers.push_back(use->number_);
  for (const uint64_t number : numbers) co_await count(number);
}

}  // namespace jail

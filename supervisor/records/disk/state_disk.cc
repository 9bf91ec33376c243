#include "supervisor/records/disk/state_disk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "supervisor/base/disk_faults.h"
#include "supervisor/base/durable.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/log.h"
#include "supervisor/message_ids.h"
#include "supervisor/records/journal/reserve.h"

namespace {

using namespace std::chrono_literals;

constexpr auto kCheckInterval = 1s;
constexpr size_t kTriedBytes = 256 << 10;  // larger than most transactions of the journal
constexpr auto kSoonAgain = 10min;         // trouble that begins within this time counts as the same trouble
constexpr std::chrono::seconds kMaxQuiet = 5min;

// Opens a file without a name. If the file system does not support O_TMPFILE, opens a file and unlinks it at once.
Fd make_file(const std::string& folder) {
  Fd file(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (file || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  const std::string path = folder + "/tried";
  file = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  const int error = errno;
  if (file) ::unlink(path.c_str());
  errno = error;
  return file;
}

// Writes and syncs a test file. Returns 0 or the errno of the failed call. Blocks until the disk answers.
int write_one(const std::string& folder) {
  const Fd file = make_file(folder);
  if (!file) return errno;
  const std::string zeros(kTriedBytes, '\0');
  for (size_t at = 0; at < zeros.size();) {
    const ssize_t n = ::write(file.get(), zeros.data() + at, zeros.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : ENOSPC;
    at += static_cast<size_t>(n);
  }
  return durable::sync_data(file.get());
}

std::string remedy_for(int error, const std::string& folder) {
  if (error == EDQUOT) return "raise the quota of the daemon's user on this file system, or delete files";
  if (error == ENOSPC) return fmt::format("free space on this disk: df -h {0}; df -i {0}", folder);
  return "dmesg shows the error of the disk";
}

}  // namespace

StateDisk::StateDisk(Loop& loop, WorkerThread& disk, std::string state, std::function<bool()> journal_failing,
                     std::function<void()> reported, EndWriters end_writers)
    : loop_(loop),
      disk_(disk),
      state_(std::move(state)),
      journal_failing_(std::move(journal_failing)),
      reported_(std::move(reported)),
      end_writers_(std::move(end_writers)),
      tasks_(loop) {
  tasks_.spawn(watch());
}

Task<> StateDisk::watch() {
  uint64_t seen = disk_faults::noted().count;
  if (const int error = co_await make_reserve(); error != 0) begin(error);
  for (;;) {
    co_await sleep_for(loop_, kCheckInterval);
    const disk_faults::FaultCounts noted = disk_faults::noted();
    const bool more = noted.count != seen;
    if (!more && !trouble_) continue;
    seen = noted.count;
    int error = co_await examine();
    if (error != 0) {
      seen = disk_faults::noted().count;  // the failed test may be counted, too
    } else if (more && journal_failing_()) {
      error = noted.last;  // the journal writes more bytes than the test
    }
    if (error != 0 || more) last_fault_at_ = Monotonic::now();
    if (error != 0 && !trouble_) begin(error);
    if (error == 0 && trouble_ && Monotonic::now() - last_fault_at_ >= quiet_) end();
  }
}

// While the reserve is spent, a test would take the space that the journal needs.
Task<int> StateDisk::examine() {
  if (reserve_ == Reserve::spent) {
    const int error = co_await make_reserve();
    if (error != 0) co_return error;
  }
  const int error = co_await try_to_write();
  co_return error;
}

// Returns 0 if there is a reserve, or if the disk has no use for one.
Task<int> StateDisk::make_reserve() {
  auto bytes = std::make_shared<uint64_t>(0);
  const WorkerThread::Job job = [bytes, folder = state_ + "/journal"]() -> Result<> {
    TRY(*bytes, journal::make_reserve(folder));
    return {};
  };
  auto created = co_await disk_.run(job);
  if (created) {
    reserve_ = Reserve::there;
    reserve_bytes_ = *bytes;
    co_return 0;
  }
  if (created.error().code == Code::exhausted) {
    reserve_ = Reserve::spent;
    co_return ENOSPC;
  }
  reserve_ = Reserve::none;
  if (reserve_problem_.empty())
    log_warning("a full disk will stop the journal at once: {}; {}", created.error().what, created.error().hint);
  reserve_problem_ = created.error().what;
  co_return 0;
}

Task<bool> StateDisk::relieve() {
  if (reserve_ != Reserve::there && has_ended_all_) co_return false;
  if (!trouble_) begin(ENOSPC);
  last_fault_at_ = Monotonic::now();
  if (reserve_ != Reserve::there) {
    has_ended_all_ = true;
    co_await end_writers_(true);
    co_return true;
  }
  co_await end_writers_(false);
  const WorkerThread::Job job = [folder = state_ + "/journal"] { return journal::release_reserve(folder); };
  auto released = co_await disk_.run(job);
  if (!released) {
    log_warning("{}", released.error().what);
    co_return false;
  }
  reserve_ = Reserve::spent;
  log_warning("the journal of {} now uses its reserve of {} KiB", state_, reserve_bytes_ >> 10);
  co_return true;
}

std::optional<Error> StateDisk::refusal(std::string_view subject) const {
  if (!trouble_ || reserve_ != Reserve::spent) return std::nullopt;
  return Error{Code::exhausted,
               0,
               fmt::format("{}: the disk of the state folder is full, and only a reserve for the records of running "
                           "programs is left",
                           subject),
               "try again when the administrator has freed space",
               {}};
}

Task<int> StateDisk::try_to_write() {
  auto error = std::make_shared<int>(0);
  const WorkerThread::Job job = [error, folder = state_ + "/journal"]() -> Result<> {
    *error = write_one(folder);
    return {};
  };
  auto done = co_await disk_.run(job);
  if (!done || !disk_faults::is_fault(*error)) co_return 0;  // a missing folder is no fault of the disk
  co_return *error;
}

void StateDisk::begin(int error) {
  const auto now = Monotonic::now();
  const bool retry = ended_at_ && now - *ended_at_ < kSoonAgain;
  quiet_ = retry ? std::min(std::max(2 * quiet_, 2s), kMaxQuiet) : 0s;
  started_at_ = now;
  has_ended_all_ = false;
  trouble_ = Trouble{
      fmt::format("the state folder's disk takes no writes ({}: {})", state_, std::generic_category().message(error)),
      remedy_for(error, state_)};
  log_fields(
      LogLevel::error, kDiskFailingId,
      fmt::format("{}: calls that cannot be recorded are refused meanwhile; {}", trouble_->what, trouble_->remedy), {});
  reported_();
}

void StateDisk::end() {
  ended_at_ = Monotonic::now();
  trouble_.reset();
  log_fields(LogLevel::notice, kDiskWritesAgainId,
             fmt::format("the state folder's disk takes writes again ({}, after {:.0f} s)", state_,
                         ms_since(started_at_) / 1000),
             {});
  reported_();
}

#include "supervisor/records/disk/disk_floor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "supervisor/base/clock.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/log.h"

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr uint64_t kPart = 50;  // 2 %
constexpr uint64_t kMaxFloorBytes = 256 << 20, kMaxFloorInodes = 10'000;
constexpr uint64_t kMinUsedBytes = 1 << 20, kMinUsedInodes = 1'000;
constexpr uint64_t kBytesPerMs = 2 << 20, kInodesPerMs = 200;  // the fastest writers
constexpr milliseconds kSoonest = 20ms, kLatest = 1s;
constexpr milliseconds kLookForEndEvery = 5ms;
constexpr double kEndsWithinMs = 2000;

uint64_t above(uint64_t value, uint64_t floor) { return value - std::min(value, floor); }

bool has_taken_some(const jail::DiskSize& size) { return size.bytes >= kMinUsedBytes || size.files >= kMinUsedInodes; }

bool is_gone(const Fd& pidfd) {
  pollfd process{pidfd.get(), POLLIN, 0};
  return !pidfd || ::poll(&process, 1, 0) != 0;
}

std::string mebibytes(uint64_t bytes) { return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20)); }

}  // namespace

uint64_t DiskSpace::floor_bytes() const { return std::min(bytes / kPart, kMaxFloorBytes); }
uint64_t DiskSpace::floor_inodes() const { return std::min(inodes / kPart, kMaxFloorInodes); }

bool DiskSpace::is_below_floor() const {
  return free_bytes < floor_bytes() || (inodes > 0 && free_inodes < floor_inodes());
}

milliseconds DiskSpace::next_check() const {
  uint64_t ms = above(free_bytes, floor_bytes()) / kBytesPerMs;
  if (inodes > 0) ms = std::min(ms, above(free_inodes, floor_inodes()) / kInodesPerMs);
  return std::clamp(milliseconds(static_cast<int64_t>(std::min<uint64_t>(ms, kLatest.count()))), kSoonest, kLatest);
}

DiskFloor::DiskFloor(Loop& loop, WorkerThread& disk, jail::DiskUsers& users, std::string folder)
    : loop_(loop), disk_(disk), users_(users), folder_(std::move(folder)), tasks_(loop) {
  users_.on_first([this] { begin(); });
}

DiskFloor::~DiskFloor() { users_.on_first({}); }

void DiskFloor::begin() {
  if (!std::exchange(is_watching_, true)) tasks_.spawn(watch());
}

Task<> DiskFloor::watch() {
  milliseconds pause = kSoonest;
  while (!users_.uses().empty()) {
    co_await sleep_for(loop_, pause);
    const auto space = co_await inspect();
    pause = space ? space->next_check() : kLatest;
    if (space && space->is_below_floor()) {
      co_await relieve(*space);
    } else {
      is_low_ = false;
    }
  }
  is_watching_ = false;
}

Task<std::optional<DiskSpace>> DiskFloor::inspect() {
  auto match = std::make_shared<std::optional<DiskSpace>>();
  const WorkerThread::Job job = [match, folder = folder_]() -> Result<> {
    struct statvfs now {};
    if (::statvfs(folder.c_str(), &now) == 0)
      *match = DiskSpace{now.f_blocks * now.f_frsize, now.f_bavail * now.f_frsize, now.f_files, now.f_favail};
    return {};
  };
  static_cast<void>(co_await disk_.run(job));
  co_return *match;
}

Task<> DiskFloor::relieve(DiskSpace space) {
  co_await users_.count_all();
  const bool lacks_inodes = space.free_bytes >= space.floor_bytes();
  const auto reserved = [lacks_inodes](const jail::DiskUse* use) {
    return lacks_inodes ? use->claimed().files : use->claimed().bytes;
  };
  const auto& uses = users_.uses();
  const auto largest = std::max_element(uses.begin(), uses.end(),
                                        [&](const auto* a, const auto* b) { return reserved(a) < reserved(b); });
  const bool is_first = !std::exchange(is_low_, true);
  const std::string state = fmt::format("the disk of {} is nearly full ({} and {} inodes are free)", folder_,
                                        mebibytes(space.free_bytes), space.free_inodes);
  if (largest == uses.end() || reserved(*largest) < (lacks_inodes ? kMinUsedInodes : kMinUsedBytes)) {
    if (is_first) log_warning("{}; no running program has taken much of it", state);
    co_await sleep_for(loop_, kLatest);
    co_return;
  }
  std::vector<uint64_t> numbers{(*largest)->number()};
  co_await end(std::move(numbers), state);
}

Task<> DiskFloor::end_jails(Which which) {
  co_await users_.count_all();
  std::vector<uint64_t> numbers;
  for (const jail::DiskUse* use : users_.uses())
    if (which == Which::all || has_taken_some(use->claimed())) numbers.push_back(use->number());
  co_await end(std::move(numbers), fmt::format("the disk of {} is full", folder_));
}

Task<> DiskFloor::end(std::vector<uint64_t> numbers, std::string why) {
  std::vector<Fd> ending;
  for (const uint64_t number : numbers) {
    jail::DiskUse* const use = users_.find(number);
    if (use == nullptr) continue;
    const jail::DiskSize size = use->claimed();
    log_warning("{}: {} ends, which had taken {} and {} inodes of it", why, use->owner(), mebibytes(size.bytes),
                size.files);
    ending.emplace_back(::fcntl(use->pidfd(), F_DUPFD_CLOEXEC, 0));
    use->end();
  }
  const auto started = Monotonic::now();
  while (ms_since(started) < kEndsWithinMs && !std::all_of(ending.begin(), ending.end(), is_gone))
    co_await sleep_for(loop_, kLookForEndEvery);
}

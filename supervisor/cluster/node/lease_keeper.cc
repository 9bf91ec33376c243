#include "supervisor/cluster/node/lease_keeper.h"

#include <algorithm>
#include <utility>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kWriteLimit = std::chrono::milliseconds(kRetryRenewalEvery);

std::string boot_in(std::string_view bytes) {
  const auto record = parse_json(bytes);
  const auto found = record && record->is_object() ? record->find("boot") : Json::const_iterator();
  return record && record->is_object() && found != record->end() && found->is_string() ? found->get<std::string>()
                                                                                       : std::string();
}

}  // namespace

LeaseKeeper::LeaseKeeper(Loop& loop, Bus& bus, std::string node, std::string boot, int replicas, LeaseTimes times,
                         std::function<void(BootClock::time_point since)> renewed)
    : loop_(loop),
      bus_(bus),
      node_(std::move(node)),
      boot_(std::move(boot)),
      replicas_(replicas),
      renewed_(std::move(renewed)),
      lease_(times),
      tasks_(loop) {}

Task<> LeaseKeeper::renew() {
  while (!lease_.lost()) {
    const auto now = BootClock::now();
    if (lease_.renewal_due(now)) {
      const uint64_t number = lease_.begin_renewal(now);
      const bool is_written = co_await write(number);
      if (is_written) {
        lease_.confirm(number, BootClock::now());
        renewed_(now);
      }
    }
    const auto wait =
        std::chrono::ceil<std::chrono::milliseconds>(lease_.next_check(BootClock::now()) - BootClock::now());
    co_await sleep_for(loop_, std::clamp(wait, std::chrono::milliseconds(20), std::chrono::milliseconds(1000)));
  }
  log_error("cluster: another warder-node has the name {}: this node acts as no home until it is started again", node_);
}

Task<bool> LeaseKeeper::write(uint64_t number) {
  if (!bucket_) {
    BucketSettings settings;
    settings.replicas = replicas_;
    auto opened = co_await bus_.open_bucket("leases", settings, kWriteLimit);
    if (!opened) co_return false;
    bucket_ = *std::move(opened);
  }
  if (!revision_) {
    const bool is_read = co_await read_revision();
    if (!is_read) co_return false;
  }
  std::string record = dump_json({{"boot", boot_}, {"number", number}});
  Result<KvWrite> done = fail(Code::unavailable, "");
  if (*revision_ == 0) {
    done = co_await bucket_->create(node_, std::move(record));
  } else {
    done = co_await bucket_->update(node_, std::move(record), *revision_);
  }
  if (done && done->written) {
    revision_ = done->revision;
    has_written_ = true;
    co_return true;
  }
  revision_.reset();  // a write without an answer may have been done: the value tells
  bucket_.reset();    // the server may have lost it
  co_return false;
}

// The value of an earlier start is taken over. One of another start, after this one has written, is of a second
// warder-node with this name.
Task<bool> LeaseKeeper::read_revision() {
  const auto entry = co_await bucket_->get(node_);
  if (!entry) co_return false;
  if (*entry && has_written_ && boot_in((*entry)->bytes) != boot_) {
    lease_.lose();
    co_return false;
  }
  revision_ = *entry ? (*entry)->revision : 0;
  co_return true;
}

}  // namespace cluster

#include "supervisor/cluster/node/trust_keeper.h"

#include <utility>

#include "supervisor/base/log.h"
#include "supervisor/cluster/trust/private_file.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kReplaceAgain = 60s;       // between records that are put in place of others
constexpr size_t kMaxRecord = 300 << 10;  // bytes

}  // namespace

TrustKeeper::TrustKeeper(Loop& loop, Bus& bus, int replicas, std::string anchor, const RuleStore& now, RuleWork& rules,
                         std::function<void(const TrustRecord&)> changed, std::chrono::milliseconds check_interval)
    : loop_(loop),
      bus_(bus),
      replicas_(replicas),
      anchor_(std::move(anchor)),
      check_interval_(check_interval),
      changed_(std::move(changed)),
      key_(now.trust().cluster),
      own_text_(now.trust_text()),
      rules_(rules),
      tasks_(loop) {}

void TrustKeeper::begin() {
  tasks_.spawn(follow_bus());
  tasks_.spawn(follow_file());
}

// nullptr: the thread could not do it.
Task<std::shared_ptr<TrustKeeper::TrustOfferResult>> TrustKeeper::offer(std::string text) {
  auto offered = std::make_shared<TrustOfferResult>();
  RuleWork::Job job = [offered, text = std::move(text)](RuleStore& rules) -> Result<> {
    auto accepted = rules.accept(text);
    if (accepted) {
      offered->is_new = *accepted == RuleStore::Accepted::stored;
    } else {
      offered->refused = accepted.error().what;
      const auto other = read_trust_anchor(text);
      offered->is_behind = !other || (other->cluster == rules.trust().cluster && other->serial < rules.trust().serial);
    }
    offered->trust = rules.trust();
    offered->text = rules.trust_text();
    return {};
  };
  const auto done = co_await rules_.run(std::move(job));
  if (!done) co_return nullptr;
  if (offered->is_new) {
    own_text_ = offered->text;
    log_notice("cluster: the trust record {} is in force", offered->trust.serial);
    changed_(offered->trust);
  }
  co_return offered;
}

Task<> TrustKeeper::follow_file() {
  std::string last = own_text_, refused;  // why `last` is not in force
  for (;;) {
    co_await sleep_for(loop_, check_interval_);
    auto text = std::make_shared<std::string>();
    RuleWork::Job job = [text, path = anchor_](RuleStore&) -> Result<> {
      TRY(*text, read_trusted_file(path, kMaxRecord));
      return {};
    };
    const auto read = co_await rules_.run(std::move(job));
    trouble_ = read ? refused : read.error().what;
    if (!read || *text == last) continue;  // also while a record is copied there
    const auto offered = co_await offer(*text);
    if (!offered) continue;  // the disk: tried again
    last = *text;
    refused = offered->is_behind ? std::string() : offered->refused;
    trouble_ = refused;
    if (!refused.empty()) log_warning("cluster: {} is not in force: {}", anchor_, refused);
    if (!offered->is_new) continue;
    must_put_ = true;
    if (bucket_) co_await put_own(bucket_);
  }
}

Task<> TrustKeeper::follow_bus() {
  BucketReader reader;
  reader.name = "trust";
  reader.settings.replicas = replicas_;
  reader.settings.max_value_bytes = kMaxRecord;
  reader.opened = [this](Bucket bucket) {
    bucket_ = std::move(bucket);
    has_record_ = false;
  };
  reader.take = [this](KvChange change) { return take(bucket_, std::move(change)); };
  return follow_bucket(loop_, bus_, std::move(reader));
}

Task<> TrustKeeper::take(Bucket bucket, KvChange change) {
  if (change.kind == KvChange::Kind::current) {
    if (!has_record_ || must_put_) co_await put_own(bucket);
  } else if (change.key == key_ && change.kind == KvChange::Kind::value) {
    has_record_ = true;
    co_await take_record(bucket, std::move(change.bytes));
  } else if (change.key == key_) {  // the server lost it
    co_await put_own(bucket);
  }
}

Task<> TrustKeeper::take_record(Bucket bucket, std::string text) {
  const auto offered = co_await offer(std::move(text));
  if (!offered) co_return;
  if (offered->refused.empty()) {
    must_put_ = false;
    co_return;
  }
  if (!offered->is_behind) {
    must_put_ = false;
    log_warning("cluster: a trust record of the bus is refused: {}", offered->refused);
    co_return;
  }
  if (Monotonic::now() < next_put_) co_return;
  next_put_ = Monotonic::now() + kReplaceAgain;
  co_await put_own(bucket);
}

// A write that fails is tried again when the bucket is read anew.
Task<> TrustKeeper::put_own(Bucket bucket) {
  const auto put = co_await bucket->put(key_, own_text_);
  must_put_ = !put;
  if (!put) log_warning("cluster: the trust record cannot be put on the bus: {}", put.error().what);
}

}  // namespace cluster

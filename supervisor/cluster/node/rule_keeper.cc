#include "supervisor/cluster/node/rule_keeper.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "supervisor/base/folder.h"
#include "supervisor/base/log.h"
#include "supervisor/cluster/trust/private_file.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kLookAtRules = 2s;        // between looks at the files
constexpr auto kReplaceRuleAgain = 60s;  // between replacements of one value of the bucket

std::string bucket_key(const RuleKey& key) { return key.kind + "." + key.name; }

bool is_rule_file(std::string_view name) {
  return name.ends_with(".rule") && std::any_of(std::begin(kRuleKinds), std::end(kRuleKinds), [&](auto kind) {
           return name.starts_with(kind) && name.substr(kind.size()).starts_with("-");
         });
}

// A change of a file changes this text.
std::string state_of(const struct stat& info) {
  return fmt::format("{} {} {}.{:09}", info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

// The rule files of a folder that changed since `seen`, by name; at most kMaxStoredRules.
Result<std::map<std::string, std::string>> changed_files(const std::string& folder,
                                                         std::map<std::string, std::string>& seen) {
  std::map<std::string, std::string> texts;
  std::map<std::string, std::string> match;
  TRY(const auto names, read_names(FolderReader::open(folder)));
  for (const std::string& name : names) {
    struct stat info {};
    if (!is_rule_file(name) || match.size() >= kMaxStoredRules) continue;
    if (::lstat((folder + "/" + name).c_str(), &info) < 0) continue;
    std::string state = state_of(info);
    const auto before = seen.find(name);
    const bool is_same = before != seen.end() && before->second == state;
    if (!is_same) {
      auto text = read_trusted_file(folder + "/" + name, kMaxRuleText);
      if (text)
        texts.emplace(name, *std::move(text));
      else
        log_warning("cluster: {}", text.error().what);
    }
    match.emplace(name, std::move(state));
  }
  seen = std::move(match);
  return texts;
}

}  // namespace

RuleKeeper::RuleKeeper(Loop& loop, Bus& bus, int replicas, std::string folder, RuleWork& rules,
                       std::function<void()> changed)
    : loop_(loop),
      bus_(bus),
      replicas_(replicas),
      folder_(std::move(folder)),
      rules_(rules),
      changed_(std::move(changed)),
      tasks_(loop) {}

void RuleKeeper::begin() {
  tasks_.spawn(follow_bus());
  tasks_.spawn(follow_files());
}

// nullptr: the thread could not do it.
Task<std::shared_ptr<RuleKeeper::RuleOfferResult>> RuleKeeper::offer(std::string text) {
  auto offered = std::make_shared<RuleOfferResult>();
  RuleWork::Job job = [offered, text = std::move(text)](RuleStore& rules) -> Result<> {
    const auto rule = read_signed_rule(text);
    if (rule) offered->key = {rule->kind, rule->name};
    auto accepted = rule && rule->kind != "trust" ? rules.accept(text)
                    : rule                        ? fail(Code::invalid, "kind: a trust record")
                                                  : tl::unexpected<Error>(rule.error());
    if (accepted) {
      offered->is_new = *accepted == RuleStore::Accepted::stored;
    } else {
      offered->refused = accepted.error().what;
      const SignedRule* own = rule ? rules.find(offered->key) : nullptr;
      offered->is_behind = !rule || (own && rule->cluster == own->cluster && rule->serial < own->serial);
    }
    return {};
  };
  const auto done = co_await rules_.run(std::move(job));
  if (!done) co_return nullptr;
  if (offered->is_new) {
    log_notice("cluster: a new {} '{}' is in force", offered->key.kind, offered->key.name);
    changed_();
  }
  co_return offered;
}

Task<std::map<RuleKey, std::string>> RuleKeeper::own_rules() {
  auto texts = std::make_shared<std::map<RuleKey, std::string>>();
  RuleWork::Job job = [texts](RuleStore& rules) -> Result<> {
    for (const auto& [key, stored] : rules.rules()) texts->emplace(key, stored.text);
    return {};
  };
  (void)co_await rules_.run(std::move(job));
  co_return *std::move(texts);
}

Task<> RuleKeeper::follow_files() {
  std::map<std::string, std::string> seen;
  for (;;) {
    co_await examine_files(seen);
    co_await requeue();
    co_await sleep_for(loop_, kLookAtRules);
  }
}

Task<> RuleKeeper::examine_files(std::map<std::string, std::string>& seen) {
  auto checked = std::make_shared<std::pair<std::map<std::string, std::string>, std::map<std::string, std::string>>>();
  checked->first = seen;
  RuleWork::Job job = [checked, folder = folder_](RuleStore&) -> Result<> {
    TRY(checked->second, changed_files(folder, checked->first));
    return {};
  };
  const auto done = co_await rules_.run(std::move(job));
  const std::string problem = done ? "" : done.error().what;
  if (!done && problem != files_problem_) log_warning("cluster: {}; new rule files have to wait", problem);
  files_problem_ = problem;
  if (!done) co_return;
  seen = std::move(checked->first);
  for (auto& [name, text] : checked->second) {
    const auto offered = co_await offer(text);
    if (!offered) {
      seen.erase(name);  // tried again
    } else if (!offered->refused.empty()) {
      if (!offered->is_behind) log_warning("cluster: {}/{} is not in force: {}", folder_, name, offered->refused);
    } else if (offered->is_new && bucket_) {
      std::map<RuleKey, std::string> own;
      own.emplace(offered->key, std::move(text));
      co_await put(bucket_, std::move(own));
    }
  }
}

Task<> RuleKeeper::follow_bus() {
  BucketReader reader;
  reader.name = "rules";
  reader.settings.replicas = replicas_;
  reader.settings.max_value_bytes = kMaxRuleText;
  reader.opened = [this](Bucket bucket) {
    bucket_ = std::move(bucket);
    bucket_has_.clear();
    is_complete_ = false;
  };
  reader.take = [this](KvChange change) { return take(bucket_, std::move(change)); };
  return follow_bucket(loop_, bus_, std::move(reader));
}

// What the bucket lacks is put there once all its values are known. Nobody removes rules, as newer ones withdraw them.
Task<> RuleKeeper::take(Bucket bucket, KvChange change) {
  if (change.kind == KvChange::Kind::current) {
    if (std::exchange(is_complete_, true)) co_return;
    auto own = co_await own_rules();
    std::erase_if(own, [&](const auto& item) { return bucket_has_.contains(bucket_key(item.first)); });
    co_await put(bucket, std::move(own));
  } else if (change.kind == KvChange::Kind::value) {
    if (!is_complete_) bucket_has_.insert(change.key);
    co_await take_rule(bucket, std::move(change));
  } else {
    co_await replace(bucket, std::move(change.key));
  }
}

Task<> RuleKeeper::take_rule(Bucket bucket, KvChange change) {
  const auto offered = co_await offer(std::move(change.bytes));
  if (!offered || offered->refused.empty()) co_return;
  if (offered->is_behind) co_return co_await replace(bucket, std::move(change.key));
  log_warning("cluster: the rule {} of the bus is refused: {}", change.key, offered->refused);
}

// Puts this node's rule, if it has one, in the place of the value of a key.
Task<> RuleKeeper::replace(Bucket bucket, std::string key) {
  auto own = co_await own_rules();
  std::erase_if(own, [&](const auto& item) { return bucket_key(item.first) != key; });
  const auto now = Monotonic::now();
  const auto last = replaced_.find(key);
  if (own.empty() || (last != replaced_.end() && now - last->second < kReplaceRuleAgain)) co_return;
  replaced_[key] = now;
  co_await put(bucket, std::move(own));
}

Task<> RuleKeeper::requeue() {
  if (unput_.empty() || !bucket_) co_return;
  auto own = co_await own_rules();
  std::erase_if(own, [&](const auto& item) { return !unput_.contains(item.first); });
  co_await put(bucket_, std::move(own));
}

// A write that fails is tried again with the next look at the files.
Task<> RuleKeeper::put(Bucket bucket, std::map<RuleKey, std::string> texts) {
  for (auto& [key, text] : texts) {
    const std::string name = bucket_key(key);
    const auto put = co_await bucket->put(name, std::move(text));
    if (put) {
      unput_.erase(key);
    } else if (unput_.insert(key).second) {
      log_warning("cluster: the rule {} cannot be put on the bus: {}; it is tried again", name, put.error().what);
    }
  }
}

}  // namespace cluster

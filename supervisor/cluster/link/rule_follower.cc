#include "supervisor/cluster/link/rule_follower.h"

#include <fmt/format.h>

#include <utility>

#include "supervisor/base/flag_guard.h"
#include "supervisor/base/log.h"
#include "supervisor/cluster/link/rule_fetch.h"

namespace cluster {
namespace {

constexpr size_t kMaxRefusals = 20;          // in the log, for one fetch
constexpr size_t kMaxSyncedSeparately = 20;  // policies; each takes a reload
constexpr std::chrono::minutes kRefusedRetryDelay{10};

}  // namespace

struct RuleFollower::Work {
  std::optional<RuleFiles> files;                   // opened by the first job
  RuleFiles::RuleSet claimed;                       // by the last job
  RuleDefinitions definitions;                      // as it read them
  std::shared_ptr<const skills::Shared> read_last;  // nullptr: they are as before
  bool are_skills_due = false;                      // some were refused, or could not be written
  bool are_files_unread = true;                     // of the skills

  Result<> take(const Settings& settings, const std::vector<std::string>& texts, bool is_in_doubt) {
    const bool is_first = !files;
    if (is_first) {
      TRY(files, RuleFiles::open(settings.trust, settings.state));
    }
    if (is_in_doubt) CHECKED(files->clear());
    TRY(claimed, files->take(texts));
    claimed.has_catalog_changed |= is_first;
    if (claimed.has_catalog_changed) definitions = files->definitions(claimed.refused);
    if (is_first || claimed.have_skills_changed || are_skills_due) {
      const size_t refused_before = claimed.refused.size();
      const auto read = read_skills();
      if (!read) {
        claimed.refused.push_back("the skills of the cluster stay as they were: " + read.error().what);
        are_files_unread = true;
      }
      are_skills_due = claimed.refused.size() > refused_before;
    }
    return {};
  }
  Result<> read_skills() {
    TRY(const bool has_changed, files->write_skills(claimed.refused));
    if (!has_changed && !are_files_unread) return {};
    TRY(skills::Shared read, files->read_skills());
    read_last = std::make_shared<const skills::Shared>(std::move(read));
    are_files_unread = false;
    return {};
  }
};

Result<std::unique_ptr<RuleFollower>> RuleFollower::make(Loop& loop, Settings settings, Uses uses) {
  TRY(auto thread, WorkerThread::start(loop));
  return std::unique_ptr<RuleFollower>(new RuleFollower(loop, std::move(settings), std::move(uses), std::move(thread)));
}

RuleFollower::RuleFollower(Loop& loop, Settings settings, Uses uses, std::unique_ptr<WorkerThread> thread)
    : loop_(loop),
      settings_(std::move(settings)),
      uses_(std::move(uses)),
      work_(std::make_shared<Work>()),
      thread_(std::move(thread)),
      tasks_(loop) {}

void RuleFollower::begin() {
  if (!is_taking_) tasks_.spawn(take_until_none_changed());
}

void RuleFollower::changed() {
  has_changed_ = true;
  begin();
}

Task<> RuleFollower::take_until_none_changed() {
  const FlagGuard busy(is_taking_);
  const auto report = [](const Result<>& reserved) {
    if (!reserved)
      log_warning("cluster: the rules in force stay: {}{}{}", reserved.error().what,
                  reserved.error().hint.empty() ? "" : "; ", reserved.error().hint);
  };
  if (!std::exchange(has_last_copy_, true)) {
    const auto reserved = co_await take_last_copy();
    report(reserved);
  }
  while (std::exchange(has_changed_, false)) {
    const auto reserved = co_await take();
    report(reserved);
  }
}

// The policies of the copy are in force since the start: their folder is one of Options::policies.
Task<Result<>> RuleFollower::take_last_copy() {
  WorkerThread::Job job = [work = work_, settings = settings_] { return work->take(settings, {}, false); };
  CO_CHECKED(co_await thread_->run(std::move(job)));
  show_changes();
  co_return Result<>{};
}

// Logs what the last job changed.
void RuleFollower::show_changes() {
  const RuleFiles::RuleSet& reserved = work_->claimed;
  for (size_t i = 0; i < reserved.refused.size() && i < kMaxRefusals; i++)
    log_warning("cluster: a rule is not used: {}", reserved.refused[i]);
  if (reserved.has_catalog_changed) {
    definitions_ = std::make_shared<const RuleDefinitions>(std::move(work_->definitions));
    uses_.catalog_changed();
  }
  if (auto read = std::exchange(work_->read_last, nullptr)) {
    skills_ = std::move(read);
    uses_.skills_changed();
  }
  if (work_->are_skills_due) retry_ = Deadline(loop_, kRefusedRetryDelay, [this] { changed(); });
}

Task<Result<>> RuleFollower::take() {
  CO_TRY(std::vector<std::string> texts, co_await fetch_rules(loop_, settings_.socket));
  // A daemon that ended while it tried a wrong policy has left its file.
  const bool is_in_doubt = is_first_ && uses_.is_in_doubt();
  WorkerThread::Job job = [work = work_, settings = settings_, texts = std::move(texts), is_in_doubt] {
    return work->take(settings, texts, is_in_doubt);
  };
  CO_CHECKED(co_await thread_->run(std::move(job)));
  is_first_ = false;
  show_changes();
  std::vector<std::string> policies = std::move(work_->claimed.policies);
  if (!policies.empty()) CO_CHECKED(co_await adopt(std::move(policies)));
  co_return Result<>{};
}

Task<Result<>> RuleFollower::adopt(std::vector<std::string> policies) {
  auto adopted = co_await adopt_one(policies);
  if (adopted) {
    log_notice("cluster: the cluster's policies are in force");
    co_return adopted;
  }
  retry_ = Deadline(loop_, kRefusedRetryDelay, [this] { changed(); });
  if (policies.size() > kMaxSyncedSeparately) policies.resize(kMaxSyncedSeparately);
  for (size_t i = 0; policies.size() > 1 && i < policies.size(); i++) {
    std::vector<std::string> item{policies[i]};
    const auto alone = co_await adopt_one(std::move(item));
    if (alone)
      log_notice("cluster: the cluster's policy '{}' is in force", policies[i]);
    else
      log_warning("cluster: the cluster's policy '{}' is refused: {}", policies[i], alone.error().what);
  }
  const auto former = co_await uses_.reload();
  if (!former) log_error("cluster: the earlier policies are refused, too: {}", former.error().what);
  co_return tl::unexpected<Error>(std::move(adopted).error().within("the cluster's policies are refused"));
}

// All of these, or none.
Task<Result<>> RuleFollower::adopt_one(std::vector<std::string> policies) {
  WorkerThread::Job apply = [work = work_, policies] { return work->files->apply(policies); };
  auto adopted = co_await thread_->run(std::move(apply));
  if (adopted) adopted = co_await uses_.reload();
  for (const std::string& name : policies)
    if (adopted && uses_.has_policy && work_->files->writes(name) && !uses_.has_policy(name))
      adopted = fail(Code::invalid, fmt::format("the policy '{}' has a mistake, which the log names", name));
  if (adopted) co_return adopted;
  WorkerThread::Job undo = [work = work_, policies] { return work->files->undo(policies); };
  CO_CHECKED(co_await thread_->run(std::move(undo)));
  co_return adopted;
}

}  // namespace cluster

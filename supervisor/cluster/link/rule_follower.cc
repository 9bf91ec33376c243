#include "supervisor/cluster/link/rule_follower.h"

#include <utility>

#include "supervisor/base/flag_guard.h"
#include "supervisor/base/log.h"
#include "supervisor/cluster/link/rule_fetch.h"

namespace cluster {
namespace {

constexpr size_t kMostRefusals = 20;  // in the log, for one fetch

}  // namespace

struct RuleFollower::Work {
  std::optional<RuleFiles> files;  // opened by the first job
  RuleFiles::Taken taken;          // by the last job
  RuleDefinitions definitions;     // as it read them

  Result<> take(const Settings& settings, const std::vector<std::string>& texts) {
    const bool is_first = !files;
    if (is_first) {
      TRY(files, RuleFiles::open(settings.trust, settings.state));
    }
    TRY(taken, files->take(texts));
    taken.has_catalog_changed |= is_first;
    if (taken.has_catalog_changed) definitions = files->definitions(taken.refused);
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

void RuleFollower::changed() {
  has_changed_ = true;
  if (!is_taking_) tasks_.spawn(take_until_none_changed());
}

Task<> RuleFollower::take_until_none_changed() {
  const FlagGuard busy(is_taking_);
  while (std::exchange(has_changed_, false)) {
    const auto taken = co_await take();
    if (!taken)
      log_warning("cluster: the rules in force stay: {}{}{}", taken.error().what,
                  taken.error().hint.empty() ? "" : "; ", taken.error().hint);
  }
}

Task<Result<>> RuleFollower::take() {
  CO_TRY(std::vector<std::string> texts, co_await fetch_rules(loop_, settings_.socket));
  WorkerThread::Job job = [work = work_, settings = settings_, texts = std::move(texts)] {
    return work->take(settings, texts);
  };
  CO_CHECKED(co_await thread_->run(std::move(job)));
  const RuleFiles::Taken taken = std::move(work_->taken);
  for (size_t i = 0; i < taken.refused.size() && i < kMostRefusals; i++)
    log_warning("cluster: a rule is not used: {}", taken.refused[i]);
  if (taken.has_catalog_changed) {
    definitions_ = std::make_shared<const RuleDefinitions>(std::move(work_->definitions));
    uses_.catalog_changed();
  }
  if (taken.has_policies_changed) CO_CHECKED(co_await adopt_policies());
  co_return Result<>{};
}

Task<Result<>> RuleFollower::adopt_policies() {
  const auto adopted = co_await uses_.reload();
  if (adopted) {
    log_notice("cluster: the cluster's policies are in force");
    co_return Result<>{};
  }
  WorkerThread::Job job = [work = work_] { return work->files->undo_policies(); };
  CO_CHECKED(co_await thread_->run(std::move(job)));
  const auto former = co_await uses_.reload();
  if (!former) log_error("cluster: the former policies are refused, too: {}", former.error().what);
  Error why = adopted.error();
  co_return tl::unexpected<Error>(std::move(why).within("the cluster's policies are refused"));
}

}  // namespace cluster

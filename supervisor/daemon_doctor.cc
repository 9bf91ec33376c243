// The daemon's own doctor: the checks of `warder doctor`, made inside the daemon's unit. Clients are served meanwhile:
// one step takes milliseconds, and the test program is an ordinary execution.
#include <fmt/format.h>

#include "jail/execution.h"
#include "supervisor/base/json.h"
#include "supervisor/daemon.h"
#include "supervisor/executions/jail_spec.h"

namespace {

using doctor::Finding;
using doctor::Health;

template <class Look>
auto busy_with(Look look) {
  const Doing doing(LoopWork::doctor);
  return look();
}

std::vector<std::string> weaker_in(const std::string& receipt) {
  std::vector<std::string> weaker;
  const auto parsed = parse_json(receipt);
  const auto list = parsed ? parsed->find("weaker") : Json::const_iterator();
  if (!parsed || list == parsed->end() || !list->is_array()) return weaker;
  for (const auto& one : *list)
    if (one.is_string()) weaker.push_back(one.get<std::string>());
  return weaker;
}

}  // namespace

// The policy for the daemon's own executions: "system" or "default"; if it does not exist, the first policy.
std::shared_ptr<const policies::Policy> Daemon::standard_policy(const policies::Store& policies) const {
  auto policy = policies.find(prepared_.identity.root && prepared_.cgroups ? "system" : "default");
  return policy ? policy : policies.find(policies.names().front());
}

// Runs `pass` in a new jail, under the standard policy, with an empty workspace. The execution belongs to no tenant and
// is not recorded.
Task<Finding> Daemon::try_execution() {
  const auto policy = standard_policy(prepared_.policies);
  jail::Request request;
  request.id = fmt::format("doctor-{}", ++examinations_);
  request.code = "pass";
  request.spec = executions::make_spec(*policy, jail::Language::python, policy->limits.standard);
  request.seccomp_profile = policy->seccomp;
  request.workspace = prepared_.self_test.get();
  auto report = co_await jail::execute(*host_, std::move(request));
  if (!report) {
    const Error& error = report.error();
    co_return doctor::judge_execution(code_name(error.code), error.what, error.hint, {});
  }
  const std::string why = report->message.empty() ? report->error : report->message;
  co_return doctor::judge_execution(jail::outcome_name(report->outcome), why, {}, weaker_in(report->receipt));
}

Finding Daemon::judge_cgroups() const {
  if (host_->cgroups)
    return {"delegation", Health::good, fmt::format("jails are cgroups below {}", host_->cgroups->path()), {}};
  return {"delegation", Health::note, fmt::format("jails have no cgroups: {}", host_->no_cgroups_why),
          "install the package, or start warderd by: systemd-run --property=Delegate=yes"};
}

Finding Daemon::judge_own_user() const {
  const DaemonIdentity& own = prepared_.identity;
  if (!own.root)
    return doctor::judge_user(doctor::User::known, fmt::format("user id {}, which started the daemon", own.uid));
  const bool unused_id = own.uid == prepared_.ids.daemon();  // choose_identity()
  return doctor::judge_user(unused_id ? doctor::User::missing : doctor::User::known, prepared_.options.user);
}

// Judges the policy files that a reload would read.
Finding Daemon::judge_policy_files() const {
  const auto names = read_policies().map([](const policies::Store& fresh) { return fresh.names(); });
  return doctor::judge_policies(names);
}

Finding Daemon::judge_pool() const {
  uint32_t waiting = 0, zygotes = 0;
  for (const auto& [language, stock] : pool_->stock()) {
    waiting += stock.jails;
    zygotes += stock.zygotes;
  }
  return doctor::judge_pool(waiting, zygotes, pool_->troubles());
}

Finding Daemon::judge_journal() const {
  const bool durable = prepared_.options.journal.durability == journal::Durability::durable;
  return doctor::judge_journal(journal_->trouble(), durable ? "durable" : "buffered");
}

Task<Result<doctor::Findings>> Daemon::examine() {
  if (examining_)
    co_return fail(Code::exhausted, "the doctor already works for another caller", "call again in some seconds");
  struct Busy {
    bool& flag;
    explicit Busy(bool& f) : flag(f) { flag = true; }
    ~Busy() { flag = false; }
  } busy(examining_);

  doctor::Findings all = busy_with([] { return doctor::look_at_kernel(); });
  all.push_back(judge_cgroups());
  all.push_back(doctor::judge_user_namespaces(0));  // the self-test at the start ran in a user namespace
  co_await next_turn(loop_);
  for (Finding& finding : busy_with([] { return doctor::look_at_programs(); })) all.push_back(std::move(finding));
  all.push_back(judge_own_user());
  co_await next_turn(loop_);
  all.push_back(busy_with([this] { return judge_policy_files(); }));
  co_await next_turn(loop_);
  all.push_back(busy_with([this] { return doctor::look_at_quotas(prepared_.options.state + "/tenants"); }));
  all.push_back({"daemon", Health::good, "listens on " + prepared_.options.socket, {}});
  all.push_back(judge_pool());
  all.push_back(judge_journal());
  all.push_back(judge_state_disk());
  all.push_back(doctor::judge_loop(loop_.busy_time().longest()));
  if (spans_) all.push_back(judge_traces());
  Finding execution = co_await try_execution();
  all.push_back(std::move(execution));
  co_return all;
}

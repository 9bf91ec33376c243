#include "supervisor/daemon/self_examination.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "jail/execution/execution.h"
#include "policies/policy.h"
#include "policies/staging_rules.h"
#include "supervisor/daemon/absent_annexes.h"
#include "supervisor/daemon/configuration_reader.h"
#include "supervisor/executions/jail_spec.h"

namespace {

using doctor::Finding;
using doctor::Health;

template <class Check>
auto busy_with(Check check) {
  const NamedWork named_work(LoopWork::doctor);
  return check();
}

}  // namespace

// Runs `pass` in a new jail, under the standard policy, with an empty workspace. The execution belongs to no tenant and
// is not recorded.
Task<Finding> SelfExamination::try_execution() {
  const auto policy = prepared_.policies.standard();
  jail::Request request;
  request.id = fmt::format("doctor-{}", runs_);
  request.code = "pass";
  request.spec = executions::make_spec(*policy, jail::Language::python, policy->limits.standard);
  request.seccomp_profile = policy->seccomp;
  request.workspace.directory = prepared_.self_test.get();
  auto report = co_await jail::execute(host_, std::move(request));
  if (!report) {
    const Error& error = report.error();
    co_return doctor::judge_execution(code_name(error.code), error.what, error.hint, {});
  }
  const std::string why = report->message.empty() ? report->error : report->message;
  co_return doctor::judge_execution(jail::outcome_name(report->outcome), why, {}, report->receipt.applied.weaker);
}

Finding SelfExamination::judge_cgroups() const {
  if (host_.cgroups)
    return {"delegation", Health::good, fmt::format("jails are cgroups below {}", host_.cgroups->path()), {}};
  return {"delegation", Health::note, fmt::format("jails have no cgroups: {}", host_.no_cgroups_why),
          "install the package, or start warderd by: systemd-run --property=Delegate=yes"};
}

Finding SelfExamination::judge_own_user() const {
  const DaemonIdentity& own = prepared_.identity;
  if (!own.root)
    return doctor::judge_user(doctor::User::known, fmt::format("user id {}, which started the daemon", own.uid));
  const bool unused_id = own.uid == prepared_.ids.daemon();  // choose_identity()
  return doctor::judge_user(unused_id ? doctor::User::missing : doctor::User::known, prepared_.options.user);
}

// Judges the files that a reload would read, and whether they are in force.
Task<doctor::Findings> SelfExamination::judge_files() {
  using Source = configuration::ConfigurationInForce::Source;
  const auto& in_force = prepared_.configuration;
  const auto read = co_await read_configuration(thread_, in_force.invocation, prepared_.policies,
                                                prepared_.options.state, prepared_.listening);
  if (!read) co_return doctor::Findings{{"configuration", Health::bad, read.error().what, read.error().hint}};
  const auto& loaded = (*read)->loaded;
  doctor::ConfigurationFacts facts;
  facts.problems = loaded.notes.problems;
  facts.warnings = loaded.notes.warnings;
  facts.shortfalls = configuration::texts_of(in_force.notes.shortfalls);
  facts.files = loaded.document.files();
  facts.executes = in_force.source != Source::none;
  facts.in_force = !in_force.degraded();
  doctor::Findings all{doctor::judge_configuration(facts)};
  Result<std::vector<std::string>> names = fail(Code::invalid, fmt::format("{}", fmt::join(facts.problems, "; ")));
  if (loaded.policies) names = loaded.policies->names();
  all.push_back(doctor::judge_policies(names));
  co_return all;
}

std::optional<Finding> SelfExamination::judge_staging() const {
  doctor::Staging seen;
  for (const std::string& name : prepared_.policies.names()) {
    const auto policy = prepared_.policies.find(name);
    if (!policy || !policy->staging.offers()) continue;
    seen.policies.push_back(name);
    seen.is_always_staged = seen.is_always_staged || policy->staging.mode == policies::WorkspaceMode::staged;
  }
  if (seen.policies.empty()) return std::nullopt;
  if (host_.root == jail::RootMode::bind) seen.bind_root_why = host_.bind_root_why;
  seen.folder = prepared_.options.state + "/tenants";
  seen.file_system = doctor::file_system_of(seen.folder);
  return doctor::judge_staging(seen);
}

Task<Result<doctor::Findings>> SelfExamination::run() {
  if (running_)
    co_return fail(Code::exhausted, "the doctor already works for another caller", "call again in some seconds");
  struct Busy {
    bool& flag;
    explicit Busy(bool& f) : flag(f) { flag = true; }
    ~Busy() { flag = false; }
  } busy(running_);
  runs_++;

  Loop& loop = host_.loop;
  doctor::Findings all = busy_with([] { return doctor::examine_kernel(); });
  all.push_back(judge_cgroups());
  all.push_back(doctor::judge_user_namespaces(0));  // the self-test at the start ran in a user namespace
  all.push_back(doctor::judge_jail_network(host_.network_seen, host_.network_unseen_why));
  co_await next_turn(loop);
  for (Finding& finding : busy_with([] { return doctor::examine_programs(); })) all.push_back(std::move(finding));
  all.push_back(judge_own_user());
  doctor::Findings files = co_await judge_files();
  std::move(files.begin(), files.end(), std::back_inserter(all));
  all.push_back(busy_with([this] { return doctor::examine_quotas(prepared_.options.state + "/tenants"); }));
  all.push_back({"daemon", Health::good, "listens on " + prepared_.options.socket, {}});
  if (auto staging = busy_with([this] { return judge_staging(); })) all.push_back(*std::move(staging));
  if (auto annexes = judge_annexes()) all.push_back(*std::move(annexes));
  all.push_back(doctor::judge_loop(loop.busy_time().longest()));
  for (FindingSource* part : parts_.all<FindingSource>()) {
    doctor::Findings findings = co_await part->examine();
    std::move(findings.begin(), findings.end(), std::back_inserter(all));
  }
  Finding execution = co_await try_execution();
  all.push_back(std::move(execution));
  co_return all;
}

Result<std::unique_ptr<SelfExamination>> SelfExamination::open(Parts& parts, jail::Host& host, Prepared& prepared,
                                                               StateThreads& threads) {
  return std::make_unique<SelfExamination>(parts, host, prepared, *threads.files);
}

PartEntry self_examination_part() { return part_entry_of("self-examination", SelfExamination::open); }

#include "supervisor/daemon/self_examination.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "jail/execution/execution.h"
#include "supervisor/base/only_loopback.h"
#include "supervisor/daemon/configuration_reader.h"
#include "supervisor/executions/jail_spec.h"

namespace {

using doctor::Finding;
using doctor::Health;

template <class Look>
auto busy_with(Look look) {
  const NamedWork named_work(LoopWork::doctor);
  return look();
}

}  // namespace

// Runs `pass` in a new jail, under the standard policy, with an empty workspace. The execution belongs to no tenant and
// is not recorded.
Task<Finding> SelfExamination::try_execution() {
  const auto policy = parts_.prepared.policies.standard();
  jail::Request request;
  request.id = fmt::format("doctor-{}", runs_);
  request.code = "pass";
  request.spec = executions::make_spec(*policy, jail::Language::python, policy->limits.standard);
  request.seccomp_profile = policy->seccomp;
  request.workspace.directory = parts_.prepared.self_test.get();
  auto report = co_await jail::execute(parts_.host, std::move(request));
  if (!report) {
    const Error& error = report.error();
    co_return doctor::judge_execution(code_name(error.code), error.what, error.hint, {});
  }
  const std::string why = report->message.empty() ? report->error : report->message;
  co_return doctor::judge_execution(jail::outcome_name(report->outcome), why, {}, report->receipt.applied.weaker);
}

Finding SelfExamination::judge_cgroups() const {
  if (parts_.host.cgroups)
    return {"delegation", Health::good, fmt::format("jails are cgroups below {}", parts_.host.cgroups->path()), {}};
  return {"delegation", Health::note, fmt::format("jails have no cgroups: {}", parts_.host.no_cgroups_why),
          "install the package, or start warderd by: systemd-run --property=Delegate=yes"};
}

Finding SelfExamination::judge_own_user() const {
  const DaemonIdentity& own = parts_.prepared.identity;
  if (!own.root)
    return doctor::judge_user(doctor::User::known, fmt::format("user id {}, which started the daemon", own.uid));
  const bool unused_id = own.uid == parts_.prepared.ids.daemon();  // choose_identity()
  return doctor::judge_user(unused_id ? doctor::User::missing : doctor::User::known, parts_.prepared.options.user);
}

// Judges the files that a reload would read, and whether they are in force.
Task<doctor::Findings> SelfExamination::judge_files() {
  using Source = configuration::ConfigurationInForce::Source;
  const auto& in_force = parts_.prepared.configuration;
  const auto read = co_await read_configuration(parts_.policy_thread, in_force.invocation, parts_.prepared.policies,
                                                parts_.prepared.options.state, parts_.prepared.held);
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

Finding SelfExamination::judge_pool() const {
  uint32_t waiting = 0, zygotes = 0;
  for (const auto& [language, stock] : parts_.pool.stock()) {
    waiting += stock.jails;
    zygotes += stock.zygotes;
  }
  return doctor::judge_pool(waiting, zygotes, parts_.pool.troubles());
}

Finding SelfExamination::judge_journal() const {
  const bool durable = parts_.prepared.options.journal.durability == journal::Durability::durable;
  return doctor::judge_journal(parts_.journal.trouble(), durable ? "durable" : "buffered");
}

Finding SelfExamination::judge_state_disk() const {
  doctor::StateDiskFacts facts;
  facts.folder = parts_.prepared.options.state;
  facts.reserve_bytes = parts_.state_disk.reserve_bytes();
  facts.reserve_problem = parts_.state_disk.reserve_problem();
  if (const auto& trouble = parts_.state_disk.trouble()) {
    facts.problem = trouble->what;
    facts.remedy = trouble->remedy;
  }
  return doctor::judge_state_disk(facts);
}

Finding SelfExamination::judge_workspaces() const {
  const tenants::IndexHost::Totals totals = parts_.indexes.totals();
  return doctor::judge_workspaces({totals.indexes, totals.without, totals.without_why, totals.watches, totals.walks});
}

std::optional<Finding> SelfExamination::judge_staging() const {
  doctor::Staging seen;
  for (const std::string& name : parts_.prepared.policies.names()) {
    const auto policy = parts_.prepared.policies.find(name);
    if (!policy || !policy->staging.offers()) continue;
    seen.policies.push_back(name);
    seen.is_always_staged = seen.is_always_staged || policy->staging.mode == policies::WorkspaceMode::staged;
  }
  if (seen.policies.empty()) return std::nullopt;
  if (parts_.host.root == jail::RootMode::bind) seen.bind_root_why = parts_.host.bind_root_why;
  seen.folder = parts_.prepared.options.state + "/tenants";
  seen.file_system = doctor::file_system_of(seen.folder);
  return doctor::judge_staging(seen);
}

std::optional<Finding> SelfExamination::judge_egress() const {
  doctor::EgressReach seen;
  for (const std::string& name : parts_.prepared.policies.names()) {
    const auto policy = parts_.prepared.policies.find(name);
    if (policy && policy->egress.is_on()) seen.policies.push_back(name);
  }
  if (seen.policies.empty()) return std::nullopt;
  if (const auto connected = parts_.egress.connect(); !connected) {
    seen.trouble = connected.error().what;
    seen.remedy = "systemctl enable --now warder-egress.socket";
  }
  const egress::EgressLink::Counts& counts = parts_.egress.counts();
  seen.allowed = counts.allowed, seen.denied = counts.denied, seen.failed = counts.failed;
  return doctor::judge_egress(seen);
}

Finding SelfExamination::judge_traces() const {
  doctor::Spans seen;
  seen.collector = parts_.spans->collector().shown;
  seen.network_needed = parts_.spans->collector().socket.empty();
  seen.only_loopback = only_loopback();
  seen.exported = parts_.spans->queue().counts.exported;
  seen.dropped = parts_.spans->queue().counts.dropped;
  seen.trouble = parts_.spans->trouble();
  return doctor::judge_spans(seen);
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

  Loop& loop = parts_.host.loop;
  doctor::Findings all = busy_with([] { return doctor::look_at_kernel(); });
  all.push_back(judge_cgroups());
  all.push_back(doctor::judge_user_namespaces(0));  // the self-test at the start ran in a user namespace
  all.push_back(doctor::judge_jail_network(parts_.host.network_seen, parts_.host.network_unseen_why));
  co_await next_turn(loop);
  for (Finding& finding : busy_with([] { return doctor::look_at_programs(); })) all.push_back(std::move(finding));
  all.push_back(judge_own_user());
  doctor::Findings files = co_await judge_files();
  std::move(files.begin(), files.end(), std::back_inserter(all));
  all.push_back(busy_with([this] { return doctor::look_at_quotas(parts_.prepared.options.state + "/tenants"); }));
  all.push_back({"daemon", Health::good, "listens on " + parts_.prepared.options.socket, {}});
  all.push_back(judge_pool());
  all.push_back(judge_journal());
  all.push_back(doctor::judge_clock(parts_.journal.clock_jump_ms()));
  all.push_back(judge_state_disk());
  all.push_back(judge_workspaces());
  if (auto staging = busy_with([this] { return judge_staging(); })) all.push_back(*std::move(staging));
  all.push_back(doctor::judge_loop(loop.busy_time().longest()));
  if (const auto http = parts_.http_use(); !http.addresses.empty()) all.push_back(doctor::judge_http(http));
  if (auto egress = judge_egress()) all.push_back(*std::move(egress));
  if (parts_.spans) all.push_back(judge_traces());
  doctor::Findings cluster = co_await parts_.cluster();
  std::move(cluster.begin(), cluster.end(), std::back_inserter(all));
  Finding execution = co_await try_execution();
  all.push_back(std::move(execution));
  co_return all;
}

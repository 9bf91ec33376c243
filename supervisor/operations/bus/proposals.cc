// Proposals over D-Bus: what staged executions want to change in their workspaces, for people. ListProposals shows what
// the caller sees anyway (caller.h), ReadProposalDiff has contents of files and so the rights of ReadOutput, and the
// acts have those of Approve. The files and the rules: supervisor/tenants/proposals/proposal_stores.h.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <limits>

#include "policies/call_rules.h"
#include "policies/policy_parts.h"
#include "policies/staging_rules.h"
#include "policies/store.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/operations/bus/bus_objects.h"
#include "supervisor/operations/bus/json_values.h"
#include "supervisor/tenants/tenant.h"

namespace bus {
namespace {

using proposals::PathConflicts;
using proposals::Proposal;
using StorePtr = std::shared_ptr<proposals::ProposalStore>;
using By = policies::ApprovalRules::By;

constexpr size_t kMaxDiff = 1 << 20;  // bytes of one answer
constexpr size_t kMaxListedProposals = 10'000;
constexpr size_t kMaxCommitPaths = 1000, kMaxPathBytes = 4096;
constexpr std::string_view kShownFolder = "/workspace/";

uint64_t usec_of(int64_t ms) { return static_cast<uint64_t>(std::max<int64_t>(ms, 0)) * 1000; }
uint64_t count_of_files(const proposals::StagedFiles::List& list) { return list.files.size() + list.omitted; }

Json summary_of(const std::string& tenant, const Proposal& proposal) {
  Json report = {{"Id", proposal.id},
                 {"Tenant", tenant},
                 {"State", std::string(proposals::state_name(proposal.state))},
                 {"Execution", proposal.about.execution},
                 {"Language", proposal.about.language},
                 {"AskedUSec", usec_of(proposal.about.requested_ms)},
                 {"SettledUSec", usec_of(proposal.settled_ms)},
                 {"Created", count_of_files(proposal.files.created)},
                 {"Modified", count_of_files(proposal.files.modified)},
                 {"Deleted", count_of_files(proposal.files.deleted)},
                 {"Refused", proposal.refused_count},
                 {"Conflicts", uint64_t{proposal.conflicts.listed.size()} + proposal.conflicts.omitted},
                 {"Bytes", proposal.bytes},
                 {"Commits", uint64_t{proposal.commits}}};
  if (proposal.committed_ms > 0) report["CommittedUSec"] = usec_of(proposal.committed_ms);
  if (!proposal.problem.empty()) report["Problem"] = proposal.problem;
  if (!proposal.undo_problem.empty()) report["UndoProblem"] = proposal.undo_problem;
  return report;
}

Json paths_json(const proposals::StagedFiles::List& list) {
  Json all = Json::array();
  for (const auto& file : list.files)
    all.push_back({{"Path", file.path}, {"Bytes", file.bytes}, {"BytesBefore", file.bytes_before}});
  return all;
}

Json conflicts_json(const PathConflicts& conflicts) {
  Json all = Json::array();
  for (const auto& item : conflicts.listed) all.push_back({{"Path", item.path}, {"Why", item.why}});
  return all;
}

// An empty list has no type on D-Bus, so it is left out.
void set_list(Json& report, const char* key, Json list) {
  if (!list.empty()) report[key] = std::move(list);
}

Json details_of(const std::string& tenant, const Proposal& proposal) {
  Json report = summary_of(tenant, proposal);
  set_list(report, "CreatedFiles", paths_json(proposal.files.created));
  set_list(report, "ModifiedFiles", paths_json(proposal.files.modified));
  set_list(report, "DeletedFiles", paths_json(proposal.files.deleted));
  set_list(report, "RefusedPaths", Json(proposal.refused));
  set_list(report, "ConflictingPaths", conflicts_json(proposal.conflicts));
  return report;
}

Json result_of(bool is_done, uint64_t steps, const PathConflicts& conflicts, const Proposal& after) {
  Json report = {{"Done", is_done},
                 {"Steps", steps},
                 {"State", std::string(proposals::state_name(after.state))},
                 {"Commits", uint64_t{after.commits}},
                 {"Conflicts", uint64_t{conflicts.listed.size()} + conflicts.omitted}};
  if (!after.undo_problem.empty()) report["UndoProblem"] = after.undo_problem;
  set_list(report, "ConflictingPaths", conflicts_json(conflicts));
  return report;
}

tl::unexpected<Error> not_a_tenant() {
  return fail(Code::invalid, "this is not the name of a tenant, or of its named workspace as 'TENANT/WORKSPACE'",
              "warder tenants lists the tenants");
}

Result<std::vector<std::string>> read_commit_paths(sd_bus_message* call) {
  std::vector<std::string> paths;
  int r = sd_bus_message_enter_container(call, 'a', "s");
  const char* text = nullptr;
  while (r >= 0 && (r = sd_bus_message_read(call, "s", &text)) > 0) {
    std::string path(text);
    if (paths.size() == kMaxCommitPaths)
      return fail(Code::invalid, fmt::format("paths: there are more than {}", kMaxCommitPaths),
                  "name folders, or no paths to commit all changes");
    if (path.empty() || path.size() > kMaxPathBytes)
      return fail(Code::invalid, fmt::format("paths: one is empty, or longer than {} bytes", kMaxPathBytes),
                  "name files and folders of the workspace, for example 'src/main.py'");
    if (path.starts_with(kShownFolder)) path.erase(0, kShownFolder.size());
    paths.push_back(std::move(path));
  }
  if (r >= 0) r = sd_bus_message_exit_container(call);
  if (r < 0) return fail_errno(-r, "read the paths", Code::invalid);
  return paths;
}

// Whether the tenant's staging folder has folders, so that its store must be opened to know its proposals. A folder
// without any has two links, except on Btrfs, where each has one.
bool has_staging(tenants::Tenant& tenant) {
  struct stat seen {};
  return ::fstatat(tenant.directory(), "staging", &seen, AT_SYMLINK_NOFOLLOW) == 0 && seen.st_nlink != 2;
}

// The rules for a store that no client has opened. Without a connected client its policy is not known, and nothing is
// removed until one comes.
policies::StagingRules rules_until_a_client_comes() {
  policies::StagingRules rules;
  rules.undo = rules.open = std::numeric_limits<uint32_t>::max();
  rules.proposals_bytes = uint64_t{1} << 62;
  return rules;
}

}  // namespace

Task<Result<StorePtr>> BusObjects::store_of(std::shared_ptr<tenants::Tenant> tenant) {
  if (auto it = services_.proposals.find(tenant->id())) co_return it;
  const auto policy = services_.members.of(tenant->account()).policy;
  const policies::StagingRules rules = policy ? policies::staging_of(*policy) : rules_until_a_client_comes();
  auto opened = co_await services_.proposals.of(std::move(tenant), rules);
  co_return opened;
}

std::string BusObjects::decider_of(const policies::Peer& caller, const std::string& account) const {
  if (authority_.tenant_of(caller) != account) return {};
  const auto assigned = services_.policies.tenant_of(caller);
  if (!assigned || policies::calls_of(*assigned->policy).approval.by != By::tenant) return {};
  const auto connected = services_.members.of(account).policy;
  if (connected && policies::calls_of(*connected).approval.by != By::tenant) return {};
  return account;
}

Task<Result<BusObjects::ProposalPath>> BusObjects::proposal_at(MessagePtr call, std::string tenant, std::string id,
                                                               ProposalUse use) {
  const auto owner = tenants::TenantId::parse(tenant);
  if (!owner) co_return not_a_tenant();
  CO_TRY(const policies::Peer caller, co_await authority_.identify(share(call.get())));
  // Before the look for the tenant: other users do not learn whether it exists.
  const bool is_act = use == ProposalUse::act;
  const Right right = is_act ? Right::approve_calls : Right::manage_executions;
  std::string account = is_act ? decider_of(caller, owner->account) : owner->account;
  auto allowed = co_await authority_.allow(std::move(call), right, std::move(account));
  if (!allowed) co_return tl::unexpected<Error>(std::move(allowed).error());
  ProposalPath position;
  position.uid = caller.uid;
  CO_TRY(position.tenant, services_.registry.open_stored(*owner));
  if (!has_staging(*position.tenant))
    co_return fail(Code::not_found, fmt::format("tenant '{}' has no proposals", owner->text()),
                   "list them: warder diff");
  CO_TRY(position.store, co_await store_of(position.tenant));
  CO_TRY(position.proposal, position.store->find(id));
  co_return position;
}

journal::AuditEntry BusObjects::entry_of(const std::string& action, const ProposalPath& position, Json more) {
  journal::AuditEntry entry;
  entry.at_ms = journal::now_ms();
  entry.tenant = position.tenant->name();
  entry.uid = position.uid;
  entry.action = action + " proposal";
  entry.subject = position.proposal.id;
  entry.kind = journal::AuditKind::approval;
  more["execution"] = position.proposal.about.execution;
  entry.shape = dump_json(more);
  return entry;
}

Task<Result<>> BusObjects::record_act(std::string action, ProposalPath position, size_t paths) {
  Json shape = Json::object();
  if (paths > 0) shape["paths"] = paths;
  log_notice("D-Bus: user {}: {} of proposal {} of tenant {}", position.uid, action, position.proposal.id,
             position.tenant->name());
  auto recorded = co_await services_.journal.audit_first(entry_of(action, position, std::move(shape)));
  if (recorded) co_return Result<>{};
  co_return tl::unexpected<Error>(std::move(recorded).error().within(
      "the proposal is unchanged, because the act cannot be recorded in the audit chain"));
}

void BusObjects::record_failure(const std::string& action, const ProposalPath& position, std::string_view outcome) {
  services_.journal.audit(entry_of(action, position, {{"failed", std::string(outcome)}}));
}

Task<Result<MessagePtr>> BusObjects::list_proposals(MessagePtr call) {
  const char* text = nullptr;
  if (int r = sd_bus_message_read(call.get(), "s", &text); r < 0)
    co_return fail_errno(-r, "read the argument", Code::invalid);
  const std::string named(text);
  std::optional<tenants::TenantId> only;
  std::optional<std::string> request;
  if (!named.empty()) {
    const auto parsed = tenants::TenantId::parse(named);
    if (!parsed) co_return not_a_tenant();
    only = *parsed;
    request = parsed->account;
  }
  CO_TRY(const std::string account, co_await readable_records(share(call.get()), request));
  if (!only && !account.empty()) only = tenants::TenantId{account};
  std::vector<std::shared_ptr<tenants::Tenant>> owners;
  if (only) {
    auto opened = services_.registry.open_stored(*only);
    if (!opened && (opened.error().code != Code::not_found || !named.empty()))
      co_return tl::unexpected<Error>(std::move(opened).error());
    if (opened) owners.push_back(*std::move(opened));
    if (only->workspace.empty()) owners = services_.registry.of_account(only->account);
  } else {
    for (const std::string& name : services_.registry.names())
      for (auto& item : services_.registry.of_account(name)) owners.push_back(std::move(item));
  }
  Json all = Json::array();
  for (const auto& owner : owners) {
    if (!has_staging(*owner)) continue;
    auto store = co_await store_of(owner);
    if (!store && only) co_return tl::unexpected<Error>(std::move(store).error());
    if (!store) {
      log_warning("D-Bus: proposals are not listed: {}", store.error().what);
      continue;
    }
    for (const Proposal& proposal : (*store)->list())
      if (all.size() < kMaxListedProposals) all.push_back(summary_of(owner->name(), proposal));
  }
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  if (int r = append_objects(reply.get(), all); r < 0) co_return fail_errno(-r, "list the proposals");
  co_return reply;
}

Task<Result<MessagePtr>> BusObjects::read_proposal_diff(MessagePtr call) {
  const char *tenant = nullptr, *id = nullptr;
  if (int r = sd_bus_message_read(call.get(), "ss", &tenant, &id); r < 0)
    co_return fail_errno(-r, "read the arguments", Code::invalid);
  auto proposal = co_await proposal_at(share(call.get()), tenant, id, ProposalUse::read);
  if (!proposal) co_return tl::unexpected<Error>(std::move(proposal).error());
  CO_TRY(const std::string diff, co_await proposal->store->diff(proposal->proposal.id, kMaxDiff));
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  int r = append_object(reply.get(), details_of(proposal->tenant->name(), proposal->proposal));
  if (r >= 0) r = append(reply.get(), diff);
  if (r < 0) co_return fail_errno(-r, "answer with the diff");
  co_return reply;
}

Task<Result<MessagePtr>> BusObjects::commit_proposal(MessagePtr call) {
  const char *tenant = nullptr, *id = nullptr;
  if (int r = sd_bus_message_read(call.get(), "ss", &tenant, &id); r < 0)
    co_return fail_errno(-r, "read the arguments", Code::invalid);
  const std::string owner(tenant), named(id);
  CO_TRY(std::vector<std::string> paths, read_commit_paths(call.get()));
  auto proposal = co_await proposal_at(share(call.get()), owner, named, ProposalUse::act);
  if (!proposal) co_return tl::unexpected<Error>(std::move(proposal).error());
  CO_CHECKED(co_await record_act("commit", *proposal, paths.size()));
  auto report =
      co_await services_.proposals.commit(proposal->tenant, proposal->store, proposal->proposal.id, std::move(paths));
  if (!report) record_failure("commit", *proposal, code_name(report.error().code));
  if (!report) co_return tl::unexpected<Error>(std::move(report).error());
  if (!report->is_committed) record_failure("commit", *proposal, "conflict");
  const Json result = result_of(report->is_committed, report->steps, report->conflicts, report->proposal);
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  if (int r = append_object(reply.get(), result); r < 0) co_return fail_errno(-r, "answer with the commit");
  co_return reply;
}

Task<Result<MessagePtr>> BusObjects::discard_proposal(MessagePtr call) {
  const char *tenant = nullptr, *id = nullptr;
  if (int r = sd_bus_message_read(call.get(), "ss", &tenant, &id); r < 0)
    co_return fail_errno(-r, "read the arguments", Code::invalid);
  auto proposal = co_await proposal_at(share(call.get()), tenant, id, ProposalUse::act);
  if (!proposal) co_return tl::unexpected<Error>(std::move(proposal).error());
  CO_CHECKED(co_await record_act("discard", *proposal, 0));
  auto discarded = co_await services_.proposals.discard(proposal->tenant, proposal->store, proposal->proposal.id);
  if (!discarded) record_failure("discard", *proposal, code_name(discarded.error().code));
  if (!discarded) co_return tl::unexpected<Error>(std::move(discarded).error());
  co_return reply_to(call.get());
}

Task<Result<MessagePtr>> BusObjects::undo_proposal(MessagePtr call) {
  const char *tenant = nullptr, *id = nullptr;
  if (int r = sd_bus_message_read(call.get(), "ss", &tenant, &id); r < 0)
    co_return fail_errno(-r, "read the arguments", Code::invalid);
  auto proposal = co_await proposal_at(share(call.get()), tenant, id, ProposalUse::act);
  if (!proposal) co_return tl::unexpected<Error>(std::move(proposal).error());
  CO_CHECKED(co_await record_act("undo", *proposal, 0));
  auto report = co_await services_.proposals.undo(proposal->tenant, proposal->store, proposal->proposal.id);
  if (!report) record_failure("undo", *proposal, code_name(report.error().code));
  if (!report) co_return tl::unexpected<Error>(std::move(report).error());
  if (!report->is_undone) record_failure("undo", *proposal, "conflict");
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  const Json result = result_of(report->is_undone, report->steps, report->conflicts, report->proposal);
  if (int r = append_object(reply.get(), result); r < 0) co_return fail_errno(-r, "answer with the undo");
  co_return reply;
}

}  // namespace bus

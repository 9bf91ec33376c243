#include "supervisor/tenants/proposals/proposal_stores.h"

#include <fcntl.h>

#include <utility>

#include "supervisor/base/run_to_end.h"
#include "supervisor/tenants/quota.h"
#include "supervisor/tenants/tenant.h"

namespace proposals {
namespace {

ProposalStore::Rules rules_of(const policies::StagingRules& rules) {
  return {rules.proposals_bytes, rules.open, rules.undo, rules.keep};
}

tl::unexpected<Error> daemon_ends() { return fail(Code::unavailable, "the daemon is ending"); }

// The descriptors stay open as long as the store.
struct OpenedStore {
  Fd tenant, workspace;
  std::unique_ptr<ProposalStore> store;
};

Result<std::shared_ptr<OpenedStore>> folders_of(tenants::Tenant& tenant) {
  auto folders = std::make_shared<OpenedStore>();
  folders->tenant = Fd(::fcntl(tenant.directory(), F_DUPFD_CLOEXEC, 3));
  folders->workspace = Fd(::fcntl(tenant.workspace().directory(), F_DUPFD_CLOEXEC, 3));
  if (!folders->tenant || !folders->workspace) return fail_errno(errno, "open the folder of proposals");
  return folders;
}

void add_counters(ProposalStore::Counters& sum, const ProposalStore::Counters& more) {
  sum.commits += more.commits;
  sum.conflicts += more.conflicts;
  sum.undone += more.undone;
  sum.discarded += more.discarded;
  sum.expired += more.expired;
}

std::vector<std::string> paths_of(const StagedFiles::List& list) {
  std::vector<std::string> paths;
  for (const auto& file : list.files) paths.push_back(file.path);
  return paths;
}

}  // namespace

Task<Result<std::shared_ptr<ProposalStore>>> ProposalStores::of(TenantPtr tenant, policies::StagingRules rules) {
  auto it = stores_.find(tenant->id());
  if (it == stores_.end()) {
    OneShot<StoreResult> match(loop_, daemon_ends());
    auto& waiting = opening_[tenant->id()];
    waiting.push_back(match.resolver());
    if (waiting.size() == 1) tasks_.spawn(open(tenant));
    auto opened = co_await match;
    if (!opened) co_return opened;
    (*opened)->set_rules(rules_of(rules));
    co_return opened;
  }
  const auto store = it->second;
  store->set_rules(rules_of(rules));
  co_return store;
}

Task<> ProposalStores::open(TenantPtr tenant) {
  StoreResult match = fail(Code::internal, "no store was opened");
  auto folders = folders_of(*tenant);
  if (folders) {
    auto opened = co_await ProposalStore::open(loop_, (*folders)->tenant.get(), (*folders)->workspace.get());
    if (opened) {
      (*folders)->store = *std::move(opened);
      match = std::shared_ptr<ProposalStore>(*folders, (*folders)->store.get());
      stores_[tenant->id()] = *match;
      count(*tenant, **match);
      tenant->workspace().invalidate();  // an interrupted commit was completed
    } else {
      match = tl::unexpected<Error>(std::move(opened).error().within("open the proposals of " + tenant->name()));
    }
  } else {
    match = tl::unexpected<Error>(std::move(folders).error());
  }
  auto waiting = std::exchange(opening_[tenant->id()], {});
  opening_.erase(tenant->id());
  for (auto& item : waiting) item.resolve(match);
}

std::vector<std::pair<tenants::TenantId, const ProposalStore*>> ProposalStores::opened() const {
  std::vector<std::pair<tenants::TenantId, const ProposalStore*>> all;
  for (const auto& [id, store] : stores_) all.emplace_back(id, store.get());
  return all;
}

std::shared_ptr<ProposalStore> ProposalStores::find(const tenants::TenantId& id) const {
  const auto it = stores_.find(id);
  return it == stores_.end() ? nullptr : it->second;
}

ProposalStores::Totals ProposalStores::totals() const {
  Totals totals;
  totals.ended = forgotten_;
  for (const auto& [id, store] : stores_) {
    totals.open += store->open_proposals();
    totals.bytes += store->usage().bytes;
    add_counters(totals.ended, store->counters());
  }
  return totals;
}

Task<Proposal> ProposalStores::conclude(TenantPtr tenant, std::shared_ptr<ProposalStore> store, Proposal proposal,
                                        Ended how, policies::CommitBy by) {
  if (by != policies::CommitBy::automatic) co_return proposal;
  if (how == Ended::badly) {
    auto discarded = co_await discard(tenant, store, proposal.id);
    if (discarded) proposal = *std::move(discarded);
    co_return proposal;
  }
  auto report = co_await commit(tenant, store, proposal.id, {});
  if (!report) {
    proposal.problem = report.error().what;
    co_return proposal;
  }
  proposal = std::move(report->proposal);
  if (!report->is_committed) proposal.conflicts = std::move(report->conflicts);
  co_return proposal;
}

void ProposalStores::forget(const tenants::TenantId& id) {
  const auto it = stores_.find(id);
  if (it == stores_.end()) return;
  add_counters(forgotten_, it->second->counters());
  stores_.erase(it);
}

void ProposalStores::count(tenants::Tenant& tenant, const ProposalStore& store) {
  const StagedUsage usage = store.usage();
  tenant.workspace().set_held(tenants::Holder::proposals, {usage.bytes, usage.files});
}

void ProposalStores::files_changed(tenants::Tenant& tenant, const StagedFiles& files) {
  if (!files_changed_) return;
  tenants::Changes changes;
  changes.created.paths = paths_of(files.created);
  changes.modified.paths = paths_of(files.modified);
  changes.deleted.paths = paths_of(files.deleted);
  files_changed_(tenant, changes);
}

Task<Result<CommitReport>> ProposalStores::do_commit(TenantPtr tenant, std::shared_ptr<ProposalStore> store,
                                                     std::string id, std::vector<std::string> paths) {
  CO_TRY(const Proposal before, store->find(id));
  auto writing = co_await tenant->workspace().begin_writing();
  auto report = co_await store->commit(std::move(id), std::move(paths));
  tenant->workspace().invalidate();
  co_await tenant->workspace().end_writing(std::move(writing));
  count(*tenant, *store);
  if (report && report->is_committed) files_changed(*tenant, before.files);
  co_return report;
}

Task<Result<UndoReport>> ProposalStores::do_undo(TenantPtr tenant, std::shared_ptr<ProposalStore> store,
                                                 std::string id) {
  CO_TRY(const Proposal before, store->find(id));
  auto writing = co_await tenant->workspace().begin_writing();
  auto report = co_await store->undo(std::move(id));
  tenant->workspace().invalidate();
  co_await tenant->workspace().end_writing(std::move(writing));
  count(*tenant, *store);
  if (report && report->is_undone) files_changed(*tenant, before.files);
  co_return report;
}

Task<Result<Proposal>> ProposalStores::do_discard(TenantPtr tenant, std::shared_ptr<ProposalStore> store,
                                                  std::string id) {
  auto discarded = co_await store->discard(std::move(id));
  count(*tenant, *store);
  co_return discarded;
}

Task<Result<CommitReport>> ProposalStores::commit(TenantPtr tenant, std::shared_ptr<ProposalStore> store,
                                                  std::string id, std::vector<std::string> paths) {
  return run_to_end<CommitReport>(
      loop_, tasks_, do_commit(std::move(tenant), std::move(store), std::move(id), std::move(paths)), daemon_ends());
}

Task<Result<UndoReport>> ProposalStores::undo(TenantPtr tenant, std::shared_ptr<ProposalStore> store, std::string id) {
  return run_to_end<UndoReport>(loop_, tasks_, do_undo(std::move(tenant), std::move(store), std::move(id)),
                                daemon_ends());
}

Task<Result<Proposal>> ProposalStores::discard(TenantPtr tenant, std::shared_ptr<ProposalStore> store, std::string id) {
  return run_to_end<Proposal>(loop_, tasks_, do_discard(std::move(tenant), std::move(store), std::move(id)),
                              daemon_ends());
}

Task<> ProposalStores::tidy() {
  const auto all = stores_;  // one may be forgotten meanwhile
  for (const auto& [id, store] : all) co_await store->tidy();
}

}  // namespace proposals

// ProposalStores: the proposals of all tenants and named workspaces. A store is opened when it is first needed. The
// files of its proposals count in the workspace's quota. Clients that watch files are notified of commits and undos.
// Used by: executions, tools, bus and daemon. Errors: those of ProposalStore.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policies/staging_rules.h"
#include "policies/tenant_id.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/tenants/proposals/proposal_store.h"

namespace tenants {
class Tenant;
}

namespace proposals {

class ProposalStores {
 public:
  using TenantPtr = std::shared_ptr<tenants::Tenant>;
  // Gets the files that a commit or an undo changed in a workspace.
  using FilesChanged = std::function<void(const tenants::Tenant&, const tenants::Changes&)>;

  // The loop must outlive it.
  explicit ProposalStores(Loop& loop) : loop_(loop), tasks_(loop) {}
  void on_files_changed(FilesChanged changed) { files_changed_ = std::move(changed); }

  // The store of the tenant, under these rules from now on.
  Task<Result<std::shared_ptr<ProposalStore>>> of(TenantPtr tenant, policies::StagingRules rules);
  // The store if it was opened, with the rules that it has; otherwise nullptr.
  std::shared_ptr<ProposalStore> find(const tenants::TenantId& id) const;
  // The sums of all stores that were opened since the daemon's start, for metrics.
  struct Totals {
    uint64_t open = 0, bytes = 0;
    ProposalStore::Counters ended;
  };
  Totals totals() const;
  // The opened stores, for numbers.
  std::vector<std::pair<tenants::TenantId, const ProposalStore*>> opened() const;
  // The tenant's account counts the files of its proposals. Call it after each change of its store.
  static void count(tenants::Tenant& tenant, const ProposalStore& store);

  // The store's functions; the workspace then counts its files again, and clients are notified of the changes.
  Task<Result<CommitReport>> commit(TenantPtr tenant, std::shared_ptr<ProposalStore> store, std::string id,
                                    std::vector<std::string> paths);
  Task<Result<UndoReport>> undo(TenantPtr tenant, std::shared_ptr<ProposalStore> store, std::string id);
  Task<Result<Proposal>> discard(TenantPtr tenant, std::shared_ptr<ProposalStore> store, std::string id);

  // What the policy says when the program has ended: `auto` commits the changes of one that ended well, and discards
  // those of any other. Returns the proposal as it is then, with the problem or the conflicts of a refused commit.
  enum class Ended { well, badly };
  Task<Proposal> conclude(TenantPtr tenant, std::shared_ptr<ProposalStore> store, Proposal proposal, Ended how,
                          policies::CommitBy by);

  // The tenant or named workspace is removed, with its folders.
  void forget(const tenants::TenantId& id);
  // Discards what is too old, in all opened stores.
  Task<> tidy();

 private:
  using StoreResult = Result<std::shared_ptr<ProposalStore>>;
  Task<> open(TenantPtr tenant);
  Task<Result<CommitReport>> do_commit(TenantPtr tenant, std::shared_ptr<ProposalStore> store, std::string id,
                                       std::vector<std::string> paths);
  Task<Result<UndoReport>> do_undo(TenantPtr tenant, std::shared_ptr<ProposalStore> store, std::string id);
  Task<Result<Proposal>> do_discard(TenantPtr tenant, std::shared_ptr<ProposalStore> store, std::string id);
  void files_changed(tenants::Tenant& tenant, const StagedFiles& files);

  Loop& loop_;
  FilesChanged files_changed_;
  std::map<tenants::TenantId, std::shared_ptr<ProposalStore>> stores_;
  std::map<tenants::TenantId, std::vector<OneShot<StoreResult>::Resolver>> opening_;  // who waits for a store
  ProposalStore::Counters forgotten_;                                                 // of stores that were forgotten
  Scope tasks_;                                                                       // last: cancelled first
};

}  // namespace proposals

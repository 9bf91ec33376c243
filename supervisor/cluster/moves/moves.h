// Moves: all of moving workspaces between nodes, in one daemon. Made by: supervisor/daemon/, where the configuration
// has the key "cluster". Used by: the same, for D-Bus and for warder-node. Errors of open(): those of the file system,
// and of WorkerThread.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/cluster/moves/home_mover.h"
#include "supervisor/cluster/moves/home_receiver.h"

namespace moves {

class Moves {
 public:
  // The parts of the daemon that it works with. All must outlive the object.
  struct Daemon {
    Loop& loop;
    cluster::Membership& cluster;
    tenants::Registry& registry;
    const policies::Store& policies;
    executions::ExecutionRegistry& executions;
    executions::Sessions& sessions;
    proposals::ProposalStores& proposals;
    tasks::TaskStore& tasks;
    tasks::TaskStore& named;
    workflows::WorkflowDisk& workflows;
    std::function<tenants::VaultKeys(const std::string& tenant)> vault_keys;
    std::function<void(const tenants::TenantId& id)> close;
  };
  // Completes the moves that an earlier daemon began: requests of those workspaces wait from now on.
  static Result<std::unique_ptr<Moves>> open(Daemon daemon);
  Moves(const Moves&) = delete;

  HomeReceiver& receiver() { return receiver_; }
  // `workspace`: the text of a TenantId. `node`: empty: one is chosen. Returns the node. Errors: see HomeMover.
  Task<Result<std::string>> move(std::string workspace, std::string node);
  // `folder`: absolute. Returns the path of the file.
  Task<Result<std::string>> park(std::string workspace, std::string folder);
  // Returns the workspaces of this node, sorted. They stay here: move() them.
  Task<Result<std::vector<std::string>>> set_drained(bool is_drained);

 private:
  Moves(Daemon daemon, std::unique_ptr<WorkerThread> disk);
  Task<> empty_trash(std::vector<std::string> folders);

  cluster::NodeLink& link_;
  MoveFiles files_;
  std::unique_ptr<WorkerThread> disk_;
  MoveRecords records_;
  MoveServices services_;
  HomeMover mover_;
  HomeReceiver receiver_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace moves

// HomeReceiver: takes workspaces of other nodes, and of parked files. For each: check its policy and size -> receive ->
// unpack beside the tenants' folders, whole and on the disk -> claim the home -> put it in place -> serve.
// warder-node has checked that the sender is the home, and that this node may have the account; the claim checks it
// once more. A complete workspace without a claim is claimed by the next daemon, or given up: the record in
// the cluster decides.
// Used by: supervisor/daemon/. Errors: each connection gets its own, and the sender stays the home.
#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "supervisor/cluster/moves/arrival_places.h"
#include "supervisor/cluster/moves/home_mover.h"
#include "supervisor/cluster/moves/move_services.h"
#include "supervisor/cluster/moves/move_stream.h"

namespace moves {

class HomeReceiver {
 public:
  // All must outlive the object. A workspace that leaves is not taken at the same time.
  HomeReceiver(MoveServices& services, const HomeMover& mover)
      : services_(services), mover_(mover), tasks_(services.loop) {}
  HomeReceiver(const HomeReceiver&) = delete;

  // A connection of warder-node, behind its first line. Refused when too many arrive (ArrivalSlots); ended when a part
  // of the workspace does not come in time.
  void take(AsyncFd socket, cluster::Push push);
  // Brings a workspace back from a parked file, an absolute path. Takes up to a minute, and continues if the caller is
  // cancelled. Returns the label. Errors also: denied: its home is alive, or this node has files
  // of the workspace.
  Task<Result<cluster::SnapshotLabel>> restore(std::string file);
  // A workspace that an earlier daemon has received. Its requests are held from this call on.
  void complete(ArrivedHome arrived);

 private:
  Task<> serve(AsyncFd socket, cluster::Push push, std::unique_ptr<ArrivalSlots::ArrivalReservation> location);
  Task<Result<uint64_t>> receive(AsyncFd& socket, cluster::Push push);
  Task<Result<>> read_all(AsyncFd& socket, MoveFiles::Arriving arriving, uint64_t bytes);
  Task<Result<>> stage(MoveFiles::Arriving arriving, MoveFiles::Staging staging);
  Task<Result<ArrivedHome>> prepare_restore(MoveFiles::Parked parked);
  Task<Result<std::vector<std::string>>> contents_of(tenants::TenantId id);
  Task<Result<>> check_replaceable(tenants::TenantId id, bool is_home);
  Task<Result<uint64_t>> claim_and_install(ArrivedHome arrived);
  Task<Result<>> install(ArrivedHome arrived);
  Task<> install_durably(ArrivedHome arrived);
  Task<Result<cluster::SnapshotLabel>> restore_held(std::string file);
  Task<> give_up(std::string folder);
  Task<> complete_reserved(ArrivedHome arrived, cluster::MoveGate::Hold reservation);
  MoveFiles::Staging staging_of(cluster::Push push, const policies::Policy& policy) const;

  MoveServices& services_;
  const HomeMover& mover_;
  std::set<tenants::TenantId> arriving_;  // by a connection of another node
  ArrivalSlots slots_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace moves

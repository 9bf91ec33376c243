// HomeMover: sends workspaces of this node to other nodes. For each:
//   hold its requests (MoveGate) -> settle (home_settling.h) -> note that it leaves -> pack -> send -> the other node
//   claims the home -> its data here is deleted, and its requests go to the other node
// What the other node says is never believed: at the end the home's record is changed or read by fence_home(), which
// decides. While the cluster does not answer, the requests wait.
// Used by: moves.h, supervisor/daemon/. Errors: denied, unavailable: the workspace stays, and works; the text says
// where it is, if it is elsewhere.
#pragma once
#include <map>
#include <set>
#include <string>

#include "supervisor/cluster/moves/move_services.h"

namespace moves {

class HomeMover {
 public:
  // The services must outlive the object.
  explicit HomeMover(MoveServices& services) : services_(services), tasks_(services.loop) {}
  HomeMover(const HomeMover&) = delete;

  // A move continues if the caller is cancelled.
  Task<Result<>> move(tenants::TenantId id, std::string node);
  // Writes the workspace as a file into `folder`; it stays here. Continues, too. Returns the file's name.
  Task<Result<std::string>> park(tenants::TenantId id, std::string folder);
  // A move that an earlier daemon began. Its requests are held from this call on.
  void complete(LeavingHome leaving);
  bool is_leaving(const tenants::TenantId& id) const { return leaving_.contains(id); }

 private:
  Task<Result<std::string>> park_held(tenants::TenantId id, std::string folder);
  struct LeavingMark;
  Task<Result<>> do_move(tenants::TenantId id, std::string node);
  Task<Result<>> move_held(tenants::TenantId id, std::string node);
  Task<Result<cluster::Home>> own_home(tenants::TenantId id);
  Task<Result<PackedHome>> pack(tenants::TenantId id, uint64_t epoch, const policies::Policy& policy,
                                std::string folder, std::string name, std::map<std::string, std::string> vault_keys);
  Task<Result<>> send(const PackedHome& packed, std::string node, cluster::Push push);
  // Decides where the home is, and drops the copy that has no use. True: this node is the home.
  Task<Result<bool>> settle_record(LeavingHome leaving);
  Task<Result<>> drop(tenants::TenantId id);
  Task<> complete_reserved(LeavingHome leaving, cluster::MoveGate::Hold reservation);
  Task<> empty_trash(std::string folder);

  MoveServices& services_;
  std::set<tenants::TenantId> leaving_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace moves

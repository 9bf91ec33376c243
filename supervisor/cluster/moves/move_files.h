// MoveFiles: the disk's side of moving workspaces: the folder tenants/.moves. The home's record in the cluster decides
// which copy counts (../placement/homes.h); these files only say, after a crash, which moves have to be
// completed:
//   leaving.<id>       a workspace that this node sends away: its name and the epoch of its home
//   arriving.<id>/     one that comes: `packed`, the unpacked `tree`, `records.jsonl`; `complete`, written last, with
//                      the order. Without `complete` it is removed at the start
//   trash.<id>/        folders that are being deleted
// All functions but begin() belong on a worker thread. Used by: home_mover.h, home_receiver.h. Errors: those of the
// file system and of ../snapshot/.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "policies/quota_rules.h"
#include "policies/tenant_id.h"
#include "supervisor/base/fd.h"
#include "supervisor/cluster/link/node_messages.h"
#include "supervisor/cluster/snapshot/packed_file.h"
#include "supervisor/cluster/snapshot/snapshot.h"
#include "supervisor/tenants/master_key.h"

namespace moves {

// A home whose move away was begun.
struct LeavingHome {
  std::string file;  // leaving.<id>
  tenants::TenantId id;
  uint64_t epoch = 0;
};
// A home whose files have all come, and that is not placed yet.
struct ArrivedHome {
  std::string folder;  // arriving.<id>
  cluster::Push push;
  bool is_restored = false;  // from a parked file: the home is claimed after its lease
};
struct LeftMoves {
  std::vector<LeavingHome> leaving;
  std::vector<ArrivedHome> arrived;
  std::vector<std::string> trash;  // to be deleted: empty_trash()
};

// The packed file of a snapshot on its way out. Without a name: it is gone with its descriptor.
struct PackedHome {
  std::shared_ptr<Fd> file;
  cluster::PackedSnapshot about;
  bool has_vault = false;
};

// The quotas of a policy as the limits of a snapshot.
cluster::UnpackLimits unpack_limits(const policies::QuotaRules& quota);

class MoveFiles {
 public:
  using Stop = cluster::StopRequested;
  // `tenants`: the folder of all tenants (O_PATH is enough), which must stay open.
  explicit MoveFiles(int tenants) : tenants_(tenants) {}

  // What an earlier daemon has left. For the start: it waits for the disk only to read some small files.
  Result<LeftMoves> begin() const;

  // Durable when it returns.
  Result<LeavingHome> mark_leaving(const tenants::TenantId& id, uint64_t epoch) const;
  Result<> unmark_leaving(const LeavingHome& leaving) const;
  // `to`: an absolute folder for the file, with the name `name`; empty: a file without a name.
  Result<PackedHome> pack(const tenants::TenantId& id, cluster::SnapshotLabel label, std::string records,
                          const std::string& to, const std::string& name, const Stop& stop) const;
  // Takes the workspace's data out of its folder, in one step for a named workspace. Returns the folder in the trash.
  Result<std::string> set_aside(const tenants::TenantId& id) const;

  // Makes arriving.<id>, and the file for the packed snapshot in it.
  struct Arriving {
    std::string folder;
    std::shared_ptr<Fd> packed;
    std::shared_ptr<cluster::RunningDigest> digest;
  };
  Result<Arriving> begin_arriving() const;
  // For a parked file, an absolute path, and its label.
  struct Parked {
    Arriving arriving;
    cluster::SnapshotLabel label;
  };
  Result<Parked> open_parked(const std::string& file) const;
  // The kinds of data that the workspace has here, in words: "files", "skills". Kept output of ended executions does
  // not count, as install() keeps it. Empty: a snapshot may take its place.
  Result<std::vector<std::string>> contents(const tenants::TenantId& id) const;
  // The workspace's folder below that of all tenants: "ada/workspaces/reports".
  static std::string folder_name(const tenants::TenantId& id);
  static Result<> add(const Arriving& arriving, std::string_view bytes);
  struct Staging {
    cluster::Push push;
    std::string sha256;  // of the packed file; empty: it is a parked file
    cluster::UnpackLimits limits;
    tenants::VaultKeys::Key from_seal;  // of the vault, as it comes
    tenants::VaultKeys::Key own_seal;   // and as it is stored here
    bool has_vault = false;             // from_seal is known; otherwise a snapshot with a vault is refused
  };
  // Checks the digest and the label, unpacks, and makes the tree durable: it can be placed, also by a later daemon.
  Result<> stage(const Arriving& arriving, const Staging& staging, const Stop& stop) const;
  // Puts the staged tree into the workspace's folder, and the former contents into arriving.<id>/old, except kept
  // output of executions that the tree has not. May be called again after it was interrupted. Returns the records.
  Result<std::string> install(const ArrivedHome& arrived) const;
  // The tree is placed, or not wanted: a later daemon does not complete this move. Returns the folder in the trash.
  Result<std::string> give_up(const std::string& folder) const;

  // Deletes a folder in the trash.
  Result<> empty_trash(const std::string& folder, const Stop& stop) const;

 private:
  Result<Fd> folder() const;
  Result<std::string> new_trash() const;
  Result<> reseal_vault(int tree, const Staging& staging) const;

  const int tenants_;
};

}  // namespace moves

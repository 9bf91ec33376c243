// JailerStart and JailerFolder: what the daemon tells the jailer when it starts it. Plain data with descriptors, as
// orders (jail/orders.h), and on the same socket. Afterwards only orders come. Source:
// jail/jailer_client/jailer_start.cc. Used by: jail/jailer/main.cc.
#pragma once
#include <cstdint>
#include <type_traits>

namespace jail {

// The number of the jailer's socket in the program warder-jailer.
constexpr int kJailerSocketFd = 3;
constexpr uint32_t kJailerVersion = 1;
constexpr uint32_t kMaxJailerFolders = 4096;

// The first message. Descriptors: the template, warder-jail-init [, the parent cgroup of jails].
struct JailerStart {
  uint32_t version;     // kJailerVersion: both programs are of one build
  uint32_t privileged;  // 1: root started the daemon, 0: an ordinary user
  uint32_t first_id;    // the range of host ids for jails (jail/id_range.h)
  uint32_t id_count;
  uint32_t daemon_uid;  // the daemon's ids after it drops root
  uint32_t daemon_gid;
  uint32_t has_cgroup;    // 1: jails have cgroups
  uint32_t folder_count;  // the number of JailerFolder messages that follow
  uint32_t for_journal;   // 1: log lines begin with their level (sd-daemon(3)), 0: with the time
};
static_assert(std::is_trivially_copyable_v<JailerStart> && std::is_standard_layout_v<JailerStart>);

enum class FolderUse : uint32_t {
  workspace_parent = 1,  // jails may see the daemon's folders below it
  single = 2,            // jails may see this folder
};

// Descriptor: the folder (O_PATH).
struct JailerFolder {
  FolderUse use;
};
static_assert(std::is_trivially_copyable_v<JailerFolder> && std::is_standard_layout_v<JailerFolder>);

}  // namespace jail

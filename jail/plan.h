// Plan: all facts that the inside of a jail needs while it is built, as plain data in a sealed memfd.
// Source: jail/sealed_plan.cc, complete and checked. Used by: jail/init/, step by step, in the order of Step.
// It crosses a privilege boundary and an exec: no pointers, no owners, no virtuals.
// Errors: a plan with another version or size fails the step read_plan, and the jail is not built.
#pragma once
#include <linux/filter.h>

#include <cstdint>
#include <type_traits>

namespace jail {

// The steps of building a jail, in order. InitReport names the first step that fails.
enum class Step : uint16_t {
  none,
  // between clone3 and exec (jail/spawn.cc)
  wait_for_ids,  // the jailer writes uid_map and gid_map
  become_root,   // setresuid 0 of the new user namespace
  place_fds,     // stdio, guest, control and plan on their fixed numbers
  exec_init,
  // jail-init (jail/init/)
  read_plan,
  parent_death,      // PR_SET_PDEATHSIG, set again after the exec and the change of ids
  cgroup_namespace,  // unshare(CLONE_NEWCGROUP) from inside the leaf, so that the leaf is "/"
  private_mounts,
  root_overlay,
  usr_overlay,
  devices,
  temporary_files,  // /tmp, /home/agent, /dev/shm; in a zygote's home: the template at /run
  proc,
  forbid_namespaces,  // user.max_user_namespaces, so that jailed code cannot get capabilities in a new user namespace
  hostname,
  loopback,
  proc_entries,  // the kernel's, hidden or covered by files of ours
  pivot,
  fork_runner,
  // the runner, between fork and exec of the interpreter
  runner_session,
  runner_limits,
  runner_descriptors,
  runner_bounding_set,
  runner_securebits,
  runner_ids,
  runner_capabilities,
  runner_no_new_privileges,
  runner_landlock,
  runner_seccomp,
  runner_exec,
  // jail-init again
  init_lock,  // init gives up its capabilities and filters its own system calls
  // the jailer, at dispatch
  attach_workspace,
  stage_workspace,  // an overlay over the workspace
  listen,           // the listener of the egress proxy
  count,
};
constexpr int kSteps = static_cast<int>(Step::count);

constexpr const char* step_name(Step step) {
  constexpr const char* kNames[kSteps] = {"none",
                                          "wait_for_ids",
                                          "become_root",
                                          "place_fds",
                                          "exec_init",
                                          "read_plan",
                                          "parent_death",
                                          "cgroup_namespace",
                                          "private_mounts",
                                          "root_overlay",
                                          "usr_overlay",
                                          "devices",
                                          "temporary_files",
                                          "proc",
                                          "forbid_namespaces",
                                          "hostname",
                                          "loopback",
                                          "proc_entries",
                                          "pivot",
                                          "fork_runner",
                                          "runner_session",
                                          "runner_limits",
                                          "runner_descriptors",
                                          "runner_bounding_set",
                                          "runner_securebits",
                                          "runner_ids",
                                          "runner_capabilities",
                                          "runner_no_new_privileges",
                                          "runner_landlock",
                                          "runner_seccomp",
                                          "runner_exec",
                                          "init_lock",
                                          "attach_workspace",
                                          "stage_workspace",
                                          "listen"};
  return step < Step::count ? kNames[static_cast<int>(step)] : "unknown";
}

// Descriptors of jail-init. The runner keeps 0 to 3 only.
constexpr int kGuestFd = 3;       // SOCK_SEQPACKET to the daemon: the guest protocol
constexpr int kControlFd = 4;     // SOCK_SEQPACKET to the daemon: InitReport
constexpr int kPlanFd = 5;        // sealed memfd: Plan
constexpr int kStartFd = 6;       // forked: the runner waits for a byte here, until the root is built
constexpr int kForkedRunner = 2;  // forked: the runner's pid, the first after init's

// Ids inside the jail.
constexpr uint32_t kInitId = 0;
constexpr uint32_t kRunnerId = 1000;

// What /proc of a jail shows besides the jail's own processes.
enum class ProcView : uint16_t {
  none,       // the jail is not built yet, or is the home of a zygote
  machine,    // files of ours about the machine (jail/machine_files.h)
  processes,  // nothing: the kernel did not let init hide its other entries
};

// How the ids inside a jail relate to host ids.
enum class Identity : uint32_t {
  separated,  // init and runner are different host ids, neither the daemon's: uid_map "0 A 1", "1000 B 1"
  shared,     // one host id (rootless): uid_map "0 U 1", the runner in a nested namespace "1000 0 1"
};
enum class RootMode : uint32_t {
  overlay,  // an overlayfs instance of this jail's own: locks and watches of its files reach no other jail
  bind,     // read-only bind mounts, where the kernel cannot mount overlayfs in a user namespace
};

// What the new process 1 builds in its namespaces.
enum class Role : uint32_t {
  jail,    // a whole jail; it forks and execs the runner
  forked,  // a whole jail, whose runner is a fork of a zygote and waits on kStartFd
  zygote,  // the home of a zygote: a small root, power over its own namespaces only, from which jails are forked
};

struct ResourceLimit {
  uint32_t resource;  // RLIMIT_*
  uint32_t reserved;
  uint64_t soft, hard;
};

constexpr uint32_t kPlanVersion = 7;
constexpr int kMaxResourceLimits = 16;
constexpr int kMaxArguments = 64;
constexpr int kMaxEnvironment = 64;
constexpr int kMaxStrings = 16 * 1024;
constexpr int kMaxFilter = 4096;  // BPF_MAXINSNS
constexpr int kMaxLayers = 8;     // package layers of one jail

// The hash of a package layer's manifest. Init makes the name of the layer's folder from it, so a plan holds no path.
struct LayerHash {
  uint8_t bytes[32];
};

struct Plan {
  uint32_t version;
  Role role;
  Identity identity;
  RootMode root;
  uint32_t landlock_required;   // 0: if the kernel has no Landlock, continue without it and report that
  uint32_t memory_uncounted;    // no cgroup counts memory: /dev/zero cannot be mapped, TCP buffers stay small
  uint32_t shows_network;       // the self-test: init sends InitEvent::network
  uint32_t shown_processors;    // in /proc/cpuinfo and /proc/stat
  uint64_t shown_memory_bytes;  // in /proc/meminfo
  uint64_t tmp_bytes;           // each of /tmp, /home/agent and /dev/shm
  uint32_t tmp_files;           // inodes of each
  uint32_t resource_limit_count;
  ResourceLimit resource_limits[kMaxResourceLimits];
  uint32_t seccomp_flags;  // SECCOMP_FILTER_FLAG_LOG for audit profiles
  uint32_t filter_length;
  sock_filter filter[kMaxFilter];
  uint32_t argument_count, environment_count;
  uint32_t arguments[kMaxArguments];      // offsets into strings
  uint32_t environment[kMaxEnvironment];  // offsets into strings
  char strings[kMaxStrings];              // NUL-terminated, one after the other
  uint32_t layer_count, layers_reserved;
  LayerHash layers[kMaxLayers];  // in the order of their precedence, each once
};
static_assert(std::is_trivially_copyable_v<Plan> && std::is_standard_layout_v<Plan>);

// The namespaces of a jail, in the order of InitReport::namespaces; names as below /proc/PID/ns.
constexpr const char* kNamespaces[] = {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"};
constexpr int kNamespaceCount = 7;
// In place of a number: the steps of the jail have shown that the namespace is its own. The kernel's numbers are
// larger.
constexpr uint32_t kOwnNamespace = 1;

enum class InitEvent : uint32_t { failed = 1, built = 2, exited = 3, network = 4 };

// Processes beside the runner exist; the kernel does not report their number.
constexpr uint32_t kOthersUncounted = UINT32_MAX;

// InitReport: one message of jail-init to the daemon. The daemon trusts neither its size nor its numbers.
struct InitReport {
  InitEvent event;
  Step step;      // failed: the step that failed
  ProcView proc;  // built
  // failed: errno, positive. network: errno of the socket, or 0; the message then carries the socket, as a descriptor.
  int32_t error;
  int32_t proc_error;  // built: why `proc` is `processes`, errno, positive
  uint32_t reserved;
  int32_t landlock_abi;         // built: 0 when the kernel has none
  int32_t wait_status;          // exited: of the runner, as wait(2) encodes it
  uint32_t others;              // exited: children of init at that moment, which end with it; kOthersUncounted: some
  uint64_t user_us, system_us;  // exited: of all reaped processes of the jail, microseconds
  uint64_t max_rss_bytes;       // exited: the largest single process
  uint32_t namespaces[kNamespaceCount];  // built: inode numbers, for comparison with the daemon's; or kOwnNamespace
  uint32_t step_us[kSteps];              // built: duration of each step, microseconds
};
static_assert(std::is_trivially_copyable_v<InitReport> && std::is_standard_layout_v<InitReport>);

}  // namespace jail

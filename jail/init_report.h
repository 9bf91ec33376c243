// InitReport: what jail-init tells the daemon about the jail that it builds, with the Step that failed, as plain data.
// Source: jail/init/. Used by: jail/jail.h, and the sources that explain a failed step. It crosses a privilege
// boundary: no pointers, no owners, no virtuals. No errors.
#pragma once
#include <cstdint>
#include <type_traits>

namespace jail {

// The steps of building a jail, in order. InitReport names the first step that fails.
enum class Step : uint16_t {
  none,
  // between clone3 and exec (jail/spawn.cc)
  wait_for_ids,  // the jailer writes uid_map and gid_map
  become_root,   // setresuid 0 of the new user namespace
  install_fds,   // stdio, guest, control and plan on their fixed numbers
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

// What /proc of a jail shows besides the jail's own processes.
enum class ProcView : uint16_t {
  none,       // the jail is not built yet, or is the home of a zygote
  machine,    // files of ours about the machine (jail/machine_files.h)
  processes,  // nothing: the kernel did not let init hide its other entries
};

// The namespaces of a jail, in the order of InitReport::namespaces; names as below /proc/PID/ns.
constexpr const char* kNamespaces[] = {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"};
constexpr int kNamespaceCount = 7;
// In place of a number: the steps of the jail have shown that the namespace is its own. The kernel's numbers are
// larger.
constexpr uint32_t kOwnNamespace = 1;

enum class InitEvent : uint32_t { failed = 1, built = 2, exited = 3, network = 4 };

// Processes beside the runner exist; the kernel does not report their number.
constexpr uint32_t kUncounted = UINT32_MAX;

// InitReport: one message of jail-init to the daemon. The daemon trusts neither its size nor its numbers.
struct InitReport {
  InitEvent event;
  Step step;      // failed: the step that failed
  ProcView proc;  // built
  // failed: errno, positive. network: errno of the socket, or 0; the message then carries the socket, as a descriptor.
  int32_t error;
  int32_t proc_error;  // built: why `proc` is `processes`, errno, positive
  uint32_t reserved;
  int32_t landlock_abi;  // built: 0 when the kernel has none
  int32_t wait_status;   // exited: of the runner, as wait(2) encodes it
  uint32_t
      remaining_processes;      // exited: children of init at that moment, which end with it; kRemainderUncounted: some
  uint64_t user_us, system_us;  // exited: of all reaped processes of the jail, microseconds
  uint64_t max_rss_bytes;       // exited: the largest single process
  uint32_t namespaces[kNamespaceCount];  // built: inode numbers, for comparison with the daemon's; or kOwnNamespace
  uint32_t step_us[kSteps];              // built: duration of each step, microseconds
};
static_assert(std::is_trivially_copyable_v<InitReport> && std::is_standard_layout_v<InitReport>);

}  // namespace jail

// System calls that no process of a jail makes, whichever profile a policy names: they load code into the kernel,
// bypass filters, or belong to the machine. A profile that allows one of them is refused. Init's own filter
// (jail/init/fixed_filter.h) refuses them, too, because a daemon under an attacker's control chooses the plan.
// Source: syscalls(2). Used by: policies/seccomp.cc, jail/init/fixed_filter.cc.
#pragma once
#include <sys/syscall.h>

#include <algorithm>
#include <iterator>

namespace policies {

// Answered with ENOSYS: programs continue without them.
constexpr unsigned kForbiddenMissingCalls[] = {
    SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,  // its operations bypass every filter
    SYS_clone3,                                                     // takes its flags in memory
    SYS_userfaultfd,    SYS_keyctl,         SYS_add_key,           SYS_request_key, SYS_quotactl, SYS_quotactl_fd,
};

// Answered with EPERM.
constexpr unsigned kForbiddenCalls[] = {
    SYS_bpf,
    SYS_perf_event_open,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_syslog,
    SYS_open_by_handle_at,
    SYS_fanotify_init,
    SYS_clock_settime,
    SYS_settimeofday,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_setns,
    SYS_chroot,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
#ifdef SYS_iopl  // ports, of x86 only
    SYS_iopl,
    SYS_ioperm,
#endif
};

// Calls that build a jail. Init makes them, and so do the processes of a zygote's home, from which jails are forked;
// the code of a jail never does. Answered with EPERM.
constexpr unsigned kJailBuildingCalls[] = {
    SYS_mount,         SYS_umount2,     SYS_pivot_root,    SYS_move_mount, SYS_open_tree,
    SYS_mount_setattr, SYS_sethostname, SYS_setdomainname, SYS_unshare,
};

constexpr bool is_forbidden_call(unsigned call) {
  auto has = [call](const auto& list) { return std::find(std::begin(list), std::end(list), call) != std::end(list); };
  return has(kForbiddenMissingCalls) || has(kForbiddenCalls) || has(kJailBuildingCalls);
}

}  // namespace policies

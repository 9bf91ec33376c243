// A child of the jailer inside the namespaces of a jail: how it enters them, and how it ends. A process with
// capabilities in such a user namespace could otherwise trace the child or copy descriptors out of it (ptrace(2),
// pidfd_getfd(2)).
// Used by: jail/jailer/listener.cc, jail/jailer/staged_mount.cc.
#pragma once

namespace jail {

// Makes the calling process non-dumpable and end with the jailer, then moves it into the namespaces of `init` (a pidfd)
// that `namespaces` names (CLONE_NEW*). A non-dumpable process can only be traced with CAP_SYS_PTRACE in the user
// namespace that its program was started in (ptrace(2)). Returns 0 or a positive errno.
int enter_jail(int init, int namespaces);
// Does the first two of these again. For a process that has changed its ids, which clears both settings (prctl(2)).
// Returns 0 or a positive errno.
int guard_child();

// Ends the calling process. It gives up its memory before its descriptors, and a process without memory counts as
// dumpable. So all descriptors are closed first. A descriptor table that it shares with the jailer stays as it is.
[[noreturn]] void end_in_jail();

}  // namespace jail

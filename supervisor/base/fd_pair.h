// FdPair: both ends of a pipe or of a pair of sockets between the daemon and a process that it starts. All descriptors
// have FD_CLOEXEC, and `ours` does not block. Used by: jail/jail.cc, supervisor/upstream/host_process.cc.
// Errors: `code`, from pipe2(2) and socketpair(2): the process or the machine has no more descriptors.
#pragma once
#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

struct FdPair {
  Fd ours, theirs;
};

// A pipe from the process to the daemon: `ours` is the end for reading.
Result<FdPair> make_pipe(Code code);
// A pair of Unix sockets. `type`: SOCK_STREAM or SOCK_SEQPACKET.
Result<FdPair> make_sockets(int type, Code code);

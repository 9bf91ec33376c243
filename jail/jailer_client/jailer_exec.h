// exec_jailer(): clone, and the few raw system calls until a child of the daemon execs warder-jailer. The child's calls
// are listed in tests/lint/child_symbols.py. Source: clone(2), execveat(2), capabilities(7). Used by:
// jail/jailer_client/jailer_start.cc.
#pragma once

namespace jail {

struct JailerExec {
  int program;  // warder-jailer, open for reading
  int socket;   // the jailer's end; becomes kJailerSocketFd
  // The child's capabilities stay after the exec (ambient capabilities). Needed where its user is not root, in a user
  // namespace in which it has all capabilities.
  bool keeps_capabilities;
  int error;  // of the child
};
constexpr unsigned long kJailerStackBytes = 64 << 10;

// Returns 0 after the exec, or a positive errno: then no child is left. The program inherits descriptors 0, 1, 2 and
// its socket, and no environment. `stack`: kJailerStackBytes, for the child, which uses the caller's memory until its
// exec; the caller waits for that.
int exec_jailer(JailerExec jailer_exec, void* stack);

}  // namespace jail

// read_configuration(): reads the configuration and the policies again while the daemon serves: on another thread,
// because files wait for a disk, a changed profile of system calls is compiled for a tenth of a second and more, and
// names of users may come over a network.
// Used by: reload.cc, self_examination.cc.
#pragma once
#include "supervisor/base/task.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/daemon/configuration/in_force.h"
#include "supervisor/daemon/configuration/start_view.h"

struct ReadConfiguration {
  configuration::LoadedConfiguration loaded;
  std::string request;  // the word of `warderd --reload` that waits for the answer; empty: absent (reload_exchange.h)
};

// Reads with the invocation of the start, and tries the next start (configuration/trial.h) inside the unit's sandbox;
// `sockets`: the daemon's sockets; `current` does not change, and the task has a copy of it. All calls must use
// the same `thread`: libseccomp, getpwnam(3) and getgrnam(3) are not made for two threads at once, and the loop's
// thread uses them only before it serves. The problems hold those of check_open_files(), too.
// Errors: only those of the thread.
Task<Result<std::shared_ptr<ReadConfiguration>>> read_configuration(WorkerThread& thread,
                                                                    const configuration::Invocation& invocation,
                                                                    const policies::Store& current,
                                                                    const std::string& state,
                                                                    const configuration::HeldSockets& sockets);

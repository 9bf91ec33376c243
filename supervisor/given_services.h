// Given services: what the daemon has before it opens its parts, each a service that a part can ask for (parts.h).
// Beside these it gives Loop, Work, jail::Host, policies::Store, tenants::MasterKey, skills::Shared,
// Options, DaemonControls, and for its own parts Prepared. Source: main.cc, Daemon.
#pragma once
#include <memory>
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/base/worker_thread.h"

// The state folder, and its folders that belong to the daemon.
struct StateFolder {
  std::string path;  // absolute
  int tenants = -1;  // the state folder itself, below which tenants/ is; borrowed
  int servers = -1;  // of upstream servers: their definitions, and files that all tenants share; borrowed
  Fd stubs = {};     // the template's folder for stubs; its part takes it
};

// The threads that wait for the disk of the state folder. Source: threads_part.cc of the daemon.
struct StateThreads {
  std::unique_ptr<WorkerThread> vaults;  // personal data's tokens
  std::unique_ptr<WorkerThread> disk;    // skills, logins, and looks at the disk itself
  std::unique_ptr<WorkerThread> files;   // policies, configuration, commits
};

// The last reload.
struct ReloadState {
  std::string problem;  // empty: it succeeded, or there was none
};

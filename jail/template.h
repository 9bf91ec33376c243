// The template: the read-only tree that every jail's root is mounted from, written once at start-up.
//   root/   what jails see below / (etc, mount points, /warder with the guest programs)
//   empty/  the second lower directory that makes the overlays read-only
//   warder-jail-init   process 1 of every jail
//   servers/  what a program of a tool's may be called with: `current` is what jails built from now on see as /servers.
//           The daemon's, which makes it of its catalogue; may be empty
//   mount/  where a jail, in its own mount namespace, mounts its new root
// Source: the host's merged-usr links and alternatives, its files that host_files.h lists; our guest folder. Applied
// by: jail/init/root.cc.
#pragma once
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace jail {

// Makes `directory` (absolute) anew and returns it open (O_PATH). World-readable, no secrets inside.
// `guest`: the folder of guest programs (python/, javascript/, shell/). `skills`: what jails find below /skills; empty:
// nothing. Errors: internal, naming the path;
// unavailable when the host is not merged-usr (/bin is not a link to usr/bin) or a guest program is missing, naming it.
Result<Fd> make_template(const std::string& directory, const std::string& guest, const std::string& skills = {});
// Puts the program warder-jail-init into the template, and returns it open for reading. Errors: unavailable.
Result<Fd> add_init(const std::string& directory, const std::string& program);

}  // namespace jail

// The template: the read-only tree that every jail's root is mounted from, written once at start-up.
//   root/   what jails see below / (etc, mount points, /warder with the guest programs)
//   empty/  the second lower directory, which makes the overlays read-only
//   warder-jail-init   the program of process 1 in every jail
//   servers/  stubs of upstream tools: jails that are built from now on see the folder that the link `current` names
//           as /servers. The daemon writes it from its catalog; it may be empty
//   usr/, layers/  empty: where a zygote's home mounts /usr and the package layers for the zygote's jails
//   mount/  where a jail, in its own mount namespace, mounts its new root
// Source: the host's merged-usr links and alternatives, the files that host_files.h lists, our guest folder. Used by:
// supervisor/main.cc, which makes it; jail/init/root.cc, which mounts it.
#pragma once
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace jail {

// Deletes and rewrites `directory` (absolute), and returns it open (O_PATH). World-readable, no secrets inside.
// `guest`: the folder of guest programs (python/, javascript/, shell/). `skills`: the content of /skills in jails;
// empty: no skills. Errors: internal, naming the path; unavailable when the host is not merged-usr (/bin is not a link
// to usr/bin) or a guest program is missing, naming it.
Result<Fd> make_template(const std::string& directory, const std::string& guest, const std::string& skills = {});
// Copies the program warder-jail-init into the template, and returns it open for reading. Errors: unavailable.
Result<Fd> add_init(const std::string& directory, const std::string& program);

}  // namespace jail

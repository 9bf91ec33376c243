#include "supervisor/programs/cli/admin/command_rows.h"

namespace admin {

std::vector<Command> layer_commands() {
  static const Flag kLayerState{"--state", "DIR", "The state folder of the daemon; default: /var/lib/warder"};
  static const char* const kLayerNames = "Names of layers, as warder layer list prints them";
  return {
      {"layer build",
       "NAME",
       "The name of the layer: 1 to 64 of a-z, 0-9, '-', '_' and '.'",
       "Build a package layer, which policies name with the key \"layers\": a read-only tree of packages in /usr of "
       "jails. Packages are only unpacked, as a user without rights; no script of a package runs. A layer of that name "
       "is replaced, and running jails keep the older one. For root",
       {{"--deb", "PACKAGE,...",
         "Debian packages with all that they need and this machine lacks, by apt-get from this machine's sources; or "
         "files, as ./FILE.deb",
         Times::any},
        {"--wheels", "DIR", "All wheels (.whl) in this folder"},
        {"--requirements", "FILE",
         "A requirements.txt; pip fetches the wheels, also of their dependencies. Packages without a wheel are "
         "refused"},
        {"--index", "URL", "The index of Python packages for --requirements, for example https://pypi.org/simple"},
        {"--npm", "FILE", "A package.json, which npm installs without scripts; or a .tgz file of npm pack", Times::any},
        {"--registry", "URL", "The registry for --npm; default: npm's own"},
        kLayerState},
       DaemonCall::none},
      {"layer list",
       nullptr,
       nullptr,
       "List the layers of this machine: name, version, size, contents",
       {kLayerState},
       DaemonCall::none},
      {"layer verify",
       "[NAME...]",
       kLayerNames,
       "Read all files of layers, and compare them with the build. Exit status: 1 if one was changed",
       {kLayerState},
       DaemonCall::none},
      {"layer remove",
       "NAME...",
       kLayerNames,
       "Remove layers. One that a running daemon's policy names, or that a jail still has, stays. For root",
       {kLayerState},
       DaemonCall::none},
  };
}

}  // namespace admin

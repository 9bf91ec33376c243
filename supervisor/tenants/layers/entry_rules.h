// The rules for what a package layer may hold. Packages come from strangers. The error names a refused file, and no
// part of the layer is built.
// Used by: manifest.cc, tree_scan.cc, layer_store.cc. Errors: invalid: "'lib/x.pth' is refused: ..." and a remedy.
#pragma once
#include <string_view>

#include "supervisor/base/result.h"
#include "supervisor/tenants/layers/manifest.h"

namespace layers {

// Checks path, kind, mode and target of one entry, without the disk. Refused are: names outside of /usr, links that
// lead out of /usr, modes that give rights (set-id) or that no jail can read, files that Python or the dynamic linker
// would run or prefer without being asked for (sitecustomize, .pth, ._pth, pyvenv.cfg, lib/python311.zip, glibc-hwcaps,
// lib/tls and the like), folders that come before those of
// /usr in a search path (local/), and the names of Warder's own modules.
Result<> check_entry(const LayerEntry& entry);

// Checks the layer against the machine's own /usr: no file of the layer is there already, no file is where /usr has a
// folder, no Python module has a name that /usr has, and each compiled module has its source in the layer. `usr`:
// descriptor of /usr.
Result<> check_against_usr(const Manifest& manifest, int usr);

// The name of the module that a path is part of, if it is at the top of a folder that Python searches: "six" for
// "lib/python3/dist-packages/six.py" and "numpy" for all files below ".../numpy/". Empty for other paths.
std::string_view python_module_of(std::string_view path);
// The same for packages of node: "@scope/name" for "share/warder/node_modules/@scope/name/index.js".
std::string_view node_module_of(std::string_view path);

// Where the builder puts packages, relative to /usr. Every jail's /node_modules is a link to kNodeModules.
inline constexpr char kPythonPackages[] = "lib/python3/dist-packages";
inline constexpr char kNodeModules[] = "share/warder/node_modules";

}  // namespace layers

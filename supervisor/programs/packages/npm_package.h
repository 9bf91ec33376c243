// NpmPackage: a package of npm, fetched or unpacked in a scratch folder, and then copied to a folder that jails see.
// Source: npm's registry, by npm itself without privileges and without scripts of packages (confined_run.h); a .tgz
// file; or a folder of this machine. Used by: `warder servers install`; the layers of jails will use it, too. Errors:
// invalid: the name, the file or the package; unavailable: npm is missing or failed; exhausted, denied: see
// tree_copy.h.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"
#include "supervisor/programs/packages/scratch_folder.h"
#include "supervisor/programs/packages/tree_copy.h"

namespace packages {

struct PackageName {
  std::string name;     // "@scope/name" or "name"
  std::string version;  // a version, range or tag; empty: the newest
  std::string base() const { return name.substr(name.rfind('/') + 1); }
};
// "npm:@scope/name@1.2.3". Errors: invalid.
Result<PackageName> parse_package(std::string_view text);

// A tree that can be copied now: in a folder of its own, which is removed with this object.
class FetchedPackage {
 public:
  std::string root;     // the folder to copy, absolute
  std::string package;  // the folder of the package below `root`, relative: "node_modules/@scope/name", "."
  std::string name, version;
  std::string integrity;  // "sha512-..." of the package, as npm has checked it; empty: from a file or folder
  size_t dependencies = 0;

 private:
  friend Result<FetchedPackage> scratch_package();
  friend Result<FetchedPackage> package_in(const std::string& folder);
  ScratchFolder scratch_;
  Fd folder_;  // of package_in()
};

// Downloads the package and its dependencies. npm checks each one against the registry's hash; a dependency without a
// hash (from git or a URL) is refused. `registry`: empty: npm's own. Needs root.
Result<FetchedPackage> fetch_package(const PackageName& package, const std::string& registry);
// Unpacks a .tgz file: of `npm pack`, or of a folder in which `npm install` was run. `package`: its name in that
// folder. Needs root.
Result<FetchedPackage> unpack_package(const std::string& file, const PackageName& package);
// A folder of this machine as it is. Needs no root. Errors: denied: its path has a symbolic link.
Result<FetchedPackage> package_in(const std::string& folder);

// The words that start a package's program: {"/usr/bin/node", "/usr/local/lib/.../index.js"}. `installed`: the folder
// that the root was copied to. `program`: relative to the package; empty: as its package.json says. Errors: invalid: it
// has no program of that name, or no interpreter is known for it.
Result<std::vector<std::string>> start_words(const FetchedPackage& package, const std::string& installed,
                                             const std::string& program);

enum class ExistingPackage { refuse, replace };
struct InstalledPackagePath {
  std::string folder;                               // absolute, below /usr
  ExistingPackage other = ExistingPackage::refuse;  // about another package in that place
};
// InstalledPackage: a package in its place. Until keep(), the destructor undoes the installation: it puts the older
// package back, or removes the new one.
class InstalledPackage {
 public:
  InstalledPackage(InstalledPackage&& other) noexcept;
  InstalledPackage& operator=(InstalledPackage&& other) = delete;
  ~InstalledPackage();

  const std::string& folder() const { return folder_; }
  const CopiedTree& copied() const { return copied_; }
  bool replaced() const { return !former_.empty(); }
  // The same package was there already, unchanged.
  bool is_shared() const { return is_shared_; }
  // The package stays; the older one is removed.
  void keep();

 private:
  friend class PackageInstallation;
  InstalledPackage() = default;
  std::string folder_, former_;  // `former_`: the replaced package, in a folder beside the place
  CopiedTree copied_;
  bool is_shared_ = false, is_saved_ = true;
};
// Copies the package to the first of the places that is free, has the same package already, or may be replaced; in one
// step, as files that all users may read and only root may write. Errors: invalid: jails do not see the place; other
// packages are in all places.
Result<InstalledPackage> install_package(const FetchedPackage& package,
                                         const std::vector<InstalledPackagePath>& positions);

}  // namespace packages

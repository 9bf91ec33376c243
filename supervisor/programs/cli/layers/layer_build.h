// LayerBuild: packages from files, from apt, pip and npm, unpacked into one tree for a layer. Each program that reads
// a package or a network runs as a user without rights, in new namespaces (../../packages/confined_run.h).
// Used by: layers.cc, as root. Errors: invalid: a package that is refused, by name; not_found: a file or package;
// unavailable: apt-get, pip or npm is missing or failed, with its last lines; exhausted: too large.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"
#include "supervisor/programs/packages/scratch_folder.h"

namespace admin {

class LayerBuild {
 public:
  static Result<LayerBuild> begin();

  // Each adds archives.
  Result<> add_file(const std::string& path);  // .deb, .whl or .tgz
  Result<> add_wheels(const std::string& folder);
  Result<> add_debs(const std::vector<std::string>& packages);
  Result<> add_requirements(const std::string& file, const std::string& index);
  Result<> add_npm(const std::string& file, const std::string& registry);

  // Unpacks all archives, and compiles Python modules. The tree, open for reading, is the layer's part of /usr.
  // Compilers and headers that the command line does not name are left out (Debian's sections devel and libdevel).
  struct Unpacked {
    Fd tree;
    std::string notes;  // lines about parts that were left out
  };
  Result<Unpacked> unpack() const;
  // The names of the archives, sorted; after unpack(), of those that are in the tree: "python3-six_1.16.0-4_all.deb".
  Result<std::vector<std::string>> archives() const;

 private:
  LayerBuild() = default;
  Result<> put(const std::string& path, const std::string& folder, const std::string& name) const;
  Result<Fd> archive_folder() const;
  Result<> make_folder(const std::string& path) const;

  packages::ScratchFolder scratch_;
  std::string work_, in_;           // folders, each in the one before
  std::vector<std::string> named_;  // Debian packages and files of the command line
};

}  // namespace admin

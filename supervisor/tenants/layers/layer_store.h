// LayerStore: the package layers of this machine, on disk.
//   STATE/layers/names/NAME.json   the present version of NAME, and its modules
//   STATE/layers/HASH/             one version: tree/ (its part of /usr), manifest.json, fingerprint
// All files belong to root and are readable by all: layers hold public packages, no secrets. A version never changes:
// another build makes another HASH.
// Source: `warder layer build`. Used by: warderd when it reads its policies (layer_lookup.h), `warder layer`.
// All functions wait for the disk. Errors: not_found; invalid: a changed or damaged layer, by the name of the first
// file; exhausted: the layer is in use; those of the system.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "policies/package_layer.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"
#include "supervisor/tenants/layers/manifest.h"
#include "supervisor/tenants/layers/offers.h"

namespace layers {

// NamedLayer: a name, and the version that it has now.
struct NamedLayer {
  std::string name, hash;
  std::string python;                // as Manifest::python
  std::string built;                 // "2026-11-27T09:00:00Z"
  uint64_t bytes = 0, files = 0;     // of its files; files, folders and links
  std::vector<std::string> sources;  // names of archives: "python3-six_1.16.0-4_all.deb"
  LayerOffers offers;
};

// quick: the fingerprint (tree_scan.h); only if it differs, all hashes. whole: all hashes in any case.
enum class CheckDepth { quick, full };

class LayerStore {
 public:
  // Errors: not_found: no layer was built yet.
  static Result<LayerStore> open(const std::string& folder);
  // Makes the folder if it is missing. Waits for another process that changes the store.
  static Result<LayerStore> open_to_change(const std::string& folder);

  // By name. A file that is no name of a layer is skipped.
  Result<std::vector<NamedLayer>> list() const;
  Result<NamedLayer> find(const std::string& name) const;
  Result<Manifest> manifest_of(const std::string& hash) const;
  // Whether the files of that version are unchanged since the build.
  Result<> check(const std::string& hash, CheckDepth depth) const;
  // A descriptor with a shared lock of the version's folder.
  Result<Fd> hold(const std::string& hash) const;

  // Only after open_to_change(). add(): copies `tree` (open for reading) into the store, and gives it the name. Members
  // of `layer` that depend on the tree are set here. An older version with this name is deleted; if it is in use, by a
  // later change of the store. The new version is compared with /usr by check_against_usr(). remove(): the name, and
  // then the files. exhausted: a daemon or a jail uses them, and they stay.
  Result<NamedLayer> add(NamedLayer layer, int tree);
  Result<> remove(const std::string& name);

 private:
  LayerStore(std::string path, Fd folder) : path_(std::move(path)), folder_(std::move(folder)) {}
  Result<Fd> open_version(const std::string& hash) const;
  Result<> renew_fingerprint(const std::string& hash);
  Result<> install_version(const std::string& fresh, const std::string& hash);
  Result<> write_name(const NamedLayer& layer);
  bool is_named(const std::string& hash) const;
  Result<> delete_version(const std::string& hash);
  void prune();

  std::string path_;
  Fd folder_;
};

// [a-z0-9_.-]{1,64}, not starting with a dot.
bool is_layer_name(std::string_view name);

}  // namespace layers

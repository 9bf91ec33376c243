// PackageLayer: a read-only tree of packages that a policy adds to /usr of its jails.
// Source: supervisor/tenants/layers/, from the store of layers on disk, when the policies are read. Used by:
// Policy::layers, and jail/ which mounts it by its hash.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace policies {

struct PackageLayer {
  std::string name;                 // as policies name it
  std::string hash;                 // of its manifest: 64 hexadecimal digits
  std::vector<std::string> python;  // modules that Python code can import from it
  std::vector<std::string> node;    // packages for JavaScript
  // A shared lock of its folder: as long as a policy or a jail has this object, the layer's files are not deleted.
  std::shared_ptr<const Fd> reserved;
};
using PackageLayers = std::vector<std::shared_ptr<const PackageLayer>>;

inline constexpr size_t kMaxLayers = 8;  // of one policy

// Finds a layer by name. Errors: not_found, invalid: its files were changed.
using LayerLookup = std::function<Result<std::shared_ptr<const PackageLayer>>(const std::string& name)>;

}  // namespace policies

// layer_of: jailed code asks which package layer has a module that it could not import. The answer becomes a part of
// the error's text.
// Source: the layers of this machine, and those of the tenant's policy. Used by: supervisor/daemon/. Errors: invalid.
#pragma once
#include <functional>

#include "policies/package_layer.h"
#include "supervisor/tools/operation.h"

namespace tools {

// layer_of {module, kind: "python" | "node"} -> {layer, offered}. `layer`: a layer of this machine that has the module
// and that the policy does not name, or null. `offered`: some of what the policy's layers have.
Operation layer_question(std::function<policies::PackageLayers()> layers_of_machine);

}  // namespace tools

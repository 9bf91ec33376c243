// The layers that policies name, found in the store and checked, when the policies are read.
// Used by: supervisor/daemon/configuration/load.cc and last_good.cc. Waits for the disk.
#pragma once
#include <string>
#include <vector>

#include "policies/store.h"

namespace layers {

// Gives the policies of `store` their layers. `folder`: of the layers. Returns a sentence for each layer that cannot be
// used: it is not there, its files were changed, it was built for another version of Python, or two layers of one
// policy have different files of one name. Layers that no policy names are not checked.
std::vector<std::string> give_layers(policies::Store& store, const std::string& folder);

// "3.11": the Python of /usr, which compiles the modules of layers; empty if it is unknown.
std::string python_of_usr();

}  // namespace layers

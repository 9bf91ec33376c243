// LayerOffers: what a layer gives to programs, for descriptions and for the advice about a missing module.
// Source: a manifest. Used by: layer_store.cc. Pure.
#pragma once
#include <string>
#include <vector>

#include "supervisor/tenants/layers/manifest.h"

namespace layers {

struct LayerOffers {
  std::vector<std::string> python;  // names to import, without private ones; sorted
  std::vector<std::string> node;    // names of packages; sorted
};
inline constexpr size_t kMaxOffers = 1000;  // of each kind; further ones are not listed

LayerOffers offers_of(const Manifest& manifest);

}  // namespace layers

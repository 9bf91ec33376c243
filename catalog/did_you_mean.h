// The advice for a name of a tool or of a server that the catalogue does not have: the nearest one that it has.
#pragma once
#include <string>
#include <string_view>

#include "catalog/catalog.h"

namespace catalog {

// "did you mean 'github__create_issue'?", for a tool that is not there, or a server; empty: nothing is near.
std::string did_you_mean(const Catalog& catalog, std::string_view tool, std::string_view server);

}  // namespace catalog

// The advice for a name of a tool or of a server that the catalogue does not have: the nearest one that it has. And the
// advice for an empty catalogue, and for tools that cannot be called.
#pragma once
#include <string>
#include <string_view>

#include "catalog/catalog.h"

namespace catalog {

// "did you mean 'github__create_issue'?", for a missing tool or server; empty: no name is near.
std::string did_you_mean(const Catalog& catalog, std::string_view tool, std::string_view server);

// Why the catalogue is empty, and what to do; empty text: it has tools.
std::string reason_for_no_tools(const Catalog& catalog);

inline constexpr char kUncallable[] = "no upstream server of this daemon has this tool";
inline constexpr char kRemedyForUncallable[] =
    "call the tool from your client, and pass the answer to the code as context_vars or as a workspace file";

}  // namespace catalog

// Schema page: a manual page of section 5 for a configuration file, from its JSON schema: each key with its type, range
// and description, and the schema's example. Source: policies/*.schema.json,
// supervisor/daemon/configuration/*.schema.json. Used by: main.cc.
#pragma once
#include <string>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/programs/docgen/docgen.h"

namespace docgen {

// `name`: "warderd.json". The sections of `text` come before the keys, but for the last one, which comes behind them.
std::string schema_page(const std::string& name, const Json& schema, const ManualText& text);

}  // namespace docgen

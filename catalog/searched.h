// Searched texts: the parts of a definition that are searched beside name and description. Source: a definition
// (reader.h), or two definitions of one tool that were merged (catalog_builder.cc).
#pragma once
#include "catalog/tool.h"
#include "supervisor/base/json/json_fwd.h"

namespace catalog {

// `rest`: all members except the fields of a Tool. Parameters deeper than eight levels are not read.
SearchedTexts searched_texts(const Json& rest);

}  // namespace catalog

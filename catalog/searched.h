// What of a definition is searched beside its name and its description. Source: a definition as other people wrote it
// (reader.h), or two of one tool that were merged (catalog_builder.cc).
#pragma once
#include "catalog/tool.h"
#include "supervisor/base/json_fwd.h"

namespace catalog {

// `rest`: all members but those that are fields of a Tool. Parameters deeper than eight levels are not read.
SearchedTexts searched_texts(const Json& rest);

}  // namespace catalog

// The texts of the manual pages beyond flags, keys and members: description, files, environment, exit status, see also.
// Used by: main.cc. No function here fails; the texts live as long as the program.
#pragma once
#include "supervisor/programs/docgen/docgen.h"

namespace docgen {

const ManualText& text_of_warder();
const ManualText& text_of_warderd();
const ManualText& text_of_egress();
const ManualText& text_of_node();
const ManualText& text_of_bus();
const ManualText& text_of_configuration();
const ManualText& text_of_policy();

}  // namespace docgen

// Python names: what Python code calls a tool's parameters. Signatures show these names and stubs have them, so that a
// call written as the signature says works. Source: the property names of an inputSchema, which are other people's.
#pragma once
#include <string>
#include <vector>

#include "catalog/schema.h"

namespace catalog {

// One name for each property, in their order: the property's own where Python can spell it, with "_" behind a keyword
// of the language ("from" is from_), and with "_" for each character that no identifier has ("user-id" is user_id). A
// name that an earlier property has gets a number: "a-b" and "a b" are a_b and a_b_2.
std::vector<std::string> python_parameters(const std::vector<Property>& properties);

}  // namespace catalog

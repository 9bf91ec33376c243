// Python names: the names of a tool's parameters in Python code. Signatures and stubs have the same names, so that a
// call written from the signature works. Source: the property names of an inputSchema, written by others.
#pragma once
#include <string>
#include <vector>

#include "catalog/schema.h"

namespace catalog {

// One name for each property, in their order: the property's name if Python allows it, with "_" behind a Python keyword
// ("from" is from_), and with "_" for each character that no identifier has ("user-id" is user_id). A name that an
// earlier property has gets a number: "a-b" and "a b" are a_b and a_b_2.
std::vector<std::string> python_parameters(const std::vector<Property>& properties);

}  // namespace catalog

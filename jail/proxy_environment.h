// add_proxy(): the variables by which programs in a jail find the egress proxy, behind the jail's listener.
// Used by: the makers of a Spec with `listens`. No errors.
#pragma once
#include <map>
#include <string>

namespace jail {

// Variables that are set already stay as they are.
void add_proxy(std::map<std::string, std::string>& environment);

}  // namespace jail

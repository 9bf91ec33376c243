// Packed JSON: definitions as they are kept in memory. What all of them repeat ("type":"string" and the like) is a
// byte each; bytes below a space never stand in JSON text of one line, so they are free for that.
#pragma once
#include <string>
#include <string_view>

namespace catalog {

// `json` is one line of JSON, as dump_json writes it.
std::string packed(std::string_view json);
std::string unpacked(std::string_view text);

}  // namespace catalog

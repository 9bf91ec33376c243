// Packed JSON: definitions as stored in memory. Fragments that all definitions repeat ("type":"string" and similar)
// take one byte each. Bytes below a space never occur in one line of JSON text, so they stand for the fragments.
#pragma once
#include <string>
#include <string_view>

namespace catalog {

// `json` is one line of JSON, as dump_json writes it.
std::string packed(std::string_view json);
std::string unpacked(std::string_view text);

}  // namespace catalog

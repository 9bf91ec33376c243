// Tool: one definition as it was read. Source: catalog/reader.cc, or a skill store. Kept by: Catalog.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace catalog {

enum class Kind : uint8_t { tool, skill };

// What of a definition is searched beside its name and its description (searched.h).
struct SearchedTexts {
  std::string title;
  std::string parameters, about;  // their names, and what their descriptions say
  std::string uses;
};

struct Tool {
  std::string name;               // as its server calls it: 1..128 bytes, no spaces, no control characters
  std::string server;             // may be empty
  std::string category;           // never empty
  std::string description;        // may be empty
  std::vector<std::string> tags;  // sorted
  Kind kind = Kind::tool;
  std::string rest;  // the other members of its definition, a JSON object: inputSchema, functions, use_cases, ...
  SearchedTexts searched;
};

// What the catalogue has at hand of it. Valid as long as the catalogue.
struct ToolView {
  std::string_view name, server, category, description;
  Kind kind = Kind::tool;
};

}  // namespace catalog

// Tool: one definition as it was read. Source: catalog/reader.cc, or a skill store. Used by: Catalog.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace catalog {

enum class ToolKind : uint8_t { tool, skill };

// The parts of a definition that are searched beside name and description (searched.h).
struct SearchedTexts {
  std::string title;
  std::string parameters, about;  // names of parameters, and their descriptions
  std::string uses;
};

struct Tool {
  std::string name;               // its name at the server: 1..128 bytes, no spaces, no control characters
  std::string server;             // may be empty
  std::string category;           // never empty
  std::string description;        // may be empty
  std::vector<std::string> tags;  // sorted
  ToolKind kind = ToolKind::tool;
  std::string rest;  // the other members of the definition, a JSON object: inputSchema, functions, use_cases, ...
  SearchedTexts searched;
};

// ToolView: the fields of a tool that need no unpacking. Valid as long as the catalog.
struct ToolView {
  std::string_view name, server, category, description;
  ToolKind kind = ToolKind::tool;
  bool callable = true;  // false: no upstream server of the daemon has it
};

}  // namespace catalog

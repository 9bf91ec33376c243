// What a tool answered as a value for code: structuredContent; else its one text, parsed where it is JSON; else a list
// of its blocks, {"type": "image", "mimeType", "data"} and the like for what is no text. What failed becomes
// {code, message, data?}.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "supervisor/bridge/client.h"

namespace bridge {

struct ToolValue {
  nlohmann::json value;
  nlohmann::json failure;  // null: it worked
};
ToolValue value_of(Answer answer);

// Only what the paths name: "items.title" is that member of each element of a list `items`; the shape stays. A path of
// which there is nothing selects nothing.
nlohmann::json select(const nlohmann::json& value, const std::vector<std::string>& paths);

}  // namespace bridge

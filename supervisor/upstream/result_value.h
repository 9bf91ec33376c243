// What a tool answered as a value for code: structuredContent; else its one text, parsed where it is JSON; else a list
// of its blocks, {"type": "image", "mimeType", "data"} and the like for what is no text. What failed becomes
// {code, message, data?}.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json_value.h"
#include "supervisor/upstream/client.h"

namespace upstream {

struct ToolValue {
  Json value;
  Json failure;  // null: it worked
};
// `tool`: its name. `output_schema`: what it declares; null: nothing. What its library wrapped is unwrapped
// (wrapped_result.h). A text is a number or a boolean where it reads exactly as JSON writes one: "8", "8.0", "-0.5",
// "true"; "007", "1.10", "1e3", "+1" and numbers of more than 15 digits stay texts, and so do they all beside other
// texts: those are one text. JSON whose values would take more than kMostValueBytes (value_bytes.h) stays a text.
ToolValue value_of(ServerAnswer answer, std::string_view tool = {}, const Json& output_schema = nullptr);

// Only what the paths name: "items.title" is that member of each element of a list `items`; the shape stays. A path of
// which there is nothing selects nothing.
Json select(const Json& value, const std::vector<std::string>& paths);

}  // namespace upstream

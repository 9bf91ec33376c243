// ToolValue: the answer of a tool as a value for code. It is structuredContent if the answer has it; else the text,
// parsed if it is JSON; else a list of the content blocks, where other blocks than texts stay objects: {"type":
// "image", "mimeType", "data"}. A failure becomes {code, message, data?}.
// Source: ServerAnswer (client.h). Used by: supervisor/upstream/calls/upstream_call.cc.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json/json_value.h"
#include "supervisor/upstream/client.h"

namespace upstream {

struct ToolValue {
  Json value;
  Json failure;  // null: the tool succeeded
};
// `tool`: the tool's name. `output_schema`: the schema that the tool declares; nullptr: the tool declares no schema. A
// result that the server's library wrapped is unwrapped (wrapped_result.h).
// The only text of an answer becomes a number, a boolean or null if JSON writes that value in exactly this way: "8",
// "8.0", "-0.5", "true". "007", "1.10", "1e3", "+1" and numbers of more than 15 digits stay texts. Several texts become
// one text, joined by newlines. JSON stays a text if its values would take more than kMaxValueBytes (value_bytes.h).
ToolValue value_of(ServerAnswer answer, std::string_view tool = {}, const Json* output_schema = nullptr);

}  // namespace upstream

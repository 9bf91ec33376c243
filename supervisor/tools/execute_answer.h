// The answer of execute_code: one text block of compact JSON, image blocks, links to files that were made, and the
// receipt in _meta.
// Keys: success, result, output (lines), execution_time_ms; on failure error, traceback, rule, remedy; always
// execution_id and outcome; session, stderr, exit_status, signal, usage, files, truncated, clamped where they say
// something.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "jail/execution.h"
#include "policies/limits.h"
#include "supervisor/mcp/content.h"
#include "supervisor/tenants/changes.h"

namespace tools {

struct ExecuteAnswer {
  std::string execution_id;
  const jail::Report* report = nullptr;
  const tenants::Changes* changes = nullptr;  // nullptr: not known
  std::vector<policies::Clamp> clamped;
  std::optional<Error> quota;       // what to say of the outcome `disk` where the workspace is full
  nlohmann::ordered_json session;   // of what the call was a part; null: of none
  std::vector<jail::Image> images;  // the guest's and files' that the program wrote
};
mcp::ToolResult make_answer(const ExecuteAnswer& answer);

// The same shape for an execution that never began. denied and invalid keep their outcome; the rest is `internal`.
mcp::ToolResult make_refusal(const std::string& execution_id, const Error& error);

}  // namespace tools

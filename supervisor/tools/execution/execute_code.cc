#include "supervisor/tools/execution/execute_code.h"

#include "supervisor/base/json.h"
#include "supervisor/runs/execute.h"

namespace tools {
namespace {

constexpr char kDescription[] =
    "Run code in a jail: process data there, return only a summary. "
    "Answers `result` or the last expression, and what is printed. context_vars become variables. "
    "fork: parallel runs, one per `item`. "
    "Python has filter_by_field, summarize_list, aggregate_stats, format_output, tokenize_pii. "
    "Files in /workspace stay, and variables (not shell's) in a session. No network.";

Json execute_code_schema() {
  return Json::parse(R"({
    "type": "object",
    "properties": {
      "code": {"type": "string"},
      "context_vars": {"type": "object"},
      "timeout_seconds": {"type": "number", "minimum": 0.001, "maximum": 86400, "default": 30},
      "memory_mb": {"type": "number", "minimum": 1, "maximum": 1048576, "default": 500},
      "language": {"type": "string", "enum": ["python", "javascript", "typescript", "shell"], "default": "python"},
      "workspace": {"type": "string", "enum": ["direct", "staged"], "description": "staged: changes become a proposal"},
      "session": {"type": "string"},
      "reset_session": {"type": "boolean"},
      "background": {"type": "boolean", "description": "answer at once; result at exec:///<execution_id>/result"},
      "fork": {"type": "array", "items": {}}
    },
    "required": ["code"]
  })");
}

// Other names of the languages that models use.
mcp::Spellings execute_code_spellings() {
  return {{"language",
           {{"py", "python"},
            {"python3", "python"},
            {"js", "javascript"},
            {"node", "javascript"},
            {"nodejs", "javascript"},
            {"ecmascript", "javascript"},
            {"ts", "typescript"},
            {"bash", "shell"},
            {"sh", "shell"},
            {"zsh", "shell"}}}};
}

}  // namespace

void add_execute_code(mcp::Server& server, runs::ExecuteEnvironment& environment) {
  mcp::ToolDefinition tool;
  tool.name = "execute_code";
  tool.description = kDescription;
  tool.input_schema = execute_code_schema();
  tool.spellings = execute_code_spellings();
  tool.annotations.open_world = false;  // no network
  tool.queues = true;
  tool.tasks = mcp::ToolDefinition::Tasks::optional;
  server.add_tool(std::move(tool), [&environment](mcp::RequestContext& context, Json arguments) {
    return runs::execute(environment, context, std::move(arguments));
  });
}

}  // namespace tools

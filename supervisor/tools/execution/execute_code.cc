#include "supervisor/tools/execution/execute_code.h"

#include "supervisor/base/json/json.h"
#include "supervisor/executions/runs/execute.h"

namespace tools {
namespace {

constexpr char kDescription[] =
    "Run code in a jail; answers `result` or the last expression, and what is printed. context_vars become variables. "
    "fork: parallel runs, one per `item`. /workspace stays; a session keeps variables. No network.";

Json execute_code_schema() {
  return Json::parse(R"({
    "type": "object",
    "properties": {
      "code": {"type": "string"},
      "context_vars": {"type": "object"},
      "timeout_seconds": {"type": "number", "minimum": 0.001, "maximum": 86400, "default": 30},
      "memory_mb": {"type": "number", "minimum": 1, "maximum": 1048576, "default": 500},
      "language": {"type": "string", "enum": ["python", "javascript", "typescript", "shell"], "default": "python"},
      "workspace": {"type": "string", "enum": ["direct", "staged"]},
      "session": {"type": "string"},
      "reset_session": {"type": "boolean"},
      "background": {"type": "boolean", "description": "answers at once"},
      "fork": {"type": "array", "items": {}}
    },
    "required": ["code"]
  })");
}

// Other names of the languages, and of the arguments, that models use.
mcp::Spellings execute_code_spellings() {
  constexpr char kNoPackages[] =
      "no packages can be installed here; use the installed ones, which the error for a missing import lists";
  return {{"",
           {{"params", "context_vars"},
            {"parameters", "context_vars"},
            {"args", "context_vars"},
            {"arguments", "context_vars"},
            {"variables", "context_vars"},
            {"vars", "context_vars"},
            {"env", "context_vars"},
            {"inputs", "context_vars"},
            {"input", "context_vars"},
            {"globals", "context_vars"},
            {"data", "context_vars"},
            {"command", "code"},
            {"cmd", "code"},
            {"script", "code"},
            {"source", "code"},
            {"program", "code"},
            {"python_code", "code"},
            {"lang", "language"},
            {"runtime", "language"},
            {"interpreter", "language"},
            {"timeout", "timeout_seconds"},
            {"timeout_ms", "timeout_seconds"},
            {"max_memory", "memory_mb"},
            {"memory", "memory_mb"},
            {"session_id", "session"},
            {"id", "session"},
            {"reset", "reset_session"},
            {"restart", "reset_session"},
            {"packages", kNoPackages},
            {"requirements", kNoPackages},
            {"dependencies", kNoPackages},
            {"libraries", kNoPackages},
            {"cwd", "programs begin in /workspace: change the folder in the code"},
            {"working_directory", "programs begin in /workspace: change the folder in the code"},
            {"workdir", "programs begin in /workspace: change the folder in the code"},
            {"stdin", "programs have an empty standard input: give values in context_vars"},
            {"filename", "`code` is the program itself: read the file in it, or run it, as with subprocess"},
            {"file", "`code` is the program itself: read the file in it, or run it, as with subprocess"},
            {"files", "write files with write_workspace_file first, or in the code"}}},
          {"language",
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
  tool.queues = true;
  tool.tasks = mcp::ToolDefinition::Tasks::optional;
  server.add_tool(std::move(tool), [&environment](mcp::RequestContext& context, Json arguments) {
    return runs::execute(environment, context, std::move(arguments));
  });
}

}  // namespace tools

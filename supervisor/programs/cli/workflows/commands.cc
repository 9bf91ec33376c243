#include "supervisor/programs/cli/admin/command_rows.h"

namespace admin {

std::vector<Command> workflow_commands() {
  static const Flag kVariable{"--variable", "NAME=VALUE", "Set a variable of the workflow; JSON, else plain text",
                              Times::any};
  static const char kFileText[] = "The workflow, as YAML or JSON (skills/shared/workflow/SKILL.md has its form)";
  return {
      {"workflow check",
       "FILE",
       kFileText,
       "Check a declared workflow, in a jail: every mistake with its place. Exit status: 1 if there is one",
       {},
       DaemonCall::none},
      {"workflow run",
       "FILE",
       kFileText,
       "Run a declared workflow. Steps that had finished in an earlier run are skipped. When the whole workflow has "
       "succeeded, its steps are forgotten, and the next run begins again. Exit status: as of `warder run`",
       {kVariable,
        {"--keep", nullptr, "Keep the steps of a workflow that has succeeded"},
        {"--timeout", "SECONDS", "Wall-clock limit; default: max_execution_time of its guardrails"},
        {"--memory", "MB", "Memory limit; default: max_memory_mb of its guardrails"}},
       DaemonCall::none},
      {"workflow show",
       "NAME",
       "The workflow's name, or the file that has it",
       "Show the steps that a workflow has recorded",
       {},
       DaemonCall::none},
  };
}

}  // namespace admin

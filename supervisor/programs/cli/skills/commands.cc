#include "supervisor/programs/cli/admin/command_rows.h"

namespace admin {

std::vector<Command> skill_commands() {
  return {
      {"skill from",
       "EXECUTION",
       "The whole id of an execution of the same user, as its answer and warder history have it",
       "Make a skill of the code that an execution ran, print it, and save it. A function of the skill's name is taken "
       "as it is; a program becomes a function, and the variables that it was given become its parameters. The code of "
       "the newest executions can be read until the daemon ends. Exit status: 1 if no skill can be made or saved",
       {{"--name", "NAME", "The name of the skill: letters, digits and underscores"},
        {"--description", "TEXT", "What the skill does; default: the first comment or docstring of the code"},
        {"--parameter", "NAME",
         "A further parameter of the function: a variable that the program sets to a plain value, which becomes the "
         "default; for JavaScript, a variable that the program was given",
         Times::any},
        {"--replace", nullptr, "If there is a skill of this name, save a new version of it"},
        {"--dry-run", nullptr, "Print the skill, and do not save it"}},
       DaemonCall::none},
      {"skill usage",
       nullptr,
       nullptr,
       "List the programs that ran more than once since the daemon started, by hash, and the skills that programs "
       "used, "
       "the most often used first. A user sees those of the own tenant, root those of all tenants; no code is shown",
       {{"--tenant", "TENANT", "Only those of this tenant; polkit may ask for a password"},
        {"-n,--limit", "N", "At most N of each; default: 20"}}},
  };
}

}  // namespace admin

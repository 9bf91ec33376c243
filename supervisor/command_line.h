// CommandLine: what the command line of warderd asks for. Source: argv. Used by: main.cc.
// Errors: invalid, one sentence naming the flag and the remedy.
#pragma once
#include "supervisor/base/result.h"
#include "supervisor/daemon/configuration/invocation.h"

struct CommandLine {
  enum class Action { serve, check, reload, nothing };  // nothing: --help or --version was printed
  Action action = Action::serve;
  configuration::Invocation invocation;
};

Result<CommandLine> parse_command_line(int argc, char** argv);

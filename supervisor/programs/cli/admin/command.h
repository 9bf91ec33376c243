// Command: one command of warder-admin. Each command has its own file; the table of all commands is in commands.cc.
// `warder` reads the same table, to start warder-admin for these commands. --help, the manual page and the completion
// of shells are made from the table (declare.h, ../../docgen/).
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/base/result.h"

namespace admin {

enum class Times { once, any };

// A flag of a command.
struct Flag {
  const char* name;      // "-f,--follow"
  const char* argument;  // "SECONDS", "cpu|memory", or nullptr: absent
  const char* text;
  Times times = Times::once;
};

// ParsedCommand: a command line of warder-admin, as parsed.
struct ParsedCommand {
  std::string bus, socket;
  bool json = false;
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> flags;  // long name without dashes, its argument

  bool has(std::string_view flag) const {
    for (const auto& [name, value] : flags)
      if (name == flag) return true;
    return false;
  }
  std::string value(std::string_view flag, std::string otherwise) const {
    for (const auto& [name, value] : flags)
      if (name == flag) return value;
    return otherwise;
  }
  std::vector<std::string> values(std::string_view flag) const {
    std::vector<std::string> all;
    for (const auto& [name, value] : flags)
      if (name == flag) all.push_back(value);
    return all;
  }
};

// Whether a command calls a daemon over D-Bus, and so has the flag --bus.
enum class DaemonCall { over_bus, none };
// Whether --help, the manual page and the completion show a command.
enum class CommandHelp { listed, hidden };

// What follows `--`: words as before it, or the command line of another program, whose flags are its own.
enum class AfterDashes { words, command_line };

// A program runs one command and returns the exit status. Errors: invalid for a wrong argument; unavailable without a
// daemon; the daemon's refusals.
using CommandProgram = Result<int>(const ParsedCommand& given);

// ProgramOfCommand: gives a command its program. A constant in the command's file, which only warder-admin links, so
// `warder` and docgen have the table without programs.
class ProgramOfCommand {
 public:
  ProgramOfCommand(const char* name, CommandProgram* program);
};

struct Command {
  const char* name;   // "ps", "policy check"
  const char* words;  // "EXECUTION...", or nullptr: absent; the name says what completes it (../../docgen/)
  const char* words_text;
  const char* summary;
  std::vector<Flag> flags;
  DaemonCall daemon_call = DaemonCall::over_bus;
  CommandHelp help = CommandHelp::listed;
  AfterDashes after_dashes = AfterDashes::words;
};

const std::vector<Command>& commands();
// The summary of a group of commands: "policy" for "policy check". Empty if the word is no group: "ps".
const char* group_summary(std::string_view first_word);

}  // namespace admin

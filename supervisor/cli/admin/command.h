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
  const char* argument;  // "SECONDS", "cpu|memory", or nullptr: none
  const char* text;
  Times times = Times::once;
};

// A parsed command line.
struct Given {
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
enum class Asks { bus, nobody };
// Whether --help, the manual page and the completion show a command.
enum class Told { yes, no };

struct Command {
  const char* name;   // "ps", "policy check"
  const char* words;  // "EXECUTION...", or nullptr: none; the name says what completes it (../../docgen/)
  const char* words_text;
  const char* summary;
  std::vector<Flag> flags;
  Asks asks = Asks::bus;
  Told told = Told::yes;
};

const std::vector<Command>& commands();
// The summary of a group of commands: "policy" for "policy check". Empty if the word is no group: "ps".
const char* group_summary(std::string_view first_word);

// Each function runs one command and returns the exit status. Errors: invalid for a wrong argument; unavailable without
// a daemon; the daemon's refusals.
Result<int> run_ps(const Given& given);
Result<int> run_top(const Given& given);
Result<int> run_logs(const Given& given);
Result<int> run_kill(const Given& given);
Result<int> run_approvals(const Given& given);
Result<int> run_approve(const Given& given);
Result<int> run_deny(const Given& given);
Result<int> run_stats(const Given& given);
Result<int> run_dashboard(const Given& given);
Result<int> run_metrics(const Given& given);
Result<int> run_doctor(const Given& given);
Result<int> verify_audit_chain(const Given& given);
Result<int> print_candidates(const Given& given);
Result<int> check_policies(const Given& given);
Result<int> show_policy(const Given& given);
Result<int> explain_policy(const Given& given);

}  // namespace admin

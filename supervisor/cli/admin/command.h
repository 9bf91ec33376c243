// The commands for people who look after a daemon: each in a file of its own, listed once, in commands.cc. The list is
// also what `warder` knows of them: they are another program's, warder-admin. --help, the manual and the completion of
// shells are made of it (declare.h, ../../docgen/).
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/base/result.h"

namespace admin {

enum class Times { once, any };

// What a command may be told, besides its words.
struct Flag {
  const char* name;      // "-f,--follow"
  const char* argument;  // "SECONDS", "cpu|memory", or nullptr: none
  const char* text;
  Times times = Times::once;
};

// Of a command line.
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

// Whether a command asks a daemon over D-Bus, and so knows --bus.
enum class Asks { bus, nobody };
// Whether --help, the manual and the completion tell of it.
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
// Of names with several words: what the first of them is. Nothing is said of "ps".
const char* group_summary(std::string_view first_word);

// Each returns the exit status. Errors: invalid for what was asked; unavailable without a daemon; what it refused.
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

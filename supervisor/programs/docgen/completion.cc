// The completion of bash. The script finds the command in the words before the cursor ("warder policy check"). Then one
// `case` has the values of the flags that take a value, and another the words and flags of each command.
#include <algorithm>

#include "supervisor/programs/docgen/docgen.h"

namespace docgen {
namespace {

// The completion of a value: words, or an option of compgen. Both empty: the value is free text.
struct Completes {
  std::string words, option;

  std::string arguments(const std::string& peers = {}) const {
    const std::string all = peers + (peers.empty() || words.empty() ? "" : " ") + words;
    return (all.empty() ? "" : " -W \"" + all + "\"") + (option.empty() ? "" : " " + option);
  }
};

// The value names that `warder complete` can complete, with its argument for each.
constexpr std::pair<std::string_view, std::string_view> kLive[] = {{"EXECUTION", "executions"},
                                                                   {"APPROVAL", "approvals"},
                                                                   {"PROPOSAL", "proposals"},
                                                                   {"POLICY", "policies"},
                                                                   {"SERVER", "servers"}};

Completes completes(std::string value) {
  if (const auto space = value.find(' '); space != value.npos) value.resize(space);
  if (value.starts_with('[')) value = value.substr(1, value.size() - 2);
  if (value.ends_with("...")) value.erase(value.size() - 3);
  if (value.find('|') != value.npos) {
    std::replace(value.begin(), value.end(), '|', ' ');
    return {value, {}};
  }
  if (value == "FILE" || value == "PATH") return {{}, "-f"};
  if (value == "DIR") return {{}, "-d"};
  if (value == "USER") return {{}, "-u"};
  if (value == "LEVEL") return {"error warning notice info debug", {}};
  if (value == "BUS") return {"system session", {}};
  if (value == "CLIENT") return {"$(_warder_asked config --list)", {}};
  for (const auto& [name, what] : kLive)
    if (value == name) return {"$(_warder_asked complete " + std::string(what) + " \"$typed\")", {}};
  return {};
}

struct Cases {
  std::string commands;  // patterns: the paths of commands
  std::string values;    // cases: completions after "path flag"
  std::string words;     // cases: completions after a path
};

void append_cases(Cases& cases, const Description& command) {
  std::string words;
  Completes positional;
  for (const Argument& argument : command.arguments) {
    if (argument.flags.empty()) {
      positional = completes(argument.value);
      continue;
    }
    std::string patterns;
    for (const auto& flag : argument.flags) {
      words += flag + " ";
      patterns += (patterns.empty() ? "'" : " | '") + command.path + " " + flag + "'";
    }
    const std::string value = completes(argument.value).arguments();
    if (!argument.value.empty())
      cases.values +=
          "    " + patterns + ") " + (value.empty() ? "COMPREPLY=()" : "_warder_reply" + value) + "; return ;;\n";
  }
  for (const Description& below : command.commands) {
    words += below.name() + " ";
    cases.commands += (cases.commands.empty() ? "'" : " | '") + below.path + "'";
    append_cases(cases, below);
  }
  if (!words.empty()) words.pop_back();
  cases.words += "    '" + command.path + "') _warder_reply" + positional.arguments(words) + " ;;\n";
}

}  // namespace

std::string bash_completion(const Description& program) {
  Cases cases;
  append_cases(cases, program);
  return "# bash completion of " + program.path + R"(, generated from the declarations of --help

# Sets COMPREPLY to the answer of compgen for the current word; file names with special characters are quoted.
_warder_reply() {
  local IFS=$' \t\n' option
  mapfile -t COMPREPLY < <(compgen "$@" -- "$current")
  for option in "$@"; do
    if [[ $option == -[fd] ]]; then compopt -o filenames 2>/dev/null || true; fi
  done
}

# Prints the answer of the completed program, or an empty text if the program fails.
_warder_asked() { "$program" "$@" 2>/dev/null </dev/null; }

_warder() {
  local program=${1:-warder} typed="${COMP_WORDS[*]:0:COMP_CWORD}"
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path=)" +
         program.path + R"( word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
      )" +
         cases.commands +
         R"() path+=" $word" ;;
    esac
  done
  case "$path $before" in
)" + cases.values +
         R"(  esac
  case "$path" in
)" + cases.words +
         R"(  esac
}
complete -F _warder )" +
         program.path + "\n";
}

}  // namespace docgen

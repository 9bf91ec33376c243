#include "supervisor/programs/cli/admin/acting.h"

#include <cstdio>

#include "supervisor/programs/cli/admin/values.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {

Result<int> act_on_each(const ParsedCommand& parsed_command, const std::vector<std::string>& words, const char* command,
                        const char* member, const Action& act) {
  Json report = Json::array();
  int status = 0;
  for (const auto& word : words) {
    auto acted = act(word);
    if (!acted && acted.error().code == Code::unavailable) return tl::unexpected<Error>(std::move(acted).error());
    report.push_back({{"id", acted ? acted->id : word}, {member, acted.has_value()}});
    if (acted && !acted->text.empty()) report.back()["text"] = acted->text;
    if (acted) {
      if (!parsed_command.json) cli::print_text(stdout, cli::for_terminal(acted->done) + "\n");
      continue;
    }
    status = 1;
    const Error& error = acted.error();
    report.back()["error"] = error.what;
    if (!error.hint.empty()) report.back()["remedy"] = error.hint;
    if (parsed_command.json) continue;
    std::string text = std::string("warder ") + command + ": " + word + ": " + error.what + "\n";
    if (!error.hint.empty()) text += "  " + error.hint + "\n";
    cli::print_text(stderr, text);
  }
  if (parsed_command.json) print_json(report);
  return status;
}

}  // namespace admin

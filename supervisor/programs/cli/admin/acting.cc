#include "supervisor/programs/cli/admin/acting.h"

#include <cstdio>

#include "supervisor/programs/cli/admin/values.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {

Result<int> act_on_each(const ParsedCommand& given, const std::vector<std::string>& words, const char* command,
                        const char* member, const Action& act) {
  Json told = Json::array();
  int status = 0;
  for (const auto& word : words) {
    auto acted = act(word);
    if (!acted && acted.error().code == Code::unavailable) return tl::unexpected<Error>(std::move(acted).error());
    told.push_back({{"id", acted ? acted->id : word}, {member, acted.has_value()}});
    if (acted && !acted->text.empty()) told.back()["text"] = acted->text;
    if (acted) {
      if (!given.json) cli::print_text(stdout, cli::for_terminal(acted->done) + "\n");
      continue;
    }
    status = 1;
    const Error& error = acted.error();
    told.back()["error"] = error.what;
    if (!error.hint.empty()) told.back()["remedy"] = error.hint;
    if (given.json) continue;
    std::string text = std::string("warder ") + command + ": " + word + ": " + error.what + "\n";
    if (!error.hint.empty()) text += "  " + error.hint + "\n";
    cli::print_text(stderr, text);
  }
  if (given.json) print_json(told);
  return status;
}

}  // namespace admin

#include "supervisor/cli/terminal.h"

#include <unistd.h>

#include "supervisor/base/json.h"

namespace cli {

std::string for_terminal(std::string_view text) {
  std::string shown;
  const std::string valid = valid_utf8(text);
  for (size_t i = 0; i < valid.size(); i++) {
    const auto c = static_cast<unsigned char>(valid[i]);
    const bool control = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
    const bool c1 = c == 0xc2 && i + 1 < valid.size() && static_cast<unsigned char>(valid[i + 1]) < 0xa0;
    if (!control && !c1) {
      shown += valid[i];
      continue;
    }
    if (c1) i++;
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(valid[i])));
    shown += escaped;
  }
  return shown;
}

void print_text(std::FILE* to, std::string_view text) {
  const std::string shown = ::isatty(::fileno(to)) == 1 ? for_terminal(text) : std::string(text);
  std::fwrite(shown.data(), 1, shown.size(), to);
}

}  // namespace cli

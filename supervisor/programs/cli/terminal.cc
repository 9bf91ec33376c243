#include "supervisor/programs/cli/terminal.h"

#include <unistd.h>

#include <algorithm>

#include "supervisor/base/deceiving_text.h"
#include "supervisor/base/json/json.h"

namespace cli {
namespace {

// \x1b of one byte, \u202e or \U000e0041 of a character. Valid UTF-8 only.
std::string escaped(std::string_view character) {
  const auto at = [&](size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(character[i])); };
  unsigned code = at(0);
  if (character.size() > 1) code &= 0x7Fu >> character.size();
  for (size_t i = 1; i < character.size(); i++) code = code << 6 | (at(i) & 0x3F);
  char displayed[16];
  std::snprintf(displayed, sizeof displayed, code < 0x100 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x", code);
  return displayed;
}

}  // namespace

std::string for_terminal(std::string_view text) {
  std::string display_text;
  const std::string valid = valid_utf8(text);
  for (size_t i = 0; i < valid.size();) {
    const std::string_view rest = std::string_view(valid).substr(i);
    const size_t bytes = rest[0] == '\n' || rest[0] == '\t' ? 0 : deceiving_bytes(rest);
    display_text += bytes == 0 ? std::string(1, rest[0]) : escaped(rest.substr(0, bytes));
    i += std::max<size_t>(bytes, 1);
  }
  return display_text;
}

void print_text(std::FILE* to, std::string_view text) {
  const std::string display_text = ::isatty(::fileno(to)) == 1 ? for_terminal(text) : std::string(text);
  std::fwrite(display_text.data(), 1, display_text.size(), to);
}

}  // namespace cli

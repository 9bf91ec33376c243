#include <algorithm>
#include <string_view>

#include "supervisor/base/ascii.h"
#include "supervisor/base/version.h"
#include "supervisor/programs/docgen/docgen.h"

namespace docgen {

// man(7): a backslash begins an escape, a minus sign needs an escape, and no line of text begins with a control
// character.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool begins_line = out.empty() || out.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string paragraphs(const std::string& text) {
  std::string out = roff(text);
  for (size_t at; (at = out.find("\n\n")) != out.npos;) out.replace(at, 2, "\n.PP\n");
  return out + "\n";
}

namespace {

std::string arguments_text(const Description& command) {
  std::string out;
  for (const Argument& argument : command.arguments) {
    std::string names;
    for (const auto& flag : argument.flags) names += (names.empty() ? "" : ", ") + bold(flag);
    if (!argument.value.empty()) names += (names.empty() ? "" : " ") + italic(argument.value);
    out += ".TP\n" + names + "\n" + roff(argument.text) + "\n";
  }
  return out;
}

bool has_words(const Description& command) {
  return std::any_of(command.arguments.begin(), command.arguments.end(), [](auto& item) { return item.flags.empty(); });
}

// More than --help, which each command has.
bool has_own_arguments(const Description& command) {
  return std::any_of(command.arguments.begin(), command.arguments.end(), [](const Argument& argument) {
    return std::find(argument.flags.begin(), argument.flags.end(), "--help") == argument.flags.end();
  });
}

std::string synopsis(const Description& command) {
  std::string out = bold(command.path);
  const auto& arguments = command.arguments;
  if (std::any_of(arguments.begin(), arguments.end(), [](auto& item) { return !item.flags.empty(); }))
    out += " [" + italic("options") + "]";
  if (!command.commands.empty() && !has_words(command)) return out + " " + italic("command") + " ...";
  for (const Argument& argument : arguments)
    if (argument.flags.empty()) out += " " + italic(argument.value);
  return out;
}

void append_commands(std::string& out, const Description& parent) {
  for (const Description& command : parent.commands) {
    // `warder config CLIENT` and `warder agent --listen` stand beside the commands below them.
    if (command.commands.empty() || has_own_arguments(command))
      out += ".SS " + synopsis(command) + "\n" + roff(command.text) + ".\n" + arguments_text(command);
    append_commands(out, command);
  }
}

}  // namespace

std::string manual_page(const Description& program, const ManualText& text) {
  std::string out = ".\\\" Generated from the declarations of --help; see supervisor/programs/docgen.\n";
  out += ".TH " + upper_case(program.path) + " " + std::to_string(text.section) + " \"\" \"Warder " + kWarderVersion +
         "\" \"Warder\"\n";
  out += ".SH NAME\n" + roff(program.path) + " \\- " + roff(text.summary) + "\n";
  out += ".SH SYNOPSIS\n" + synopsis(program) + "\n";
  out += ".SH DESCRIPTION\n" + roff(program.text) + "\n";
  out += ".SH OPTIONS\n" + arguments_text(program);
  if (!program.footer.empty()) out += ".PP\n" + roff(program.footer) + "\n";
  if (!program.commands.empty()) out += ".SH COMMANDS\n";
  append_commands(out, program);
  for (const auto& [heading, body] : text.sections) out += ".SH " + upper_case(heading) + "\n" + paragraphs(body);
  return out;
}

}  // namespace docgen

#include "supervisor/executions/code_prompts.h"

#include <algorithm>

#include "supervisor/base/ascii.h"
#include "supervisor/base/trimmed.h"
#include "supervisor/executions/code_fences.h"
#include "supervisor/executions/code_lines.h"

namespace executions {
namespace {

constexpr size_t kMaxPrompt = 200;  // bytes

// The text behind `mark`, which is alone in its line or has a blank behind it.
std::optional<std::string_view> behind(std::string_view line, std::string_view mark) {
  if (!line.starts_with(mark)) return std::nullopt;
  line.remove_prefix(mark.size());
  if (line.empty()) return line;
  if (line[0] != ' ') return std::nullopt;
  return line.substr(1);
}

// The text behind `$ ` or `user@host:~/folder$ `.
std::optional<std::string_view> behind_shell_prompt(std::string_view line) {
  line.remove_prefix(indentation_of(line).size());
  if (const auto text = behind(line, "$")) return text;
  const std::string_view begin = line.substr(0, kMaxPrompt);
  const size_t end = std::min({begin.find("$ "), begin.find("# "), begin.find("% ")});
  if (end == begin.npos) return std::nullopt;
  const std::string_view prompt = begin.substr(0, end);
  const size_t at = prompt.find('@');
  if (at == 0 || at == prompt.npos || prompt.find_first_of("'\"|;&=<>`") != prompt.npos) return std::nullopt;
  const size_t environment = prompt.starts_with('(') ? prompt.find(") ") : prompt.npos;  // `(venv) user@host:~$ `
  const size_t user = environment == prompt.npos ? 0 : environment + 2;
  if (user > at || prompt.substr(user, at - user).find(' ') != prompt.npos) return std::nullopt;
  const size_t colon = prompt.find(':', at);
  if (colon == prompt.npos || prompt.substr(at, colon - at).find(' ') != prompt.npos) return std::nullopt;
  return line.substr(end + 2);
}

// `In [12]: x`, `Out[12]: 5`: the text behind it.
std::optional<std::string_view> behind_number(std::string_view line, std::string_view mark) {
  if (!line.starts_with(mark)) return std::nullopt;
  const size_t end = line.find_first_not_of("0123456789 ", mark.size());
  if (end == line.npos || line.substr(end, 2) != "]:") return std::nullopt;
  line.remove_prefix(end + 2);
  if (line.starts_with(' ')) line.remove_prefix(1);
  return line;
}

PromptedCode without_prompts(const CodeLines& lines, CodeLines left_out, const char* note) {
  return {text_of(lines), note + left_out_note(left_out)};
}

// A command goes on in the next lines after a \ at its end, in a here-document, and behind the prompt `> `.
PromptedCode of_shell(const CodeLines& lines) {
  CodeLines code_lines(lines.size()), left_out(lines.size());
  HereDocuments documents;
  bool continues = false, is_typed = false;  // the line before
  for (size_t i = 0; i < lines.size(); i++) {
    const auto command = behind_shell_prompt(lines[i]);
    const auto more = is_typed ? behind(lines[i], ">") : std::nullopt;
    if (documents.is_open() || continues) {
      code_lines[i] = more.value_or(lines[i]);
    } else if (command || more) {
      code_lines[i] = command ? *command : *more;
    } else {
      left_out[i] = lines[i];
      is_typed = false;
      continue;
    }
    is_typed = true;
    documents.read(code_lines[i]);
    continues = code_lines[i].ends_with('\\');
  }
  return without_prompts(code_lines, std::move(left_out), "took only the commands after the prompt $");
}

PromptedCode of_marks(CodeLines lines, std::string_view mark, std::string_view more, const char* note) {
  CodeLines code_lines(lines.size());
  for (size_t i = 0; i < lines.size(); i++) {
    const std::string_view bare = lines[i].substr(indentation_of(lines[i]).size());
    auto text = behind(trimmed_end(bare) == mark ? mark : bare, mark);
    if (!text) text = behind(trimmed_end(bare) == more ? more : bare, more);
    if (!text) continue;
    code_lines[i] = *text;
    lines[i] = {};
  }
  return without_prompts(code_lines, std::move(lines), note);
}

// Behind an `In [1]:` that is alone in its line, the lines up to the next mark are code, as in a notebook.
PromptedCode of_notebook(CodeLines lines) {
  CodeLines code_lines(lines.size());
  bool in_cell = false;
  for (size_t i = 0; i < lines.size(); i++) {
    const std::string_view bare = lines[i].substr(indentation_of(lines[i]).size());
    if (const auto text = behind_number(bare, "In [")) {
      code_lines[i] = *text;
      in_cell = is_blank(*text);
    } else if (behind_number(bare, "Out[") || behind_number(bare, "Out [")) {
      in_cell = false;
      continue;
    } else if (const auto more = behind(bare, "...:")) {
      code_lines[i] = *more;
    } else if (in_cell) {
      code_lines[i] = lines[i];
    } else {
      continue;
    }
    lines[i] = {};
  }
  return without_prompts(code_lines, std::move(lines), "took only the code after In [ ]:");
}

}  // namespace

bool has_shell_prompt(std::string_view line) { return behind_shell_prompt(line).has_value(); }

Result<std::optional<PromptedCode>> take_from_prompts(std::string_view code, CodeLanguage language) {
  const size_t begin = code.find_first_not_of(" \t\n");
  if (begin == code.npos) return std::nullopt;
  const std::string_view first = code.substr(begin, std::min(code.find('\n', begin), code.size()) - begin);
  const bool is_notebook = behind_number(first, "In [").has_value();
  const bool is_python = is_notebook || first == ">>>" || first.starts_with(">>> ");
  if (is_python && language != CodeLanguage::python)
    return wrong_language(is_notebook ? "it has the prompt `In [1]:`" : "it has the prompt `>>>`", CodeLanguage::python,
                          language);
  if (is_notebook) return of_notebook(lines_of(code));
  if (is_python) return of_marks(lines_of(code), ">>>", "...", "took only the lines after >>> and ...");
  if (language == CodeLanguage::shell && has_shell_prompt(first)) return of_shell(lines_of(code));
  if (jail::runs_in_node(language) && behind(first, ">"))
    return of_marks(lines_of(code), ">", "...", "took only the lines after the prompt >");
  return std::nullopt;
}

}  // namespace executions

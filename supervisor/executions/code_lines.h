// CodeLines: the lines of code as a client sent it. A line that is left out becomes an empty line, so that the other
// lines keep their numbers. The text is borrowed. Pure; no errors. Used by: sent_code.cc, code_fences.cc,
// code_prompts.cc.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace executions {

using CodeLines = std::vector<std::string_view>;

CodeLines lines_of(std::string_view code);
// The lines up to the last full one, as one text.
std::string text_of(const CodeLines& lines);
constexpr std::string_view kCodeBlanks = " \t\r\f\v";  // within a line
bool is_blank(std::string_view line);
// The blanks and tabs that a line begins with.
std::string_view indentation_of(std::string_view line);
// The longest indentation that all lines begin with; blank lines do not count.
std::string_view shared_indentation(const CodeLines& lines);
// Removes `indentation` from all lines that begin with it.
void remove_indentation(CodeLines& lines, std::string_view indentation);
// The number of the first line that is not blank, from 0; lines.size(): all are blank.
size_t first_full(const CodeLines& lines);
// The part of a note that lists lines which do not run: "; left out: `one`, `two` and 3 more lines". It may be empty.
std::string left_out_note(const CodeLines& left_out);

}  // namespace executions

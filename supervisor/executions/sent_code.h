// Sent code: the program in a text that a client sent as code. Takes off what stands around a program and is a part of
// it in no language: a byte order mark, line ends of Windows (shell), an object of JSON, tags, the fences of Markdown
// with the prose around them, line numbers, prompts, the indentation that all lines share. The table in
// supervisor/tools/guide.md has a row for each; tests/supervisor/repairs_test.py proves its cells.
// A text is changed only if it is no program of its language, or none that does what it shows: a line of shell that
// begins with ``` would run the output of the lines between the fences as commands. Text that a program quotes stays.
// The code comes from agents, and may be hostile: all work is linear in its length, and most code is only searched for
// a few characters.
// Used by: runs/execute_request.cc, tools/skills/save_skill.cc.
#pragma once
#include <string>
#include <vector>

#include "jail/language.h"
#include "supervisor/base/result.h"

namespace executions {

struct SentCode {
  std::string code;                // its lines keep their numbers
  std::vector<std::string> notes;  // sentences for the agent: which text was changed or left out
  bool is_typescript = false;      // the fence says so
};
// Errors: invalid, with the remedy: the text says that it is in another language; there is no code in it.
Result<SentCode> read_sent_code(std::string code, jail::Language language);

}  // namespace executions

// Prompts: the lines that a person typed, in the text of a session with an interpreter: `$ ls`, `user@host:~$ ls`,
// `>>> x = 1`, `In [1]: x = 1`, and Node's `> x`. The other lines are output, and do not run.
// Only a text whose first line has a prompt is such a session. `> x` in a shell is a redirection, and stays.
// Pure; linear in the text. Used by: sent_code.cc.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/executions/code_language.h"

namespace executions {

struct PromptedCode {
  std::string code;  // lines keep their numbers
  std::string note;  // which lines were left out
};
// nullopt: the code has no prompt. Errors: invalid: Python's prompt in another language.
Result<std::optional<PromptedCode>> take_from_prompts(std::string_view code, CodeLanguage language);

// Whether a line begins with the prompt of a shell that names a user and a machine, or with `$ `.
bool has_shell_prompt(std::string_view line);

}  // namespace executions

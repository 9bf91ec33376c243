// Code language: the language that a text around code names, by the words of fences, tags and prompts.
// Used by: sent_code.cc, code_fences.cc, code_prompts.cc. Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "jail/language.h"
#include "supervisor/base/result.h"

namespace executions {

using CodeLanguage = jail::Language;

// The language of a word in small letters, as it stands behind a fence: "py", "bash", "tsx". nullopt: none that jails
// run.
std::optional<CodeLanguage> language_of_word(std::string_view word);
inline std::string_view name_of(CodeLanguage language) { return jail::language_name(language); }
// JavaScript and TypeScript count as one: each runner takes both.
constexpr bool is_same(CodeLanguage a, CodeLanguage b) {
  return a == b || (jail::runs_in_node(a) && jail::runs_in_node(b));
}
// The error invalid for a text that names another language than the call: "the fence says bash, and language is
// python". `problem`: the first half.
tl::unexpected<Error> wrong_language(const std::string& problem, CodeLanguage named, CodeLanguage of_call);

}  // namespace executions

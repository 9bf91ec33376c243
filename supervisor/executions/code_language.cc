#include "supervisor/executions/code_language.h"

#include <fmt/format.h>

#include <algorithm>

namespace executions {
namespace {

struct WordOfLanguage {
  std::string_view word;
  CodeLanguage language;
};
constexpr WordOfLanguage kWords[] = {
    {"py", CodeLanguage::python},
    {"python", CodeLanguage::python},
    {"python3", CodeLanguage::python},
    {"py3", CodeLanguage::python},
    {"ipython", CodeLanguage::python},
    {"ipython3", CodeLanguage::python},
    {"pycon", CodeLanguage::python},
    {"js", CodeLanguage::javascript},
    {"javascript", CodeLanguage::javascript},
    {"mjs", CodeLanguage::javascript},
    {"cjs", CodeLanguage::javascript},
    {"jsx", CodeLanguage::javascript},
    {"node", CodeLanguage::javascript},
    {"nodejs", CodeLanguage::javascript},
    {"ecmascript", CodeLanguage::javascript},
    {"ts", CodeLanguage::typescript},
    {"typescript", CodeLanguage::typescript},
    {"mts", CodeLanguage::typescript},
    {"cts", CodeLanguage::typescript},
    {"tsx", CodeLanguage::typescript},
    {"sh", CodeLanguage::shell},
    {"bash", CodeLanguage::shell},
    {"shell", CodeLanguage::shell},
    {"zsh", CodeLanguage::shell},
    {"console", CodeLanguage::shell},
    {"terminal", CodeLanguage::shell},
    {"shell-session", CodeLanguage::shell},
    {"shellscript", CodeLanguage::shell},
};

}  // namespace

std::optional<CodeLanguage> language_of_word(std::string_view word) {
  const auto it =
      std::find_if(std::begin(kWords), std::end(kWords), [&](const WordOfLanguage& each) { return each.word == word; });
  if (it == std::end(kWords)) return std::nullopt;
  return it->language;
}

tl::unexpected<Error> wrong_language(const std::string& problem, CodeLanguage named, CodeLanguage of_call) {
  return fail(Code::invalid, fmt::format("code: {}, and the call's language is {}", problem, name_of(of_call)),
              fmt::format("call it with language=\"{}\"", name_of(named)), "languages");
}

}  // namespace executions

// Fences: the blocks of code in a text with Markdown's fences (``` and ~~~).
// A text that begins with a fence is a program of no language. Behind other lines a fence may be a part of a program's
// text; so these lines must be prose. A block ends with the first fence that can close it and that is in none of its
// own texts: a text in three quotes (Python), a comment (JavaScript), a here-document (shell). Only blocks of the
// call's language run; if the fences name no language, only the first block does: a second one is often the output.
// Pure; linear in the text. Used by: sent_code.cc.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/executions/code_language.h"
#include "supervisor/executions/code_lines.h"

namespace executions {

struct FencedCode {
  std::string code;                      // lines keep their numbers
  std::string note;                      // which lines were left out
  std::optional<CodeLanguage> language;  // by the word of the fence
};
// nullopt: the code has no fences, or they are part of a program. Errors: invalid: the blocks are in other languages,
// or empty.
Result<std::optional<FencedCode>> take_from_fences(std::string_view code, CodeLanguage language);

// HereDocuments: which here-documents are open after the lines of a shell program that it has read. Quotes, comments
// and shifts (1<<x) are not understood: it may take a here-document for open that is none.
class HereDocuments {
 public:
  void read(std::string_view line);
  bool is_open() const { return next_ < ends_.size(); }
  static bool all_end(const CodeLines& lines);

 private:
  struct End {
    std::string word;
    bool may_have_tabs = false;  // <<-
  };
  std::vector<End> ends_;
  size_t next_ = 0;  // in ends_
};

}  // namespace executions

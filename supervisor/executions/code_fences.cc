#include "supervisor/executions/code_fences.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "supervisor/base/ascii.h"
#include "supervisor/base/log.h"
#include "supervisor/base/trimmed.h"

namespace executions {
namespace {

// Words behind a fence that name no language.
constexpr std::array<std::string_view, 7> kNoLanguage = {"", "code", "tool_code", "text", "txt", "plaintext", "plain"};
// A sentence that begins with one of these may be a statement of Python.
constexpr std::array<std::string_view, 17> kStatements = {"if",   "elif",   "else",   "for",   "while",  "with",
                                                          "try",  "except", "def",    "class", "async",  "match",
                                                          "case", "return", "import", "from",  "finally"};

template <class List>
bool has(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

struct Fence {
  size_t line = 0;
  std::string_view indentation, marks;
  std::string word;  // in small letters; may be empty
  bool is_bare = false;
  bool names_no_language() const { return has(kNoLanguage, word); }
};

std::optional<Fence> read_fence(std::string_view line, size_t number) {
  Fence fence;
  fence.line = number;
  fence.indentation = indentation_of(line);
  line.remove_prefix(fence.indentation.size());
  if (line.empty() || (line[0] != '`' && line[0] != '~')) return std::nullopt;
  fence.marks = line.substr(0, std::min(line.find_first_not_of(line[0]), line.size()));
  if (fence.marks.size() < 3) return std::nullopt;
  const std::string_view rest = trimmed(line.substr(fence.marks.size()), kCodeBlanks);
  if (rest.find('`') != rest.npos) return std::nullopt;
  fence.is_bare = rest.empty();
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t,:"));
  fence.word = lower_case(trimmed(word, "{}."));
  return fence;
}

bool can_close(const Fence& fence, const Fence& opening) {
  return fence.is_bare && fence.marks[0] == opening.marks[0] && fence.marks.size() >= opening.marks.size();
}

size_t count_of(std::string_view text, std::string_view word) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(word, at)) != text.npos; at += word.size()) count++;
  return count;
}

// OpenTexts: whether the lines of a block that were read end in a text or comment that may hold fences.
class OpenTexts {
 public:
  explicit OpenTexts(CodeLanguage language) : language_(language) {}
  void read(std::string_view line) {
    if (language_ == CodeLanguage::shell) {
      documents_.read(line);
    } else if (language_ == CodeLanguage::python) {
      double_quotes_ += count_of(line, "\"\"\"");
      single_quotes_ += count_of(line, "'''");
    } else {
      const size_t begin = line.rfind("/*"), end = line.rfind("*/");
      if (begin == line.npos && end == line.npos) return;
      in_comment_ = end == line.npos || (begin != line.npos && begin > end);
    }
  }
  bool any() const { return documents_.is_open() || double_quotes_ % 2 != 0 || single_quotes_ % 2 != 0 || in_comment_; }

 private:
  const CodeLanguage language_;
  HereDocuments documents_;
  size_t double_quotes_ = 0, single_quotes_ = 0;
  bool in_comment_ = false;
};

struct Block {
  Fence opening;
  size_t end = 0;  // the line of the closing fence, or the number of lines
};

// The block that `opening` begins. Without a fence that surely closes it, it ends with the last one that can.
Block block_of(const CodeLines& lines, Fence opening, CodeLanguage language) {
  OpenTexts texts(language);
  size_t last = lines.size();
  for (size_t i = opening.line + 1; i < lines.size(); i++) {
    if (const auto fence = read_fence(lines[i], i); fence && can_close(*fence, opening)) {
      last = i;
      if (!texts.any()) break;
    }
    texts.read(lines[i]);
  }
  return {std::move(opening), last};
}

std::vector<Block> blocks_of(const CodeLines& lines, size_t first, CodeLanguage language) {
  std::vector<Block> blocks;
  for (size_t i = first; i < lines.size(); i++) {
    auto fence = read_fence(lines[i], i);
    if (!fence) continue;
    blocks.push_back(block_of(lines, *std::move(fence), language));
    i = blocks.back().end;
  }
  return blocks;
}

// A heading, a point of a list or a quotation of Markdown; its first characters are no command.
bool is_marked(std::string_view line) {
  for (const std::string_view mark : {"# ", "## ", "### ", "#### ", "* ", "- ", "> "})
    if (line.starts_with(mark)) return true;
  return false;
}

// Whether a line before a fence is prose, and no program. In doubt it is a program.
bool is_prose(std::string_view line, CodeLanguage language) {
  line = trimmed(line, kCodeBlanks);
  if (line.starts_with("#")) return language != CodeLanguage::shell || !line.starts_with("#!");
  if (line.starts_with("//") && jail::runs_in_node(language)) return true;
  const bool is_shell = language == CodeLanguage::shell;
  if (line.find("\"\"\"") != line.npos || line.find("'''") != line.npos || line.ends_with('\\')) return false;
  // Without the code that prose quotes, the line has no characters of code.
  std::string plain;
  for (bool is_quoted = false; const char c : line) {
    if (c == '`') is_quoted = !is_quoted;
    if (!is_quoted) plain += c;
  }
  if (plain.find_first_of(is_shell ? "$|;&<>(){}=\\\"" : "={};$\\") != plain.npos) return false;
  const char first = line[0];
  const bool begins_word = is_letter(first) || static_cast<unsigned char>(first) >= 0x80;
  if (!begins_word) return is_marked(line);
  const std::string_view word =
      std::string_view(plain).substr(0, std::min(plain.find_first_of(" :,.!?'"), plain.size()));
  const bool is_capital = is_upper(first);
  if (!is_capital && (is_shell || has(kStatements, word))) return static_cast<unsigned char>(first) >= 0x80;
  const bool has_end = std::string_view(":.!?").find(line.back()) != std::string_view::npos ||
                       line.ends_with("\xef\xbc\x9a") || line.ends_with("\xe3\x80\x82");  // of Chinese text
  return has_end &&
         (is_capital || std::count(line.begin(), line.end(), ' ') >= 2 || static_cast<unsigned char>(first) >= 0x80);
}

bool are_prose(const CodeLines& lines, size_t end, CodeLanguage language) {
  return std::all_of(lines.begin(), lines.begin() + static_cast<ptrdiff_t>(end),
                     [&](std::string_view line) { return is_blank(line) || is_prose(line, language); });
}

// Whether a line of a shell program is a fence and stands in no here-document and in no quotes: a shell would run the
// output of the lines between two fences.
bool has_live_fence(const CodeLines& lines) {
  HereDocuments documents;
  size_t quotes = 0;
  for (size_t i = 0; i < lines.size(); i++) {
    const bool is_text = documents.is_open();
    documents.read(lines[i]);
    if (is_text) continue;
    const std::string_view bare = lines[i].substr(indentation_of(lines[i]).size());
    if (quotes % 2 == 0 && bare.starts_with("```") && read_fence(lines[i], i)) return true;
    if (!bare.starts_with('#')) quotes += static_cast<size_t>(std::count(bare.begin(), bare.end(), '\''));
  }
  return false;
}

// Code with a fence behind it and none before it. The whole text is no program: a back quote or a `~~~` is left over.
std::optional<FencedCode> without_last_fence(const CodeLines& lines, const Fence& fence) {
  if (!fence.is_bare) return std::nullopt;
  for (size_t i = fence.line + 1; i < lines.size(); i++)
    if (!is_blank(lines[i])) return std::nullopt;
  size_t quotes = 0;
  for (size_t i = 0; i < fence.line; i++) quotes += std::count(lines[i].begin(), lines[i].end(), '`');
  if (quotes % 2 != 0) return std::nullopt;
  const CodeLines before(lines.begin(), lines.begin() + static_cast<ptrdiff_t>(fence.line));
  return FencedCode{text_of(before), "left out the fence behind the code", std::nullopt};
}

// The blocks to run: those of the call's language, else the first of no language.
Result<std::vector<Block>> choose(std::vector<Block> blocks, CodeLanguage language) {
  std::vector<Block> own;
  for (const Block& block : blocks) {
    const auto named = language_of_word(block.opening.word);
    if (named && is_same(*named, language)) own.push_back(block);
  }
  if (!own.empty()) return own;
  const auto bare =
      std::find_if(blocks.begin(), blocks.end(), [](const Block& block) { return block.opening.names_no_language(); });
  if (bare != blocks.end()) return std::vector<Block>{*bare};
  const std::string& word = blocks.front().opening.word;
  if (const auto named = language_of_word(word))
    return wrong_language(fmt::format("its fence says `{}`", word), *named, language);
  return fail(Code::invalid, fmt::format("code: its fence says `{}`, which is no language here", printable(word, 40)),
              fmt::format("send the program without fences, in {}", name_of(language)), "languages");
}

FencedCode code_of(const CodeLines& lines, const std::vector<Block>& blocks) {
  FencedCode code;
  CodeLines code_lines(lines.size()), left_out = lines;
  for (const Block& block : blocks) {
    const size_t begin = block.opening.line + 1;
    CodeLines inside(lines.begin() + static_cast<ptrdiff_t>(begin), lines.begin() + static_cast<ptrdiff_t>(block.end));
    if (shared_indentation(inside).starts_with(block.opening.indentation))
      remove_indentation(inside, block.opening.indentation);
    std::copy(inside.begin(), inside.end(), code_lines.begin() + static_cast<ptrdiff_t>(begin));
    for (size_t i = block.opening.line; i <= block.end && i < lines.size(); i++) left_out[i] = {};
    if (!code.language) code.language = language_of_word(block.opening.word);
  }
  for (size_t i = 0; i < left_out.size(); i++)
    if (const auto fence = read_fence(left_out[i], i); fence && fence->is_bare) left_out[i] = {};
  code.code = text_of(code_lines);
  code.note = "took the code between the fences" + left_out_note(left_out);
  return code;
}

// The words that end the here-documents which begin in a line: <<EOF, <<-'EOF', << "EOF".
bool is_in_word(char c) { return is_word(c) || c == '-' || c == '.'; }

}  // namespace

void HereDocuments::read(std::string_view line) {
  if (is_open()) {
    std::string_view end = line;
    if (ends_[next_].may_have_tabs) end.remove_prefix(std::min(end.find_first_not_of('\t'), end.size()));
    if (end == ends_[next_].word) next_++;
    return;
  }
  for (size_t at = 0; (at = line.find("<<", at)) != line.npos;) {
    at += 2;
    if (at < line.size() && line[at] == '<') {  // a here-string
      at = std::min(line.find_first_not_of('<', at), line.size());
      continue;
    }
    End end;
    end.may_have_tabs = at < line.size() && line[at] == '-';
    if (end.may_have_tabs) at++;
    at = std::min(line.find_first_not_of(" \t", at), line.size());
    const bool is_quoted = at < line.size() && (line[at] == '\'' || line[at] == '"' || line[at] == '\\');
    if (is_quoted) at++;
    const size_t begin = at;
    while (at < line.size() && is_in_word(line[at])) at++;
    end.word = line.substr(begin, at - begin);
    const bool is_number = !end.word.empty() && is_digit(end.word[0]);
    if (end.word.empty() || (is_number && !is_quoted)) continue;
    ends_.push_back(std::move(end));
  }
}

bool HereDocuments::all_end(const CodeLines& lines) {
  HereDocuments documents;
  for (const std::string_view line : lines) documents.read(line);
  return !documents.is_open();
}

Result<std::optional<FencedCode>> take_from_fences(std::string_view code, CodeLanguage language) {
  if (code.find("```") == code.npos && code.find("~~~") == code.npos) return std::nullopt;
  const CodeLines lines = lines_of(code);
  std::optional<Fence> first;
  for (size_t i = 0; i < lines.size() && !first; i++) first = read_fence(lines[i], i);
  if (!first) return std::nullopt;
  if (first_full(lines) < first->line) {
    if (auto reserved = without_last_fence(lines, *first)) return reserved;
    if (!are_prose(lines, first->line, language)) {
      if (language != CodeLanguage::shell || !has_live_fence(lines)) return std::nullopt;
      return fail(Code::invalid, "code: a fence of Markdown stands between other lines, which may be commands",
                  "send the program without fences and without the text around it", "languages");
    }
  }
  TRY(const std::vector<Block> blocks, choose(blocks_of(lines, first->line, language), language));
  FencedCode fenced_code = code_of(lines, blocks);
  if (fenced_code.code.empty())
    return fail(Code::invalid, "code: there is no program between the fences", "send the program, without fences",
                "languages");
  return fenced_code;
}

}  // namespace executions

// Files that a program in a jail changed, as the diff that a person reads before a commit. The hunks make the old text
// the new one, and backwards the new text the old one; no shorter list of lines does. The written diff is valid UTF-8
// without control characters, keeps its bound, and can be applied like a patch unless it says why not.
// Input: the first byte says how: bits 0 and 1 the file is changed, new, deleted or has another mode; bit 2: each byte
// of the texts is a line. Then a line with the path, the old text, a line "---", the new text. Larger texts, and those
// with more edits than the bound, would leave no time for others: text_diff_test.cc has them.
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/tenants/proposals/line_diff.h"
#include "supervisor/tenants/proposals/text_diff.h"
#include "tests/fuzz/metered_jobs.h"
#include "tests/temp_directory.h"

namespace {

using namespace proposals;
using fuzz::require;

constexpr size_t kMaxInput = 400;  // bytes
constexpr size_t kMaxLines = 64;   // of both texts, for a comparison with all common sequences
constexpr size_t kSmallDiff = 300, kLargeDiff = 4 << 20, kLastLines = 200;

// A folder of the file system in memory with one file, "f".
struct Folder {
  Folder() {
    ::setenv("TMPDIR", "/dev/shm", 0);
    directory.emplace();
    fd = Fd(::open(directory->path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    require(static_cast<bool>(fd));
  }
  void write(std::string_view text) const {
    std::ofstream file(directory->path() / "f", std::ios::binary | std::ios::trunc);
    file << text;
    require(file.flush().good());
  }
  std::optional<TempDirectory> directory;
  Fd fd;
};

struct Texts {
  std::string path, before, after;
  bool has_before = true, has_after = true, has_new_mode = false;
};

std::string expanded(std::string_view bytes, uint8_t how) {
  if ((how & 4) == 0) return std::string(bytes);
  std::string text;
  for (const char c : bytes) text.append({c, '\n'});
  return text;
}

Texts read_texts(uint8_t how, std::string_view bytes) {
  constexpr std::string_view kBetween = "\n---\n";
  Texts texts;
  for (const char c : fuzz::take_line(bytes))
    if (c != '\0') texts.path += c;
  if (texts.path.empty()) texts.path = "f";
  const size_t middle = std::min(bytes.find(kBetween), bytes.size());
  texts.before = expanded(bytes.substr(0, middle), how);
  texts.after = expanded(bytes.substr(std::min(middle + kBetween.size(), bytes.size())), how);
  texts.has_before = (how & 3) != 1;
  texts.has_after = (how & 3) != 2;
  texts.has_new_mode = (how & 3) == 3;
  if (!texts.has_before) texts.before.clear();
  if (!texts.has_after) texts.after.clear();
  return texts;
}

// Applies hunks to `lines`. `removed`: the mark of the lines that go: '-', or '+' to undo the hunks.
std::string applied(const std::vector<std::string_view>& lines, const std::vector<LineHunk>& hunks, char removed) {
  std::string text;
  size_t at = 0;
  for (const LineHunk& hunk : hunks) {
    const size_t begin = removed == '-' ? hunk.old_begin : hunk.new_begin;
    require(begin >= at && begin <= lines.size());
    for (; at < begin; at++) text += lines[at];
    for (const HunkLine& line : hunk.lines) {
      const bool is_here = line.mark == ' ' || line.mark == removed;
      if (is_here) require(at < lines.size() && lines[at++] == line.text);
      if (line.mark == ' ' || !is_here) text += line.text;
    }
    require(at == begin + (removed == '-' ? hunk.old_count : hunk.new_count));
  }
  for (; at < lines.size(); at++) text += lines[at];
  return text;
}

size_t longest_common(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
  std::vector<size_t> row(b.size() + 1, 0);
  for (const auto& line : a) {
    size_t diagonal = 0;
    for (size_t j = 1; j <= b.size(); j++) {
      const size_t above = row[j];
      row[j] = line == b[j - 1] ? diagonal + 1 : std::max(above, row[j - 1]);
      diagonal = above;
    }
  }
  return row.back();
}

size_t context_at(const auto& begin, const auto& end) {
  size_t count = 0;
  for (auto line = begin; line != end && line->mark == ' '; ++line) count++;
  return count;
}

void check_hunks(const std::string& before, const std::string& after) {
  const auto old_lines = split_lines(before), new_lines = split_lines(after);
  const auto hunks = line_hunks(before, after);
  require(hunks.empty() == (before == after));
  require(applied(old_lines, hunks, '-') == after);
  require(applied(new_lines, hunks, '+') == before);
  size_t edits = 0;
  for (const LineHunk& hunk : hunks) {
    size_t context = 0;  // lines since the last edit of this hunk
    bool had_edit = false;
    for (const HunkLine& line : hunk.lines) {
      const bool is_edit = line.mark != ' ';
      require(!is_edit || !had_edit || context <= 2 * kContextLines);
      context = is_edit ? 0 : context + 1;
      had_edit |= is_edit;
      edits += is_edit;
    }
    require(had_edit && context_at(hunk.lines.begin(), hunk.lines.end()) <= kContextLines &&
            context_at(hunk.lines.rbegin(), hunk.lines.rend()) <= kContextLines);
  }
  if (old_lines.size() + new_lines.size() <= kMaxLines)
    require(edits == old_lines.size() + new_lines.size() - 2 * longest_common(old_lines, new_lines));
}

FileChange change_of(const Texts& texts) {
  FileChange change;
  change.path = texts.path;
  change.before_path = change.after_path = "f";
  tenants::Entry entry;
  entry.kind = tenants::FileKind::file;
  entry.mode = 0644;
  entry.size = texts.before.size();
  if (texts.has_before) change.before = entry;
  entry.size = texts.after.size();
  if (texts.has_new_mode) entry.mode = 0755;
  if (texts.has_after) change.after = entry;
  return change;
}

size_t take_number(std::string_view& text) {
  size_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  require(end.ec == std::errc());
  text.remove_prefix(static_cast<size_t>(end.ptr - text.data()));
  return number;
}

// "-3,4" or "-3" of a hunk's first line: the index of its first line, and the number of its lines.
std::pair<size_t, size_t> take_range(std::string_view& text, std::string_view mark) {
  require(text.starts_with(mark));
  text.remove_prefix(mark.size());
  const size_t line = take_number(text);
  size_t count = 1;
  if (text.starts_with(',')) {
    text.remove_prefix(1);
    count = take_number(text);
  }
  require(count == 0 || line > 0);
  return {count == 0 ? line : line - 1, count};
}

// Reads the hunks of a written diff, as patch(1) does. The texts of the lines point into `diff`.
std::vector<LineHunk> read_hunks(std::string_view diff) {
  constexpr std::string_view kNoNewline = "\\ No newline at end of file\n";
  std::vector<LineHunk> hunks;
  while (!diff.empty()) {
    LineHunk& hunk = hunks.emplace_back();
    std::string_view first = fuzz::take_line(diff);
    std::tie(hunk.old_begin, hunk.old_count) = take_range(first, "@@ -");
    std::tie(hunk.new_begin, hunk.new_count) = take_range(first, " +");
    require(first == " @@");
    for (size_t olds = 0, news = 0; olds < hunk.old_count || news < hunk.new_count;) {
      require(!diff.empty());
      const char mark = diff.front();
      require(mark == ' ' || mark == '-' || mark == '+');
      const size_t end = diff.find('\n');
      require(end != diff.npos);
      std::string_view line = diff.substr(1, end);
      diff.remove_prefix(end + 1);
      if (diff.starts_with(kNoNewline)) {
        diff.remove_prefix(kNoNewline.size());
        line.remove_suffix(1);
      }
      hunk.lines.push_back({mark, line});
      olds += mark != '+', news += mark != '-';
    }
  }
  return hunks;
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= ' ' && c < 0x7F) || c == '\n' || c == '\t'; });
}

void check_written(const Texts& texts, const Folder& before, const Folder& after) {
  before.write(texts.before);
  after.write(texts.after);
  const FileChange change = change_of(texts);
  TextDiff large(kLargeDiff), small(kSmallDiff);
  require(large.add(change, before.fd.get(), after.fd.get()) == true);
  require(small.add(change, before.fd.get(), after.fd.get()).has_value());
  const std::string diff = std::move(large).finished();
  require(std::move(small).finished().size() <= kSmallDiff + kLastLines);
  require(!diff.empty() && diff.ends_with('\n') && valid_utf8(diff) == diff);
  for (size_t i = 0; i < diff.size(); i++) {
    const auto byte = static_cast<unsigned char>(diff[i]);
    require(byte >= 0x20 ? byte != 0x7F : byte == '\n' || byte == '\t' || (byte == '\r' && diff[i + 1] == '\n'));
  }
  if (diff.starts_with('#')) {  // says why it cannot be applied
    const bool is_same = change.before && change.after && texts.before == texts.after && !texts.has_new_mode;
    require(is_same || texts.path.find(".git/") != texts.path.npos || !is_plain(texts.before) ||
            !is_plain(texts.after));
    return;
  }
  require(diff.starts_with("diff --git "));
  const size_t names = diff.find("\n--- "), hunks = diff.find("\n@@ ");
  require((names == diff.npos) == (texts.before == texts.after) && (hunks == diff.npos) == (names == diff.npos));
  if (hunks == diff.npos) return;
  require(std::count(diff.begin(), diff.begin() + static_cast<ptrdiff_t>(hunks), '\n') <= 5);
  require(applied(split_lines(texts.before), read_hunks(std::string_view(diff).substr(hunks + 1)), '-') == texts.after);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Folder kBefore, kAfter;
  if (size == 0 || size > kMaxInput) return 0;
  const Texts texts = read_texts(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  check_hunks(texts.before, texts.after);
  check_written(texts, kBefore, kAfter);
  return 0;
}

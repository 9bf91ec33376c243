#include "supervisor/tenants/proposals/text_diff.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/deceiving_text.h"
#include "supervisor/base/json/json.h"
#include "supervisor/tenants/index/interpreter_files.h"
#include "supervisor/tenants/proposals/line_diff.h"

namespace proposals {
namespace {

using tenants::FileKind;

constexpr uint64_t kMaxLeftOut = 100;  // changes with a too long part; each is compared before its length is known

bool is_text(std::string_view bytes) {
  return bytes.find('\0') == bytes.npos && whole_utf8_prefix(bytes) == bytes.size() && valid_utf8(bytes) == bytes;
}

uint32_t code_point(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0);
  uint32_t value = byte(0) & (0xFFu >> (character.size() + 1));
  for (size_t i = 1; i < character.size(); i++) value = value << 6 | (byte(i) & 0x3F);
  return value;
}

// One line without its newline. A tab, and the carriage return of a DOS line, are harmless.
void append_harmless(std::string& to, std::string_view line, bool& was_replaced) {
  for (size_t i = 0; i < line.size();) {
    const size_t deceiving = deceiving_bytes(line.substr(i));
    const bool is_line_end = line[i] == '\r' && i + 1 == line.size();
    if (deceiving == 0 || line[i] == '\t' || is_line_end) {
      to += line[i++];
      continue;
    }
    fmt::format_to(std::back_inserter(to), "<U+{:04X}>", code_point(line.substr(i, deceiving)));
    was_replaced = true;
    i += deceiving;
  }
}

void append_lines(std::string& to, const std::vector<HunkLine>& lines, bool& was_replaced) {
  for (const HunkLine& line : lines) {
    to += line.mark;
    const bool has_newline = line.text.ends_with('\n');
    append_harmless(to, line.text.substr(0, line.text.size() - has_newline), was_replaced);
    to += has_newline ? "\n" : "\n\\ No newline at end of file\n";
  }
}

// "3,4" of "@@ -3,4 +5 @@"; an empty range names the line before it.
std::string range_text(size_t begin, size_t count) {
  const size_t line = count == 0 ? begin : begin + 1;
  return count == 1 ? std::to_string(line) : fmt::format("{},{}", line, count);
}

std::string git_mode(const tenants::Entry& entry) {
  return entry.kind == FileKind::link ? "120000" : fmt::format("100{:03o}", entry.mode & 07777);
}

// git and patch(1) end a name with spaces at a tab.
std::string header_name(const std::string& name) { return name.find(' ') == name.npos ? name : name + '\t'; }

// The objects, the index and the names of commits: what these files say, git says better. All other files of .git are
// shown, because they may name programs that git runs: hooks, settings, and commondir, which names another .git.
bool is_of_git(std::string_view path) {
  constexpr std::string_view kGit = ".git/";
  const std::string_view folder = tenants::managed_folder(path);
  if (!folder.ends_with(kGit) || (folder.size() > kGit.size() && folder[folder.size() - kGit.size() - 1] != '/'))
    return false;
  const std::string_view below = path.substr(folder.size());
  for (const std::string_view name : {"index", "HEAD", "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "packed-refs"})
    if (below == name) return true;
  for (const std::string_view name : {"logs/", "refs/", "objects/pack/"})
    if (below.starts_with(name)) return true;
  constexpr std::string_view kObjects = "objects/xx/";  // xx: two digits of the object's name
  return below.starts_with("objects/") && below.size() > kObjects.size() && below[kObjects.size() - 1] == '/';
}

}  // namespace

std::string quoted_name(std::string_view prefix, std::string_view path) {
  std::string escaped(prefix);
  bool is_quoted = false;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      escaped.append({'\\', c});
      is_quoted = true;
    } else if (byte < 0x20 || byte >= 0x7F) {
      fmt::format_to(std::back_inserter(escaped), "\\{:03o}", byte);
      is_quoted = true;
    } else {
      escaped += c;
    }
  }
  return is_quoted ? '"' + escaped + '"' : escaped;
}

struct TextDiff::Side {
  bool exists = false;
  bool is_text = true;  // `text` is whole
  std::string text;
  std::string why_not;  // "binary", "large", ...
  uint64_t bytes = 0;
};

Result<TextDiff::Side> TextDiff::read_side(const std::optional<tenants::Entry>& entry, int root,
                                           const std::string& path) {
  Side side;
  if (!entry) return side;
  side.exists = true;
  side.bytes = entry->size;
  const auto is_not = [&side](std::string why) {
    side.is_text = false;
    side.why_not = std::move(why);
    return side;
  };
  if (entry->kind == FileKind::link) {
    auto target = read_link(root, path);
    if (!target) return is_not("unreadable link");
    side.text = *std::move(target);
    return is_text(side.text) ? side : is_not("link to a name that is not UTF-8");
  }
  if (entry->kind != FileKind::file) return is_not("special file");
  if (entry->size > kMaxDiffedFile) return is_not("large file");
  if (entry->size > read_left_) return is_not("file beyond the bound of this diff");
  auto text = read_regular(root, path, kMaxDiffedFile);
  if (!text) return is_not("unreadable file");
  read_left_ -= std::min<uint64_t>(read_left_, text->size());
  side.text = *std::move(text);
  return is_text(side.text) ? side : is_not("binary file");
}

std::string TextDiff::text_of(const FileChange& change, const Side& before, const Side& after) {
  const std::string name = quoted_name("", change.path);
  const std::string a = quoted_name("a/", change.path), b = quoted_name("b/", change.path);
  const auto of_mode = [&] {
    return fmt::format("old mode {}\nnew mode {}\n", git_mode(*change.before), git_mode(*change.after));
  };
  const bool is_both = change.before && change.after;
  const bool changes_mode = is_both && change.before->kind == change.after->kind &&
                            change.before->kind == FileKind::file && change.before->mode != change.after->mode;
  if (!before.is_text || !after.is_text) {
    const std::string& why = after.is_text ? before.why_not : after.why_not;
    std::string line = fmt::format("# {} {}: ", why, name);
    if (is_both) {
      line += fmt::format("{} bytes, were {} bytes", after.bytes, before.bytes);
    } else {
      line += after.exists ? fmt::format("new, {} bytes", after.bytes) : fmt::format("deleted, {} bytes", before.bytes);
    }
    if (changes_mode) line += fmt::format(", mode {:04o}, was {:04o}", change.after->mode, change.before->mode);
    return line + '\n';
  }
  std::string out = fmt::format("diff --git {} {}\n", a, b);
  if (!change.before) out += fmt::format("new file mode {}\n", git_mode(*change.after));
  if (!change.after) out += fmt::format("deleted file mode {}\n", git_mode(*change.before));
  if (changes_mode) out += of_mode();
  const auto hunks = line_hunks(before.text, after.text);
  if (hunks.empty())
    return is_both && !changes_mode ? fmt::format("# {}: written again, the bytes are the same\n", name) : out;
  out += fmt::format("--- {}\n", before.exists ? header_name(a) : "/dev/null");
  out += fmt::format("+++ {}\n", after.exists ? header_name(b) : "/dev/null");
  bool was_replaced = false;
  for (const LineHunk& hunk : hunks) {
    out += fmt::format("@@ -{} +{} @@\n", range_text(hunk.old_begin, hunk.old_count),
                       range_text(hunk.new_begin, hunk.new_count));
    append_lines(out, hunk.lines, was_replaced);
    if (out.size() > max_bytes_) break;  // it is left out as a whole
  }
  if (was_replaced)
    out.insert(0, fmt::format("# {} has control characters, shown as <U+001B>: this part cannot be applied\n", name));
  return out;
}

Result<bool> TextDiff::add(const FileChange& change, int before, int after) {
  if (is_full_) return false;
  if (is_of_git(change.path)) {
    of_git_++;
    return true;
  }
  std::string part;
  const auto& some = change.after ? change.after : change.before;
  if (!some) return true;
  if (some->kind == FileKind::directory) {
    part = fmt::format("# folder {}: mode {:04o}, was {:04o}\n", quoted_name("", change.path), change.after->mode,
                       change.before->mode);
  } else if (change.before && change.after && change.before->kind != change.after->kind) {
    // A file that becomes a link: git deletes the one and creates the other.
    FileChange deleted = change, created = change;
    deleted.after.reset();
    created.before.reset();
    TRY(const bool goes_on, add(deleted, before, after));
    return goes_on ? add(created, before, after) : goes_on;
  } else {
    TRY(const Side old_side, read_side(change.before, before, change.before_path));
    TRY(const Side new_side, read_side(change.after, after, change.after_path));
    part = text_of(change, old_side, new_side);
  }
  if (text_.size() + part.size() > max_bytes_ && left_out_ < kMaxLeftOut) {
    left_out_++;
    part = fmt::format("# {}: its part of the diff has {} bytes and is left out\n", quoted_name("", change.path),
                       part.size());
  }
  is_full_ = text_.size() + part.size() > max_bytes_;
  if (is_full_) return false;
  text_ += part;
  return true;
}

std::string TextDiff::finished() && {
  if (of_git_ > 0)
    text_ += fmt::format("# {} files of git's own are not shown: objects, names of commits, the index\n", of_git_);
  if (is_full_) text_ += "# the diff is longer than its bound: the other changes are left out\n";
  return std::move(text_);
}

}  // namespace proposals

// Check of an archive: reads the headers of a tar file in GNU's form, as write_archive() makes it, and refuses all that
// a backup never has.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "supervisor/base/json/json.h"
#include "supervisor/base/tree.h"
#include "supervisor/programs/cli/admin/archive.h"

namespace admin {
namespace {

constexpr size_t kBlock = 512, kMaxNameBytes = 8'192, kMaxArchiveEntries = 50'000'000;
constexpr uint64_t kMaxEntryBytes = 1ull << 50;
using TarBlock = std::array<char, kBlock>;

enum class EntryKind { file, folder, link, fifo };

class ArchiveCheck {
 public:
  explicit ArchiveCheck(int file) : file_(file) {}
  Result<std::vector<std::string>> run();

 private:
  Result<bool> read_block(TarBlock& block);
  Result<> skip(uint64_t bytes);
  Result<std::string> read_long_name(uint64_t bytes);
  Result<> take_entry(const TarBlock& header, uint64_t bytes);
  Result<> check_name(const std::string& name) const;
  Result<> check_parents(const std::string& name);
  tl::unexpected<Error> refuse(const std::string& name, const std::string& why) const {
    return fail(Code::invalid, "the archive is refused: '" + valid_utf8(name.substr(0, 200)) + "' " + why,
                "use a file that warder backup has written");
  }

  int file_;
  uint64_t offset_ = 0;
  std::optional<std::string> long_name_, long_link_;
  std::map<std::string, EntryKind, std::less<>> seen_;
  std::vector<std::string> top_;
};

// A number as octal digits, or in base 256 if the first bit is set.
std::optional<uint64_t> tar_number(std::string_view field) {
  if (!field.empty() && (field.front() & 0x80) != 0) {
    uint64_t value = static_cast<unsigned char>(field.front()) & 0x7f;
    for (unsigned char byte : field.substr(1)) {
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | byte;
    }
    return value;
  }
  uint64_t value = 0;
  while (field.starts_with(' ')) field.remove_prefix(1);
  while (!field.empty() && (field.back() == ' ' || field.back() == '\0')) field.remove_suffix(1);
  for (char digit : field) {
    if (digit < '0' || digit > '7' || value >> 60 != 0) return std::nullopt;
    value = value * 8 + static_cast<uint64_t>(digit - '0');
  }
  return value;
}

std::string_view field_of(const TarBlock& block, size_t at, size_t size) { return {block.data() + at, size}; }
std::string text_of_field(const TarBlock& block, size_t at, size_t size) {
  const std::string_view field = field_of(block, at, size);
  return std::string(field.substr(0, field.find('\0')));
}

bool has_right_sum(const TarBlock& block) {
  uint64_t sum = 8 * ' ';
  for (size_t i = 0; i < kBlock; i++)
    if (i < 148 || i >= 156) sum += static_cast<unsigned char>(block[i]);
  return tar_number(field_of(block, 148, 8)) == sum;
}

// GNU's form. In the other forms a header has further names, which this check does not read.
bool has_gnu_form(const TarBlock& block) { return field_of(block, 257, 8) == std::string_view("ustar  \0", 8); }

bool is_zero(const TarBlock& block) {
  return std::all_of(block.begin(), block.end(), [](char byte) { return byte == '\0'; });
}

Result<bool> ArchiveCheck::read_block(TarBlock& block) {
  const ssize_t got = read_fully_at(file_, block.data(), kBlock, offset_);
  if (got < 0) return fail_errno(errno, "read the archive");
  if (got == 0) return false;
  if (static_cast<size_t>(got) < kBlock) return fail(Code::invalid, "the archive is cut short");
  offset_ += kBlock;
  return true;
}

Result<> ArchiveCheck::skip(uint64_t bytes) {
  const uint64_t blocks = (bytes + kBlock - 1) / kBlock;
  if (blocks == 0) return {};
  offset_ += (blocks - 1) * kBlock;
  TarBlock last;
  TRY(const bool there, read_block(last));
  if (!there) return fail(Code::invalid, "the archive is cut short");
  return {};
}

Result<std::string> ArchiveCheck::read_long_name(uint64_t bytes) {
  if (bytes > kMaxNameBytes) return fail(Code::invalid, "the archive is refused: a name is too long");
  std::string text;
  while (text.size() < bytes) {
    TarBlock block;
    TRY(const bool there, read_block(block));
    if (!there) return fail(Code::invalid, "the archive is cut short");
    text.append(block.data(), kBlock);
  }
  return text.substr(0, std::min<size_t>(bytes, text.find('\0')));
}

Result<> ArchiveCheck::check_name(const std::string& name) const {
  if (name.empty() || name.size() > kMaxNameBytes) return refuse(name, "is no name");
  if (name.front() == '/') return refuse(name, "is an absolute path");
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = std::string_view(name).substr(at, end - at);
    if (part.empty() || part == "." || part == "..") return refuse(name, "has a part that is empty, '.' or '..'");
    at = end + 1;
  }
  return {};
}

Result<> ArchiveCheck::check_parents(const std::string& name) {
  for (size_t slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1)) {
    const auto parent = seen_.find(std::string_view(name).substr(0, slash));
    // tar makes a missing folder for root; only this check knows that no link is there.
    if (parent != seen_.end() && parent->second != EntryKind::folder)
      return refuse(name, "leads through what is no folder");
  }
  return {};
}

Result<> ArchiveCheck::take_entry(const TarBlock& header, uint64_t bytes) {
  std::string name = long_name_ ? *std::exchange(long_name_, {}) : text_of_field(header, 0, 100);
  const std::string target = long_link_ ? *std::exchange(long_link_, {}) : text_of_field(header, 157, 100);
  const char type = header[156];
  if (type == '5' && name.ends_with('/')) name.pop_back();
  CHECKED(check_name(name));
  CHECKED(check_parents(name));
  const bool of_tenant = name.starts_with("tenants/");
  EntryKind kind = EntryKind::file;
  if (type == '5') {
    kind = EntryKind::folder;
  } else if (type == '2' && of_tenant) {
    kind = EntryKind::link;
  } else if (type == '6' && of_tenant) {
    kind = EntryKind::fifo;
  } else if (type == '1') {
    const auto it = seen_.find(target);
    if (it == seen_.end() || it->second == EntryKind::folder) return refuse(name, "is a name of an unknown file");
    kind = it->second;
  } else if (type != '0' && type != '\0' && type != 'S') {
    return refuse(name, "is of a kind that a backup does not have");
  }
  if (type != '0' && type != '\0' && type != 'S' && bytes != 0) return refuse(name, "has contents, but is no file");
  const auto mode = tar_number(field_of(header, 100, 8)), uid = tar_number(field_of(header, 108, 8));
  const auto gid = tar_number(field_of(header, 116, 8));
  if (!mode || !uid || !gid || *uid > UINT32_MAX || *gid > UINT32_MAX)
    return refuse(name, "has no owner or permissions");
  const bool runs_as_root =
      kind == EntryKind::file && (((*mode & 04000) != 0 && *uid == 0) || ((*mode & 02000) != 0 && *gid == 0));
  if (runs_as_root) return refuse(name, "would run as root");
  if (!seen_.emplace(name, kind).second) return refuse(name, "is there twice");
  if (seen_.size() > kMaxArchiveEntries) return fail(Code::invalid, "the archive has too many entries");
  if (name.find('/') == name.npos) top_.push_back(name);
  if (type == 'S' && header[482] != '\0') {  // further blocks describe the holes
    TarBlock more;
    do {
      TRY(const bool there, read_block(more));
      if (!there) return fail(Code::invalid, "the archive is cut short");
    } while (more[504] != '\0');
  }
  return kind == EntryKind::file && type != '1' ? skip(bytes) : Result<>();
}

Result<std::vector<std::string>> ArchiveCheck::run() {
  for (;;) {
    TarBlock header;
    TRY(const bool there, read_block(header));
    if (!there || is_zero(header)) break;
    if (!has_right_sum(header) || !has_gnu_form(header))
      return fail(Code::invalid, "this is no archive of warder backup, or it is damaged");
    const auto bytes = tar_number(field_of(header, 124, 12));
    if (!bytes || *bytes > kMaxEntryBytes) return fail(Code::invalid, "the archive is damaged: an entry has no size");
    if (header[156] == 'L') {
      TRY(long_name_, read_long_name(*bytes));
    } else if (header[156] == 'K') {
      TRY(long_link_, read_long_name(*bytes));
    } else {
      CHECKED(take_entry(header, *bytes));
    }
  }
  return std::move(top_);
}

}  // namespace

Result<std::vector<std::string>> check_archive(int file) { return ArchiveCheck(file).run(); }

}  // namespace admin

#include "supervisor/tenants/kept_stream.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>

#include "supervisor/base/folder.h"
#include "supervisor/base/path.h"

namespace tenants {
namespace {

constexpr size_t kMaxParts = 8;  // the writer leaves three at most

// The offset in the name of a part; nothing for other names.
std::optional<uint64_t> offset_in(std::string_view file, std::string_view stream) {
  if (!file.starts_with(stream)) return std::nullopt;
  file.remove_prefix(stream.size());
  if (file.empty()) return 0;
  if (!file.starts_with('.')) return std::nullopt;
  file.remove_prefix(1);
  uint64_t offset = 0;
  const auto [end, error] = std::from_chars(file.data(), file.data() + file.size(), offset);
  const bool is_number = error == std::errc() && end == file.data() + file.size() && offset > 0;
  return is_number ? std::optional(offset) : std::nullopt;
}

}  // namespace

std::string part_name(std::string_view stream, uint64_t offset) {
  return offset == 0 ? std::string(stream) : std::string(stream) + "." + std::to_string(offset);
}

Result<> SavedStream::add(Fd file, uint64_t offset) {
  struct stat info {};
  if (::fstat(file.get(), &info) < 0) return fail_errno(errno, "look at the file");
  parts_.push_back(Part{std::move(file), offset, static_cast<uint64_t>(info.st_size)});
  return {};
}

Result<SavedStream> SavedStream::of_file(Fd file) {
  SavedStream stream;
  CHECKED(stream.add(std::move(file), 0));
  return stream;
}

Result<SavedStream> SavedStream::open(int directory, std::string_view name) {
  TRY(const auto files, read_names(FolderReader::at(directory, "the stored output")));
  std::vector<uint64_t> offsets;
  for (const std::string& file : files)
    if (const auto offset = offset_in(file, name); offset && offsets.size() < kMaxParts) offsets.push_back(*offset);
  std::sort(offsets.begin(), offsets.end());
  SavedStream stream;
  for (const uint64_t offset : offsets) {
    auto file = open_regular_beneath(directory, RelativePath::known(part_name(name, offset)), O_RDONLY);
    if (!file && file.error().code == Code::not_found)
      continue;  // a part that the running program has just left behind
    if (!file) return tl::unexpected<Error>(std::move(file).error());
    CHECKED(stream.add(*std::move(file), offset));
  }
  return stream;
}

uint64_t SavedStream::size() const { return parts_.empty() ? 0 : parts_.back().end(); }

std::optional<FileRange::Gap> SavedStream::gap() const {
  for (size_t i = 0; i + 1 < parts_.size(); i++) {
    const uint64_t end = parts_[i].end(), next = parts_[i + 1].offset;
    if (next > end) return FileRange::Gap{end, next - end};
  }
  return std::nullopt;
}

Result<FileRange> SavedStream::read(uint64_t offset, size_t limit) const {
  FileRange range;
  range.size = size();
  range.gap = gap();
  if (range.gap && offset >= range.gap->offset && offset < range.gap->offset + range.gap->bytes)
    offset = range.gap->offset + range.gap->bytes;
  range.offset = offset;
  for (const Part& part : parts_) {
    const uint64_t at = offset + range.bytes.size();
    if (at < part.offset || at >= part.end() || range.bytes.size() >= limit) continue;
    TRY(FileRange piece, read_range(part.file.get(), at - part.offset, limit - range.bytes.size()));
    if (range.bytes.empty()) {
      range.bytes = std::move(piece.bytes);
    } else {
      range.bytes += piece.bytes;
    }
  }
  return range;
}

}  // namespace tenants

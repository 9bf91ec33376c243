#include "supervisor/cluster/snapshot/tar_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>

#include "supervisor/base/log.h"

namespace cluster {
namespace {

constexpr size_t kMaxPaxBytes = 64 << 10;
constexpr int64_t kSecond = 1'000'000'000;
constexpr uint64_t kMaxOctal = (1ull << 33) - 1;  // eleven digits

tl::unexpected<Error> refuse_tar(std::string_view path, const std::string& why) {
  return fail(Code::invalid, fmt::format("the snapshot is refused: '{}' {}", printable(std::string(path), 200), why));
}

void put_octal(std::string& block, size_t at, size_t digits, uint64_t value) {
  const std::string text = fmt::format("{:0{}o}", value, digits);
  std::copy(text.begin(), text.end(), block.begin() + static_cast<ptrdiff_t>(at));
}

std::string ustar_block(char type, std::string_view name, uint32_t mode, uint64_t bytes, int64_t seconds) {
  std::string block(kTarBlock, '\0');
  std::copy_n(name.begin(), std::min<size_t>(name.size(), 99), block.begin());
  put_octal(block, 100, 7, mode);
  put_octal(block, 108, 7, 0);
  put_octal(block, 116, 7, 0);
  put_octal(block, 124, 11, std::min(bytes, kMaxOctal));
  put_octal(block, 136, 11, static_cast<uint64_t>(std::clamp<int64_t>(seconds, 0, int64_t{kMaxOctal})));
  std::fill_n(block.begin() + 148, 8, ' ');
  block[156] = type;
  block.replace(257, 8, std::string_view("ustar\00000", 8));
  uint64_t sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  put_octal(block, 148, 6, sum);
  block[154] = '\0';
  return block;
}

// "LENGTH key=value\n": the length counts itself.
void add_pax(std::string& records, std::string_view key, std::string_view value) {
  const size_t rest = key.size() + value.size() + 3;
  size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length) length = std::to_string(length).size() + rest;
  records += fmt::format("{} {}={}\n", length, key, value);
}

std::string time_text(int64_t ns) {
  int64_t seconds = ns / kSecond, rest = ns % kSecond;
  if (rest < 0) seconds--, rest += kSecond;
  return fmt::format("{}.{:09}", seconds, rest);
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

std::optional<int64_t> time_in(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == text.npos || text.size() != dot + 10) return std::nullopt;
  const auto seconds = number_in<int64_t>(text.substr(0, dot));
  const auto rest = number_in<uint32_t>(text.substr(dot + 1));
  if (!seconds || !rest || *seconds > INT64_MAX / kSecond - 1 || *seconds < INT64_MIN / kSecond + 1)
    return std::nullopt;
  return *seconds * kSecond + *rest;
}

std::optional<uint64_t> octal_in(const std::string& block, size_t at, size_t digits) {
  uint64_t value = 0;
  for (size_t i = at; i < at + digits; i++) {
    if (block[i] < '0' || block[i] > '7') return std::nullopt;
    value = value * 8 + static_cast<uint64_t>(block[i] - '0');
  }
  return value;
}

bool is_ustar(const std::string& block) {
  uint64_t sum = 8 * ' ';
  for (size_t i = 0; i < kTarBlock; i++)
    if (i < 148 || i >= 156) sum += static_cast<unsigned char>(block[i]);
  return octal_in(block, 148, 6) == sum && std::string_view(block).substr(257, 8) == std::string_view("ustar\00000", 8);
}

using PaxRecords = std::map<std::string, std::string, std::less<>>;

std::optional<PaxRecords> parse_pax(std::string_view text) {
  PaxRecords records;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const auto length = space == text.npos ? std::nullopt : number_in<size_t>(text.substr(0, space));
    if (!length || *length > text.size() || *length < space + 4 || text[*length - 1] != '\n') return std::nullopt;
    const std::string_view record = text.substr(space + 1, *length - space - 2);
    const size_t equals = record.find('=');
    if (equals == record.npos) return std::nullopt;
    if (!records.emplace(record.substr(0, equals), record.substr(equals + 1)).second) return std::nullopt;
    text.remove_prefix(*length);
  }
  return records;
}

std::string sparse_map(const TarEntry& entry) {
  std::string map = fmt::format("{}\n", entry.extents.size());
  for (const TarExtent& extent : entry.extents) map += fmt::format("{}\n{}\n", extent.offset, extent.size);
  map.resize(map.size() + tar_padding(map.size()), '\0');
  return map;
}

}  // namespace

size_t tar_padding(uint64_t data_bytes) { return (kTarBlock - data_bytes % kTarBlock) % kTarBlock; }
std::string tar_end() { return std::string(2 * kTarBlock, '\0'); }

uint64_t tar_data_bytes(const TarEntry& entry) {
  if (!entry.is_sparse) return entry.type == TarType::file ? entry.size : 0;
  uint64_t bytes = 0;
  for (const TarExtent& extent : entry.extents) bytes += extent.size;
  return bytes;
}

std::string tar_headers(const TarEntry& entry) {
  const std::string map = entry.is_sparse ? sparse_map(entry) : std::string();
  const uint64_t stored = map.size() + tar_data_bytes(entry);
  std::string records;
  add_pax(records, "mtime", time_text(entry.mtime_ns));
  if (entry.is_sparse) {
    add_pax(records, "GNU.sparse.major", "1");
    add_pax(records, "GNU.sparse.minor", "0");
    add_pax(records, "GNU.sparse.name", entry.path);
    add_pax(records, "GNU.sparse.realsize", std::to_string(entry.size));
  } else {
    add_pax(records, "path", entry.path);
  }
  if (!entry.target.empty()) add_pax(records, "linkpath", entry.target);
  if (stored > kMaxOctal) add_pax(records, "size", std::to_string(stored));
  std::string text = ustar_block('x', "pax", 0600, records.size(), 0) + records;
  text.resize(text.size() + tar_padding(records.size()), '\0');
  text += ustar_block(static_cast<char>(entry.type), "entry", entry.mode, stored, entry.mtime_ns / kSecond);
  return text + map;
}

Result<std::string> TarReader::read_block() {
  std::string block(kTarBlock, '\0');
  CHECKED(read_(block.data(), block.size()));
  return block;
}

// The records of a pax header, and the header behind it, as one entry. `size`: the stored bytes.
Result<TarEntry> TarReader::read_pax(const std::string& block) {
  const auto bytes = octal_in(block, 124, 11);
  if (block[156] != 'x' || !bytes || *bytes > kMaxPaxBytes) return refuse_tar("", "has no pax header");
  std::string text(*bytes, '\0'), padding(tar_padding(*bytes), '\0');
  CHECKED(read_(text.data(), text.size()));
  CHECKED(read_(padding.data(), padding.size()));
  const auto records = parse_pax(text);
  if (!records) return refuse_tar("", "has a damaged pax header");
  TRY(const std::string header, read_block());
  const auto mode = octal_in(header, 100, 7), stored = octal_in(header, 124, 11);
  if (!is_ustar(header) || !mode || !stored) return refuse_tar("", "has no header");
  TarEntry entry;
  entry.type = static_cast<TarType>(header[156]);
  entry.mode = static_cast<uint32_t>(*mode);
  entry.size = *stored;
  bool has_path = false, has_time = false, has_size = false;
  for (const auto& [key, value] : *records) {
    const auto number = number_in<uint64_t>(value);
    if (key == "path" || key == "GNU.sparse.name") {
      if (std::exchange(has_path, true)) return refuse_tar(value, "has two names");
      entry.path = value;
      entry.is_sparse = key != "path";
    } else if (key == "linkpath") {
      entry.target = value;
    } else if (key == "mtime") {
      const auto time = time_in(value);
      if (!time) return refuse_tar(value, "is no time");
      entry.mtime_ns = *time;
      has_time = true;
    } else if (key == "size") {
      if (!number) return refuse_tar(value, "is no size");
      entry.size = *number;
    } else if (key == "GNU.sparse.realsize") {
      if (!number || *number > kMaxTarBytes) return refuse_tar(value, "is no size");
      has_size = true;
    } else if ((key != "GNU.sparse.major" || value != "1") && (key != "GNU.sparse.minor" || value != "0")) {
      return refuse_tar(key, "is no known record");
    }
  }
  if (!has_path || !has_time || has_size != entry.is_sparse || entry.size > kMaxTarBytes)
    return refuse_tar(entry.path, "has an incomplete header");
  remaining_ = entry.size;
  if (entry.is_sparse) {
    CHECKED(read_sparse_map(entry));
    entry.size = *number_in<uint64_t>(records->find("GNU.sparse.realsize")->second);
  }
  return entry;
}

Result<> TarReader::read_sparse_map(TarEntry& entry) {
  std::string map;
  std::vector<uint64_t> numbers;
  size_t at = 0;
  const auto next_number = [&]() -> Result<uint64_t> {
    for (;;) {
      if (const size_t end = map.find('\n', at); end != map.npos) {
        const auto number = number_in<uint64_t>(std::string_view(map).substr(at, end - at));
        if (!number || *number > kMaxTarBytes) return refuse_tar(entry.path, "has a damaged map");
        at = end + 1;
        return *number;
      }
      if (remaining_ < kTarBlock || map.size() - at > 32) return refuse_tar(entry.path, "has a damaged map");
      map.erase(0, std::exchange(at, 0));
      TRY(const std::string block, read_block());
      remaining_ -= kTarBlock;
      map += block;
    }
  };
  TRY(const uint64_t count, next_number());
  if (count > kMaxTarExtents) return refuse_tar(entry.path, "has too many parts");
  uint64_t behind = 0;
  for (uint64_t i = 0; i < count; i++) {
    TarExtent extent;
    TRY(extent.offset, next_number());
    TRY(extent.size, next_number());
    if (extent.offset < behind) return refuse_tar(entry.path, "has a damaged map");
    behind = extent.offset + extent.size;
    entry.extents.push_back(extent);
  }
  return {};
}

Result<std::optional<TarEntry>> TarReader::next() {
  if (remaining_ != 0) return fail(Code::invalid, "the data of an entry was not read");
  std::string padding(std::exchange(padding_, 0), '\0');
  CHECKED(read_(padding.data(), padding.size()));
  TRY(const std::string block, read_block());
  if (std::all_of(block.begin(), block.end(), [](char c) { return c == '\0'; })) return std::nullopt;
  if (!is_ustar(block)) return fail(Code::invalid, "this is no snapshot, or it is damaged");
  TRY(TarEntry entry, read_pax(block));
  const uint64_t data = tar_data_bytes(entry);
  const bool is_file = entry.type == TarType::file;
  if (entry.is_sparse && !is_file) return refuse_tar(entry.path, "has holes, but is no file");
  if (remaining_ != data) return refuse_tar(entry.path, is_file ? "has a wrong size" : "has contents, but is no file");
  if (!entry.extents.empty() && entry.extents.back().offset + entry.extents.back().size > entry.size)
    return refuse_tar(entry.path, "has data behind its end");
  padding_ = tar_padding(data);
  return entry;
}

Result<size_t> TarReader::read_data(char* bytes, size_t count) {
  const size_t part = static_cast<size_t>(std::min<uint64_t>(remaining_, count));
  if (part > 0) CHECKED(read_(bytes, part));
  remaining_ -= part;
  return part;
}

}  // namespace cluster

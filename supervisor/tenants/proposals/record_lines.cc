#include "supervisor/tenants/proposals/record_lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>

#include <array>
#include <charconv>

#include "supervisor/base/ascii.h"
#include "supervisor/base/durable.h"
#include "supervisor/base/path.h"
#include "supervisor/tenants/proposals/tree_access.h"

namespace proposals {
namespace {

constexpr std::string_view kLastLine = "end";
constexpr char kHexDigits[] = "0123456789abcdef";

// Printable ASCII without '%' stands for itself.
bool is_plain(char c) { return c > ' ' && c < 0x7F && c != '%'; }

std::string digest_text(std::string_view bytes) {
  std::array<unsigned char, 32> digest;
  crypto_generichash(digest.data(), digest.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                     nullptr, 0);
  std::string text;
  for (const unsigned char byte : digest) text.append({kHexDigits[byte >> 4], kHexDigits[byte & 15]});
  return text;
}

std::string last_line(uint64_t lines, std::string_view record) {
  return fmt::format("{} {} {}\n", kLastLine, lines, digest_text(record));
}

int hex_value(char c) { return is_upper(c) ? -1 : hex_digit(c); }

}  // namespace

RecordWriter& RecordWriter::line(std::string_view kind) {
  if (lines_++ > 0) text_ += '\n';
  text_ += kind;
  return *this;
}

// An empty text is "%".
RecordWriter& RecordWriter::text(std::string_view bytes) {
  text_ += ' ';
  if (bytes.empty()) text_ += '%';
  for (const char c : bytes) {
    if (is_plain(c)) {
      text_ += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      text_.append({'%', kHexDigits[byte >> 4], kHexDigits[byte & 15]});
    }
  }
  return *this;
}

RecordWriter& RecordWriter::number(uint64_t value) {
  text_ += ' ';
  text_ += std::to_string(value);
  return *this;
}

RecordWriter& RecordWriter::signed_number(int64_t value) {
  text_ += ' ';
  text_ += std::to_string(value);
  return *this;
}

Result<std::string> RecordWriter::finished() && {
  if (lines_ > 0) text_ += '\n';
  if (text_.size() > kMaxRecordBytes)
    return fail(Code::exhausted, fmt::format("the record has {} bytes, {} are allowed", text_.size(), kMaxRecordBytes));
  text_ += last_line(lines_, text_);
  return std::move(text_);
}

std::string_view RecordLine::next() {
  if (!has_more_) {
    is_wrong_ = true;
    return {};
  }
  const size_t space = rest_.find(' ');
  const std::string_view field = rest_.substr(0, space);
  has_more_ = space != rest_.npos;
  if (has_more_) rest_.remove_prefix(space + 1);
  if (field.empty()) is_wrong_ = true;
  return field;
}

std::string RecordLine::text() {
  const std::string_view field = next();
  if (field == "%") return {};
  std::string bytes;
  bytes.reserve(field.size());
  for (size_t i = 0; i < field.size(); i++) {
    if (is_plain(field[i])) {
      bytes += field[i];
      continue;
    }
    const int high = i + 2 < field.size() ? hex_value(field[i + 1]) : -1;
    const int low = i + 2 < field.size() ? hex_value(field[i + 2]) : -1;
    if (field[i] != '%' || high < 0 || low < 0) {
      is_wrong_ = true;
      return {};
    }
    bytes += static_cast<char>(high << 4 | low);
    i += 2;
  }
  return bytes;
}

uint64_t RecordLine::number(uint64_t max) {
  const std::string_view field = next();
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size() || value > max) is_wrong_ = true;
  return is_wrong_ ? 0 : value;
}

int64_t RecordLine::signed_number() {
  const std::string_view field = next();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size()) is_wrong_ = true;
  return is_wrong_ ? 0 : value;
}

Result<> RecordLine::done() const {
  if (!is_wrong_ && !has_more_) return {};
  return fail(Code::invalid, fmt::format("line {} of the record is wrong", line_number_));
}

Result<std::vector<RecordLine>> parse_record(std::string_view record) {
  const auto damaged = [] { return fail(Code::invalid, "the record is incomplete or was changed"); };
  if (record.empty() || record.back() != '\n') return damaged();
  const size_t before_last = record.rfind('\n', record.size() - 2);
  const std::string_view body = record.substr(0, before_last == record.npos ? 0 : before_last + 1);
  std::vector<RecordLine> lines;
  for (size_t at = 0; at < body.size();) {
    const size_t end = body.find('\n', at);
    lines.emplace_back(body.substr(at, end - at), lines.size() + 1);
    at = end + 1;
  }
  if (record.substr(body.size()) != last_line(lines.size(), body)) return damaged();
  return lines;
}

Result<> write_record(int folder, const std::string& name, std::string_view record, RecordSync sync) {
  const std::string unfinished = name + ".new";
  TRY(const RelativePath path, RelativePath::parse(unfinished));
  TRY(const RelativePath target, RelativePath::parse(name));
  TRY(const Fd file, open_beneath(folder, path, O_WRONLY | O_CREAT | O_TRUNC, 0600));
  CHECKED(write_all(file.get(), record));
  if (sync == RecordSync::waits)
    if (const int err = durable::sync_data(file.get())) return fail_path(err, "write", name);
  CHECKED(rename_beneath(folder, path, target, Existing::replace));
  if (sync == RecordSync::none) return {};
  TRY(const Fd names, open_listed_beneath(folder, ".", O_RDONLY | O_DIRECTORY));
  if (const int err = durable::sync_file(names.get())) return fail_path(err, "write", name);
  return {};
}

}  // namespace proposals

#include "supervisor/upstream/message_reading.h"

#include <fmt/format.h>

#include <charconv>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/value_bytes.h"
#include "supervisor/base/log.h"

namespace upstream {
namespace {

constexpr size_t kMaxMessageValueBytes = 128 << 20;  // memory of one message's values, beside its text
constexpr size_t kCountFrom = 64 << 10;              // bytes; shorter messages cannot hold so many values
constexpr size_t kMaxListed = 120;                   // bytes of a text that an error quotes

std::optional<int64_t> number_of(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

std::optional<int64_t> answered_by(const EnvelopeScan& scan) {
  const auto match = scan.found();
  if (!match || match->kind != EnvelopeScan::Kind::response) return {};
  std::string_view id = match->raw_id;
  if (id.size() > 2 && id.starts_with('"') && id.ends_with('"')) id = id.substr(1, id.size() - 2);
  return number_of(id);
}

// `text` with null in place of NaN, Infinity and -Infinity outside of JSON's texts; empty if there is none.
std::string without_nan(std::string_view text) {
  std::string mended;
  size_t copied = 0;
  bool quoted = false;
  for (size_t at = 0; at < text.size(); at++) {
    if (text[at] == '"') quoted = !quoted;
    if (quoted) {
      if (text[at] == '\\') at++;
      continue;
    }
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (!text.substr(at).starts_with(word)) continue;
      mended.append(text, copied, at - copied).append("null");
      copied = at + word.size();
      at = copied - 1;
      break;
    }
  }
  if (copied == 0) return {};
  return mended.append(text, copied);
}

}  // namespace

MessageReading read_message_text(const Variables& secrets, std::string_view text) {
  const std::string hidden = secrets.empty() ? std::string() : hide_secrets(secrets, text);
  if (!secrets.empty()) text = hidden;
  MessageReading read;
  const bool has_too_many = text.size() > kCountFrom && value_bytes(text) > kMaxMessageValueBytes + 2 * text.size();
  if (!has_too_many) {
    auto parsed = parse_json(text);
    if (parsed) {
      read.message = *std::move(parsed);
      return read;
    }
    read.problem = parsed.error().what;
  }
  EnvelopeScan scan;
  scan.feed(text);
  read.of = answered_by(scan);
  if (!read.of) return read;
  if (has_too_many) {
    read.problem = "a message with too many values";
    return read;
  }
  if (const std::string mended = without_nan(text); !mended.empty()) {
    if (auto parsed = parse_json(mended)) {
      read.mended = *std::move(parsed);
      read.problem = "NaN or Infinity, which JSON does not have";
    }
  }
  read.problem += ": " + printable(text.substr(0, whole_utf8_prefix(text.substr(0, kMaxListed))), kMaxListed);
  return read;
}

std::optional<int64_t> TornMessage::add(std::string_view line) {
  if (line.starts_with('{')) forget();  // the inner lines of a message are indented
  if (bytes_ == 0 && !line.starts_with('{')) return {};
  bytes_ += line.size() + 1;
  if (bytes_ > kMaxBytes) {
    forget();
    return {};
  }
  scan_.feed(line);
  scan_.feed("\n");
  const auto id = answered_by(scan_);
  if (id) forget();
  return id;
}

std::optional<int64_t> request_id(const Json& id) {
  if (id.is_string()) return number_of(id.get_ref<const std::string&>());
  if (id.is_number_unsigned() && id.get<uint64_t>() > INT64_MAX) return {};
  if (!id.is_number_integer()) return {};
  return id.get<int64_t>();
}

}  // namespace upstream

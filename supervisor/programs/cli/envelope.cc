#include "supervisor/programs/cli/envelope.h"

#include <cstring>
#include <vector>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace cli {
namespace {

// Cursor: moves over JSON text and finds the ends of values. It does not check the text. Every call moves forward or
// fails, and nesting is counted without recursion, so no text can cause an endless loop or a stack overflow.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool take(char expected) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != expected) return false;
    at_++;
    return true;
  }
  bool sees(char expected) {
    skip_space();
    return at_ < text_.size() && text_[at_] == expected;
  }
  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }

  // The text between the quotes of a string, escapes as they are.
  bool string(std::string_view& between) {
    if (!take('"')) return false;
    const size_t start = at_;
    while (at_ < text_.size()) {
      const void* match = std::memchr(text_.data() + at_, '"', text_.size() - at_);
      if (!match) break;
      at_ = static_cast<size_t>(static_cast<const char*>(match) - text_.data());
      size_t slashes = 0;
      while (at_ - slashes > start && text_[at_ - slashes - 1] == '\\') slashes++;
      at_++;
      if (slashes % 2 == 1) continue;  // an escaped quote
      between = text_.substr(start, at_ - 1 - start);
      return true;
    }
    at_ = text_.size();
    return false;
  }

  // Any value, raw.
  bool value(std::string_view& raw) {
    skip_space();
    const size_t start = at_;
    if (!skip_value()) return false;
    raw = text_.substr(start, at_ - start);
    return true;
  }

  // `member` must consume the value, and returns false to stop. Returns false if it stopped or the text is no object.
  template <class Member>
  bool object(Member member) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string_view key;
      if (!string(key) || !take(':')) return false;
      if (!member(key)) return false;
    } while (take(','));
    return take('}');
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r' || text_[at_] == '\n'))
      at_++;
  }

  bool skip_value() {
    size_t depth = 0;
    do {
      skip_space();
      if (at_ == text_.size()) return false;
      const char c = text_[at_];
      if (c == '"') {
        std::string_view ignored;
        if (!string(ignored)) return false;
      } else if (c == '{' || c == '[') {
        depth++;
        at_++;
      } else if (c == '}' || c == ']') {
        if (depth == 0) return false;
        depth--;
        at_++;
      } else if (c == ',' || c == ':') {
        if (depth == 0) return false;
        at_++;
      } else {  // number, true, false, null
        const size_t start = at_;
        while (at_ < text_.size() && std::strchr(" \t\r\n,:]}[{\"", text_[at_]) == nullptr) at_++;
        if (at_ == start) return false;  // a NUL byte
      }
    } while (depth > 0);
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Reads a string member into `into`; a value of another type is stepped over.
bool string_or_skip(Cursor& cursor, std::string_view& into) {
  std::string_view ignored;
  return cursor.sees('"') ? cursor.string(into) : cursor.value(ignored);
}

bool scan_meta(Cursor& cursor, Envelope& envelope) {
  std::string_view ignored;
  if (!cursor.sees('{')) return cursor.value(ignored);
  return cursor.object([&](std::string_view key) {
    if (key == kMetaVersion) return string_or_skip(cursor, envelope.meta_version);
    if (key == kMetaSubscription) return cursor.value(envelope.subscription);
    return cursor.value(ignored);
  });
}

bool scan_params(Cursor& cursor, Envelope& envelope) {
  std::string_view ignored;
  if (!cursor.sees('{')) return cursor.value(ignored);
  return cursor.object([&](std::string_view key) {
    if (key == "_meta") return scan_meta(cursor, envelope);
    if (key == "requestId") return cursor.value(envelope.request_id);
    if (key == "uri") return string_or_skip(cursor, envelope.uri);
    if (key == "protocolVersion") return string_or_skip(cursor, envelope.version);
    return cursor.value(ignored);
  });
}

bool usable_id(std::string_view raw) { return !raw.empty() && (raw[0] == '"' || raw[0] == '-' || is_digit(raw[0])); }

}  // namespace

Envelope scan(std::string_view line, Scan depth) {
  Envelope envelope;
  Cursor cursor(line);
  bool answers = false, stopped = false;
  const bool readable = cursor.object([&](std::string_view key) {
    std::string_view ignored;
    bool ok = true;
    if (key == "id") {
      ok = cursor.value(envelope.id);
    } else if (key == "method") {
      ok = string_or_skip(cursor, envelope.method);
    } else if (key == "params") {
      ok = scan_params(cursor, envelope);
    } else if (key == "result" || key == "error") {
      answers = true;
      if (depth == Scan::head && usable_id(envelope.id)) {
        stopped = true;
        return false;
      }
      ok = cursor.value(key == "result" ? envelope.result : ignored);
    } else {
      ok = cursor.value(ignored);
    }
    return ok;
  });
  if (!usable_id(envelope.id)) envelope.id = {};
  if (!stopped && !(readable && cursor.at_end())) return envelope;  // unreadable, with the parts that were found
  if (answers) {
    envelope.kind = MessageKind::response;
  } else if (!envelope.method.empty()) {
    envelope.kind = envelope.id.empty() ? MessageKind::notification : MessageKind::request;
  }
  return envelope;
}

void for_each_message(std::string_view line, const std::function<void(std::string_view)>& each) {
  Cursor cursor(line);
  if (!cursor.take('[')) return each(line);
  std::vector<std::string_view> elements(1);
  bool full = cursor.value(elements[0]);
  while (full && cursor.take(',')) full = cursor.value(elements.emplace_back());
  if (!full || !cursor.take(']') || !cursor.at_end()) elements = {line};
  for (const auto element : elements) each(element);
}

std::string canonical_id(std::string_view raw) {
  bool plain = true;
  for (const char c : raw) plain = plain && c >= ' ' && c < 0x7f && c != '\\';
  if (plain) return std::string(raw);
  auto id = parse_json(raw);
  return id ? dump_json(*id) : std::string(raw);
}

std::string with_id(std::string_view line, const Envelope& envelope, std::string_view raw_id) {
  const size_t start = static_cast<size_t>(envelope.id.data() - line.data());
  std::string changed(line.substr(0, start));
  changed += raw_id;
  changed += line.substr(start + envelope.id.size());
  return changed;
}

}  // namespace cli

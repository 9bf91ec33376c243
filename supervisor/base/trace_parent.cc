#include "supervisor/base/trace_parent.h"

#include <algorithm>
#include <set>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/trimmed.h"

namespace {

constexpr size_t kLength = 55;
constexpr size_t kMaxState = 512, kMaxMembers = 32, kMaxPart = 256;

bool is_hex_text(std::string_view text) { return std::all_of(text.begin(), text.end(), is_lower_hex); }

bool is_id(std::string_view text) { return is_hex_text(text) && text.find_first_not_of('0') != text.npos; }

// "vendor" or "tenant@vendor".
bool is_key(std::string_view text) {
  if (text.empty() || text.size() > kMaxPart || !is_lower_or_digit(text.front())) return false;
  const size_t at = text.find('@');
  if (at != text.npos && (at + 1 == text.size() || text.find('@', at + 1) != text.npos)) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_lower_or_digit(c) || std::string_view("_-*/@").find(c) != std::string_view::npos;
  });
}

bool is_value(std::string_view text) {
  if (text.empty() || text.size() > kMaxPart || text.back() == ' ') return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; });
}

std::string_view text_in(const Json& meta, const char* key) {
  const auto it = meta.find(key);
  return it != meta.end() && it->is_string() ? std::string_view(it->get_ref<const std::string&>()) : std::string_view();
}

}  // namespace

bool TraceParent::sampled() const {
  const char low = text.back();  // a hexadecimal digit
  return (hex_digit(low) & 1) != 0;
}

TraceParent parse_trace_parent(std::string_view text) {
  if (text.size() < kLength || text[2] != '-' || text[35] != '-' || text[52] != '-') return {};
  const std::string_view version = text.substr(0, 2), flags = text.substr(53, 2);
  if (!is_hex_text(version) || version == "ff" || !is_hex_text(flags)) return {};
  if (!is_id(text.substr(3, 32)) || !is_id(text.substr(36, 16))) return {};
  const bool longer = text.size() > kLength;
  if (longer && (version == "00" || text[kLength] != '-')) return {};
  return {"00" + std::string(text.substr(2, kLength - 2))};
}

std::string parse_trace_state(std::string_view text) {
  if (text.size() > kMaxState) return {};
  std::set<std::string_view> keys;
  for (std::string_view remaining = text; !remaining.empty();) {
    const size_t comma = std::min(remaining.find(','), remaining.size());
    const std::string_view member = trimmed(remaining.substr(0, comma));
    remaining.remove_prefix(std::min(comma + 1, remaining.size()));
    if (member.empty()) continue;  // as the standard permits
    const size_t equals = member.find('=');
    if (equals == member.npos || !is_value(member.substr(equals + 1))) return {};
    const std::string_view key = member.substr(0, equals);
    if (!is_key(key) || !keys.insert(key).second || keys.size() > kMaxMembers) return {};
  }
  return keys.empty() ? std::string() : std::string(text);
}

TraceContext read_trace_context(const Json& meta) {
  TraceContext context;
  if (!meta.is_object()) return context;
  context.parent = parse_trace_parent(text_in(meta, "traceparent"));
  if (!context.empty()) context.state = parse_trace_state(text_in(meta, "tracestate"));
  return context;
}

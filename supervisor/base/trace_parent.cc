#include "supervisor/base/trace_parent.h"

#include <algorithm>

namespace {

constexpr size_t kLength = 55;

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_id(std::string_view text) { return is_hex(text) && text.find_first_not_of('0') != text.npos; }

}  // namespace

TraceParent parse_trace_parent(std::string_view text) {
  if (text.size() < kLength || text[2] != '-' || text[35] != '-' || text[52] != '-') return {};
  const std::string_view version = text.substr(0, 2), flags = text.substr(53, 2);
  if (!is_hex(version) || version == "ff" || !is_hex(flags)) return {};
  if (!is_id(text.substr(3, 32)) || !is_id(text.substr(36, 16))) return {};
  const bool longer = text.size() > kLength;
  if (longer && (version == "00" || text[kLength] != '-')) return {};
  return {"00" + std::string(text.substr(2, kLength - 2))};
}

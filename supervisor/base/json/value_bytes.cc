#include "supervisor/base/json/value_bytes.h"

#include <array>
#include <cstdint>

#include "supervisor/base/json/exact_number.h"
#include "supervisor/base/json/json_value.h"

namespace {

// Bytes that a value of each kind takes beside its text, as malloc() rounds them, in a vector that grows by doubling.
constexpr size_t kSlotBytes = 48;     // a slot in an array, while the old and the new vector both exist
constexpr size_t kArrayBytes = 80;    // a vector, and its first slots
constexpr size_t kObjectBytes = 96;   // an InsertionOrderedMap
constexpr size_t kMemberBytes = 144;  // a node of the list, a node of the index
constexpr size_t kStringBytes = 48;   // a string
constexpr size_t kInlineBytes = 15;   // of text, stored within the string

// The cost in bytes of a value, by the character that stands for the value.
constexpr std::array<uint8_t, 256> bytes_of_marks() {
  std::array<uint8_t, 256> bytes{};
  bytes[','] = kSlotBytes;
  bytes['['] = kArrayBytes;
  bytes['{'] = kObjectBytes;
  bytes[':'] = kMemberBytes;
  return bytes;
}

// Position of the closing quote of the string that begins at `begin`, or the end of the text.
size_t end_of_string(std::string_view text, size_t begin) {
  for (size_t quote = text.find('"', begin); quote != text.npos; quote = text.find('"', quote + 1)) {
    size_t backslashes = 0;
    while (quote - backslashes > begin && text[quote - backslashes - 1] == '\\') backslashes++;
    if (backslashes % 2 == 0) return quote;
  }
  return text.size();
}

// Adds the length of `value` to `length`. Values are nested at most 64 deep (json.h).
void add_length(const Json& value, size_t enough, size_t& length) {
  constexpr size_t kEach = 2;  // the shortest value, and the separator behind it
  constexpr size_t kFloat = 18, kInteger = 6;
  length += kEach;
  if (value.is_string()) length += value.get_ref<const std::string&>().size();
  if (is_exact_number(value)) length += value.get_binary().size();
  if (value.is_number()) length += value.is_number_float() ? kFloat : kInteger;
  if (value.is_array()) {
    for (auto item = value.begin(); item != value.end() && length < enough; ++item) add_length(*item, enough, length);
  } else if (value.is_object()) {
    for (auto member = value.begin(); member != value.end() && length < enough; ++member) {
      length += member.key().size();
      add_length(member.value(), enough, length);
    }
  }
}

}  // namespace

size_t rough_length(const Json& value, size_t enough) {
  size_t length = 0;
  add_length(value, enough, length);
  return length;
}

bool is_large(const Json& value) { return rough_length(value, kSmallText + 1) > kSmallText; }

bool is_read_quickly(std::string_view text) {
  constexpr size_t kFew = 1 << 10;  // bytes; in a shorter text the values are not counted
  return text.size() <= kFew || (text.size() <= kSmallText && !has_many_values(text, value_bytes(text)));
}

size_t value_bytes(std::string_view text) {
  static constexpr auto kBytes = bytes_of_marks();
  size_t bytes = kSlotBytes;
  for (size_t at = 0; at < text.size(); at++) {
    bytes += kBytes[static_cast<unsigned char>(text[at])];
    if (text[at] != '"') continue;
    const size_t begin = at + 1;
    at = end_of_string(text, begin);
    const size_t length = at - begin;
    bytes += kStringBytes + (length > kInlineBytes ? 2 * length + kStringBytes : 0);  // the string grows by doubling
  }
  return bytes;
}

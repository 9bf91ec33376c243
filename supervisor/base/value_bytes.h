// What the values of a JSON text will take, known before they are built: a text of a few megabytes, of empty arrays
// only, becomes a hundred times as much memory, and takes seconds to build and to free. Touches nothing but its
// argument: any thread may ask.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "supervisor/base/json_fwd.h"

// Memory that the values of a JSON text take at most, and once more while they are built; a pass over the text.
size_t value_bytes(std::string_view text);
constexpr size_t kManyValueBytes = 64 << 10;  // beside the text; some 500 empty arrays, 1,300 numbers

// Whether the values of a text that is not long take longer to read than handing it to a thread does: some hundred
// arrays, or a thousand numbers. `bytes`: its value_bytes().
inline bool has_many_values(std::string_view text, size_t bytes) {
  return bytes > kManyValueBytes + 2 * text.size();  // one long string is counted twice
}

// About how many bytes `value` has, written as JSON without escapes. Looks no further than `enough`.
size_t rough_length(const Json& value, size_t enough = SIZE_MAX);

constexpr size_t kSmallText = 64 << 10;  // a JSON text up to here costs the loop less than a thread does
// Whether `value` is longer than that. Looks at no more than that takes.
bool is_large(const Json& value);
// Whether the loop reads the text sooner than it hands it to a thread.
bool is_read_quickly(std::string_view text);

constexpr size_t kMostValueBytes = 64 << 20;  // of one message, from whomever

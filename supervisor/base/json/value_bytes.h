// Value bytes: an estimate of the memory for the values of a JSON text, before the values are built. A text of a few
// megabytes with only empty arrays needs a hundred times as much memory, and takes seconds to build and to free. The
// functions touch only their arguments, so they may run on any thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "supervisor/base/json/json_fwd.h"

// The most memory in bytes for the values of a JSON text, including the memory that their construction needs. Reads the
// text once.
size_t value_bytes(std::string_view text);
constexpr size_t kManyValueBytes = 64 << 10;  // beside the text; some 500 empty arrays, 1,300 numbers

// For a text that is not long: whether its values take longer to read than the text takes to hand to a thread. This is
// so from some hundred arrays or a thousand numbers on. `bytes`: value_bytes() of the text.
inline bool has_many_values(std::string_view text, size_t bytes) {
  return bytes > kManyValueBytes + 2 * text.size();  // one long string is counted twice
}

// About how many bytes `value` has, written as JSON without escapes. Stops counting at `enough`.
size_t rough_length(const Json& value, size_t enough = SIZE_MAX);

constexpr size_t kSmallText = 64 << 10;  // a JSON text up to here costs the loop less than a thread does
// Whether `value` is longer than kSmallText as text. Stops counting there.
bool is_large(const Json& value);
// Whether the loop reads the text faster than it hands the text to a thread.
bool is_read_quickly(std::string_view text);

constexpr size_t kMaxValueBytes = 64 << 20;  // for one message of any sender

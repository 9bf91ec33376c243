// Exact numbers: the numbers of JSON text that neither 64 bits nor a double holds. 12345678901234567890123, 1e400, -0
// and 3.14159265358979323846 are exact numbers; 7, 18446744073709551615 and 0.1 are ordinary ones. A Json holds an
// exact number as a binary value with a subtype of its own, which contains the digits; dump_json() writes them
// unchanged. Json::is_number() is false for it: code that reads or compares numbers of strangers uses the functions
// here. Used by: both readers and the writer of JSON text, checks by JSON Schema, redaction. Touches only its
// arguments.
#pragma once
#include <compare>
#include <string>
#include <string_view>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"

constexpr size_t kMaxNumberBytes = 4096;              // of one number as text
constexpr size_t kMaxExactNumbers = size_t{1} << 18;  // in one text; each takes some 100 bytes beside its digits

// The value of a number in JSON's grammar. A decimal of at most 17 digits becomes a double, if the double, written with
// as many digits, is the same number. Errors: invalid: more than kMaxNumberBytes, or an exponent of more than 9 digits.
Result<Json> read_number(std::string_view text);

bool is_exact_number(const Json& value);
// Whether `value` is a number of any kind.
bool is_number(const Json& value);
// Whether `value` is a number without a fraction: 2, 2.0, 1e400.
bool is_whole_number(const Json& value);
// The digits of an exact number.
std::string exact_digits(const Json& value);
// The nearest finite double; `value` is a number of any kind.
double nearest_double(const Json& value);
// Compares two numbers of any kind by their values. A double has the value of the shortest decimal that names it.
std::strong_ordering compare_numbers(const Json& a, const Json& b);
// The same text for equal numbers of any kind: "100" for 100, 100.0 and 1e2.
std::string canonical_number(const Json& value);
// Whether `value` is a multiple of `of`, which is more than 0.
bool is_multiple_of(const Json& value, const Json& of);
// Whether two values are equal; numbers are compared by their values.
bool are_equal(const Json& a, const Json& b);

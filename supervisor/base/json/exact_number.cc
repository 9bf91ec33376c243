#include "supervisor/base/json/exact_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace {

constexpr Json::binary_t::subtype_type kSubtype = 0x6e756d626572;  // "number"
constexpr size_t kMaxExponentDigits = 9;
constexpr size_t kHeldDigits = 15;       // a double holds each decimal of so many digits
constexpr size_t kMaxDoubleDigits = 17;  // so many digits name each double
constexpr int64_t kMaxPlainDigits = 20;  // canonical_number() writes longer whole numbers with an exponent

// A decimal number: 0.DIGITS * 10^exponent. Zero has no digits.
struct Decimal {
  bool negative = false;
  std::string digits;  // the first and the last one are not 0
  int64_t exponent = 0;

  bool is_whole() const { return exponent >= static_cast<int64_t>(digits.size()); }
};

Decimal parse_decimal(std::string_view text) {
  Decimal number;
  number.negative = text.starts_with('-');
  if (number.negative) text.remove_prefix(1);
  const size_t mark = text.find_first_of("eE");
  if (mark != text.npos) {
    std::string_view exponent = text.substr(mark + 1);
    if (exponent.starts_with('+')) exponent.remove_prefix(1);
    std::from_chars(exponent.data(), exponent.data() + exponent.size(), number.exponent);
    text = text.substr(0, mark);
  }
  const size_t point = std::min(text.find('.'), text.size());
  number.digits = text.substr(0, point);
  if (point < text.size()) number.digits += text.substr(point + 1);
  number.exponent += static_cast<int64_t>(point);
  const size_t first = std::min(number.digits.find_first_not_of('0'), number.digits.size());
  number.digits.erase(0, first);
  number.exponent -= static_cast<int64_t>(first);
  number.digits.erase(number.digits.find_last_not_of('0') + 1);
  if (number.digits.empty()) number.exponent = 0;
  return number;
}

Decimal decimal_of(const Json& value) { return parse_decimal(dump_json(value)); }

bool is_same(const Decimal& a, const Decimal& b) {
  return a.negative == b.negative && a.exponent == b.exponent && a.digits == b.digits;
}

// `number` as text: the shortest one that names it, or one of `digits` digits.
std::string_view written(double number, std::array<char, 64>& room, size_t digits = 0) {
  const auto end = digits == 0 ? std::to_chars(room.begin(), room.end(), number)
                               : std::to_chars(room.begin(), room.end(), number, std::chars_format::scientific,
                                               static_cast<int>(digits) - 1);
  return {room.data(), static_cast<size_t>(end.ptr - room.data())};
}

// Whether a double stands for the decimal `text`, whose nearest double `number` is.
bool stands_for(double number, std::string_view text) {
  // Sign, point and exponent leave at most kHeldDigits digits.
  if (text.size() <= kHeldDigits + 1 && (std::isnormal(number) || number == 0)) return true;
  std::array<char, 64> room;
  if (written(number, room) == text) return true;
  const Decimal exact = parse_decimal(text);
  if (is_same(exact, parse_decimal(written(number, room)))) return true;
  if (exact.digits.empty() || exact.digits.size() > kMaxDoubleDigits || !std::isnormal(number)) return false;
  return is_same(exact, parse_decimal(written(number, room, exact.digits.size())));
}

Json exact_number(std::string_view text) { return Json::binary({text.begin(), text.end()}, kSubtype); }

Result<Json> read_decimal(std::string_view text) {
  const size_t mark = text.find_first_of("eE");
  if (mark != text.npos) {
    const size_t first = text.find_first_not_of("+-0", mark + 1);
    if (first != text.npos && text.size() - first > kMaxExponentDigits)
      return fail(Code::invalid, fmt::format("a number with an exponent of more than {} digits", kMaxExponentDigits),
                  "send it as a text");
  }
  double number = 0;
  const bool is_in_range = std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
  if (is_in_range && stands_for(number, text)) return Json(number);
  return exact_number(text);
}

}  // namespace

Result<Json> read_number(std::string_view text) {
  if (text.size() > kMaxNumberBytes)
    return fail(Code::invalid,
                fmt::format("a number of {} bytes; at most {} are allowed", text.size(), kMaxNumberBytes),
                "send it as a text");
  if (text.find_first_of(".eE") != text.npos) return read_decimal(text);
  const char* end = text.data() + text.size();
  if (text.starts_with('-')) {
    int64_t number = 0;
    if (std::from_chars(text.data(), end, number).ec == std::errc() && number != 0) return Json(number);
  } else {
    uint64_t number = 0;
    if (std::from_chars(text.data(), end, number).ec == std::errc()) return Json(number);
  }
  return exact_number(text);
}

bool is_exact_number(const Json& value) {
  return value.is_binary() && value.get_binary().has_subtype() && value.get_binary().subtype() == kSubtype;
}

bool is_number(const Json& value) { return value.is_number() || is_exact_number(value); }

bool is_whole_number(const Json& value) {
  if (value.is_number_integer()) return true;
  if (value.is_number_float()) return std::trunc(value.get<double>()) == value.get<double>();
  return is_exact_number(value) && decimal_of(value).is_whole();
}

std::string exact_digits(const Json& value) {
  const auto& bytes = value.get_binary();
  return {bytes.begin(), bytes.end()};
}

double nearest_double(const Json& value) {
  if (value.is_number()) return value.get<double>();
  const std::string text = exact_digits(value);
  double number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc()) return number;
  number = parse_decimal(text).exponent <= 0 ? 0 : std::numeric_limits<double>::max();
  return text.starts_with('-') ? -number : number;
}

std::strong_ordering compare_numbers(const Json& a, const Json& b) {
  const Decimal decimal = decimal_of(a), right = decimal_of(b);
  const auto sign = [](const Decimal& number) { return number.digits.empty() ? 0 : number.negative ? -1 : 1; };
  if (sign(decimal) != sign(right)) return sign(decimal) <=> sign(right);
  auto order = decimal.exponent <=> right.exponent;
  if (order == 0) order = decimal.digits.compare(right.digits) <=> 0;
  if (sign(decimal) >= 0) return order;
  return 0 <=> order;
}

std::string canonical_number(const Json& value) {
  if (value.is_number_integer()) return dump_json(value);
  const Decimal number = decimal_of(value);
  if (number.digits.empty()) return "0";
  std::string text = number.negative ? "-" : "";
  if (number.is_whole() && number.exponent <= kMaxPlainDigits) {
    text += number.digits;
    return text.append(static_cast<size_t>(number.exponent) - number.digits.size(), '0');
  }
  return text + "0." + number.digits + "e" + std::to_string(number.exponent);
}

bool is_multiple_of(const Json& value, const Json& of) {
  if (value.is_number_integer() && of.is_number_integer() && !value.is_number_unsigned() && !of.is_number_unsigned())
    return value.get<int64_t>() % of.get<int64_t>() == 0;
  if (value.is_number_unsigned() && of.is_number_unsigned()) return value.get<uint64_t>() % of.get<uint64_t>() == 0;
  if (is_exact_number(value) && of.is_number_integer() && of.get<uint64_t>() <= UINT32_MAX) {
    const Decimal number = decimal_of(value);
    if (!number.is_whole()) return false;
    const auto divisor = of.get<uint64_t>();
    uint64_t rest = 0;
    for (const char digit : number.digits) rest = (rest * 10 + static_cast<uint64_t>(digit - '0')) % divisor;
    uint64_t power = 10 % divisor;
    for (auto zeros = number.exponent - static_cast<int64_t>(number.digits.size()); zeros > 0; zeros /= 2) {
      if (zeros % 2 == 1) rest = rest * power % divisor;
      power = power * power % divisor;
    }
    return rest == 0;
  }
  const double quotient = nearest_double(value) / nearest_double(of);
  if (!std::isfinite(quotient)) return false;
  return std::abs(quotient - std::round(quotient)) <= 1e-9 * std::max(1.0, std::abs(quotient));
}

bool are_equal(const Json& a, const Json& b) {
  if (a == b) return true;
  if (a.is_array() && b.is_array()) return std::equal(a.begin(), a.end(), b.begin(), b.end(), are_equal);
  if (a.is_object() && b.is_object()) {
    if (a.size() != b.size()) return false;
    for (auto member = a.begin(); member != a.end(); ++member) {
      const auto other = b.find(member.key());
      if (other == b.end() || !are_equal(*member, *other)) return false;
    }
    return true;
  }
  if (!is_exact_number(a) && !is_exact_number(b)) return false;
  return is_number(a) && is_number(b) && compare_numbers(a, b) == 0;
}

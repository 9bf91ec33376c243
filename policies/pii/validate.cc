#include "policies/pii/validate.h"

#include <arpa/inet.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "policies/pii/around.h"
#include "supervisor/base/ascii.h"

namespace policies {
namespace {

bool one_digit(std::string_view digits) { return digits.find_first_not_of(digits[0]) == digits.npos; }

unsigned number(std::string_view digits) {
  unsigned value = 0;
  for (char c : digits) value = value * 10 + static_cast<unsigned>(c - '0');
  return value;
}

// Countries and the length of their IBANs, from the SWIFT registry.
struct IbanCountry {
  std::string_view code;
  size_t length;
};
constexpr IbanCountry kCountries[] = {
    {"AD", 24}, {"AE", 23}, {"AL", 28}, {"AT", 20}, {"AZ", 28}, {"BA", 20}, {"BE", 16}, {"BG", 22}, {"BH", 22},
    {"BR", 29}, {"BY", 28}, {"CH", 21}, {"CR", 22}, {"CY", 28}, {"CZ", 24}, {"DE", 22}, {"DK", 18}, {"DO", 28},
    {"EE", 20}, {"EG", 29}, {"ES", 24}, {"FI", 18}, {"FO", 18}, {"FR", 27}, {"GB", 22}, {"GE", 22}, {"GI", 23},
    {"GL", 18}, {"GR", 27}, {"GT", 28}, {"HR", 21}, {"HU", 28}, {"IE", 22}, {"IL", 23}, {"IQ", 23}, {"IS", 26},
    {"IT", 27}, {"JO", 30}, {"KW", 30}, {"KZ", 20}, {"LB", 28}, {"LC", 32}, {"LI", 21}, {"LT", 20}, {"LU", 20},
    {"LV", 21}, {"LY", 25}, {"MC", 27}, {"MD", 24}, {"ME", 22}, {"MK", 19}, {"MR", 27}, {"MT", 31}, {"MU", 30},
    {"NL", 18}, {"NO", 15}, {"PK", 24}, {"PL", 28}, {"PS", 29}, {"PT", 25}, {"QA", 29}, {"RO", 24}, {"RS", 22},
    {"SA", 24}, {"SC", 31}, {"SE", 24}, {"SI", 19}, {"SK", 24}, {"SM", 27}, {"ST", 25}, {"SV", 28}, {"TL", 23},
    {"TN", 24}, {"TR", 26}, {"UA", 29}, {"VA", 22}, {"VG", 24}, {"XK", 20},
};

bool base58_check(std::string_view text) {
  constexpr std::string_view kDigits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
  std::array<uint8_t, 25> bytes{};  // version, 20 bytes of hash, 4 of checksum
  for (char c : text) {
    size_t digit = kDigits.find(c);
    if (digit == kDigits.npos) return false;
    unsigned carry = static_cast<unsigned>(digit);
    for (size_t i = bytes.size(); i-- > 0;) {
      carry += bytes[i] * 58u;
      bytes[i] = static_cast<uint8_t>(carry);
      carry >>= 8;
    }
    if (carry != 0) return false;
  }
  if (bytes[0] != 0 && bytes[0] != 5) return false;
  std::array<unsigned char, crypto_hash_sha256_BYTES> once{}, twice{};
  crypto_hash_sha256(once.data(), bytes.data(), 21);
  crypto_hash_sha256(twice.data(), once.data(), once.size());
  return std::equal(bytes.begin() + 21, bytes.end(), twice.begin());
}

bool bech32(std::string_view text) {
  constexpr std::string_view kDigits = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
  constexpr std::array<uint32_t, 5> kGenerator = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3};
  uint32_t check = 1;
  auto feed = [&](unsigned value) {
    const uint32_t top = check >> 25;
    check = (check & 0x1ffffff) << 5 ^ value;
    for (size_t i = 0; i < kGenerator.size(); i++)
      if ((top >> i) & 1) check ^= kGenerator[i];
  };
  for (unsigned value : {3u, 3u, 0u, 'b' & 31u, 'c' & 31u}) feed(value);
  for (char c : text.substr(3)) {
    size_t digit = kDigits.find(c);
    if (digit == kDigits.npos) return false;
    feed(static_cast<unsigned>(digit));
  }
  return check == 1 || check == 0x2bc830a3;  // Bech32, Bech32m
}

}  // namespace

bool luhn(std::string_view digits) {
  unsigned sum = 0;
  for (size_t i = 0; i < digits.size(); i++) {
    unsigned digit = static_cast<unsigned>(digits[digits.size() - 1 - i] - '0');
    if (i % 2 == 1) digit = digit * 2 > 9 ? digit * 2 - 9 : digit * 2;
    sum += digit;
  }
  return sum % 10 == 0;
}

bool valid_card(std::string_view digits) {
  const size_t n = digits.size();
  if (n < 13 || n > 19 || one_digit(digits)) return false;
  const unsigned two = number(digits.substr(0, 2)), three = number(digits.substr(0, 3)),
                 four = number(digits.substr(0, 4));
  const bool issued = (digits[0] == '4' && (n == 13 || n == 16 || n == 19)) || (two >= 51 && two <= 55 && n == 16) ||
                      (four >= 2221 && four <= 2720 && n == 16) || ((two == 34 || two == 37) && n == 15) ||
                      ((four == 6011 || two == 65 || (three >= 644 && three <= 649)) && n >= 16) ||
                      (four >= 3528 && four <= 3589 && n >= 16) ||
                      (((three >= 300 && three <= 305) || two == 36 || two == 38 || two == 39) && n == 14) ||
                      (two == 62 && n >= 16);
  return issued && luhn(digits);
}

bool valid_rare_card(std::string_view digits) {
  if (digits.size() < 12 || digits.size() > 19 || one_digit(digits)) return false;
  const unsigned two = number(digits.substr(0, 2));
  return (two == 50 || (two >= 56 && two <= 69)) && luhn(digits);
}

size_t iban_length(std::string_view country) {
  const auto* it = std::lower_bound(std::begin(kCountries), std::end(kCountries), country,
                                    [](const IbanCountry& item, std::string_view code) { return item.code < code; });
  return it != std::end(kCountries) && it->code == country ? it->length : 0;
}

bool valid_iban(std::string_view text) {
  if (text.size() < 15 || iban_length(text.substr(0, 2)) != text.size()) return false;
  unsigned remainder = 0;
  auto feed = [&](char c) {
    if (is_digit(c)) {
      remainder = (remainder * 10 + static_cast<unsigned>(c - '0')) % 97;
    } else {
      remainder = (remainder * 100 + static_cast<unsigned>(c - 'A' + 10)) % 97;
    }
  };
  for (char c : text.substr(4)) feed(c);
  for (char c : text.substr(0, 4)) feed(c);
  return remainder == 1;
}

bool valid_ssn(std::string_view digits) {
  if (digits.size() != 9) return false;
  const unsigned area = number(digits.substr(0, 3));
  return area != 0 && area != 666 && area < 900 && digits.substr(3, 2) != "00" && digits.substr(5) != "0000";
}

bool valid_ipv4(std::string_view text) {
  in_addr address{};
  if (::inet_pton(AF_INET, std::string(text).c_str(), &address) != 1) return false;
  const uint32_t value = ntohl(address.s_addr);
  const uint32_t first = value >> 24;
  return first != 0 && first != 127 && first != 255;  // this network, this host, network masks
}

bool valid_ipv6(std::string_view text) {
  in6_addr address{};
  if (::inet_pton(AF_INET6, std::string(text).c_str(), &address) != 1) return false;
  if (text == "::1") return true;
  const auto hex = std::count_if(text.begin(), text.end(), [](char c) { return c != ':' && c != '.'; });
  const auto colons = std::count(text.begin(), text.end(), ':');
  return hex >= 4 && colons >= 2 && std::any_of(text.begin(), text.end(), is_digit);
}

bool has_country_code(std::string_view digits) {
  // Codes of two digits, then the first two digits of all assigned codes of three digits.
  constexpr std::string_view kTwo[] = {
      "20", "27", "30", "31", "32", "33", "34", "36", "39", "40", "41", "43", "44", "45", "46", "47", "48",
      "49", "51", "52", "53", "54", "55", "56", "57", "58", "60", "61", "62", "63", "64", "65", "66", "81",
      "82", "84", "86", "90", "91", "92", "93", "94", "95", "98", "21", "22", "23", "24", "25", "26", "29",
      "35", "37", "38", "42", "50", "59", "67", "68", "69", "85", "87", "88", "96", "97", "99"};
  if (digits.size() < 2) return false;
  if (digits[0] == '1' || digits[0] == '7') return true;
  return std::find(std::begin(kTwo), std::end(kTwo), digits.substr(0, 2)) != std::end(kTwo);
}

bool valid_international_phone(std::string_view digits) {
  if (digits.size() < 8 || digits.size() > 15 || digits[0] == '0' || one_digit(digits)) return false;
  return digits.find_first_not_of('0', 3) != digits.npos;  // +1 000 000 000 is an amount, or an example in a form
}

bool valid_american_phone(std::string_view digits) {
  if (digits.size() == 11 && digits[0] == '1') digits.remove_prefix(1);
  return digits.size() == 10 && digits[0] >= '2' && digits[3] >= '1' && !one_digit(digits);
}

bool valid_bitcoin(std::string_view text) { return text.starts_with("bc1") ? bech32(text) : base58_check(text); }

double entropy(std::string_view text) {
  if (text.empty()) return 0;
  std::array<size_t, 256> counts{};
  for (char c : text) counts[static_cast<unsigned char>(c)]++;
  double bits = 0;
  for (size_t count : counts) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / static_cast<double>(text.size());
    bits -= share * std::log2(share);
  }
  return bits;
}

bool is_example(std::string_view text) {
  const std::string lower = lower_case(text);
  for (const char* word : {"example", "xxxx", "your-", "your_", "placeholder", "redacted", "1234567890", "0123456789",
                           "abcdefghij", "0000000", "key-here", "key_here"})
    if (lower.find(word) != lower.npos) return true;
  return false;
}

bool is_placeholder(std::string_view text) {
  const std::string lower = lower_case(text);
  for (const char* word :
       {"example", "your", "changeme", "change_me", "placeholder", "dummy", "sample", "xxxx", "redacted", "insert",
        "replace", "todo", "process.env", "os.environ", "getenv", "none", "null", "undefined"})
    if (lower.find(word) != lower.npos) return true;
  return text.find_first_of("<>{}$()*") != text.npos || one_digit(text);
}

}  // namespace policies

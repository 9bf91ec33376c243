// Validators: whether what has the shape of a personal datum can be one. Pure functions of the text.
#pragma once
#include <string_view>

namespace policies {

// The check digit of ISO/IEC 7812. Digits only.
bool luhn(std::string_view digits);
// ISO/IEC 7812: length and issuer, and the check digit. `digits` holds digits only.
bool valid_card(std::string_view digits);
// The same of numbers that would often be something else: Maestro, of 12 to 19 digits. A word must say that it is a
// card.
bool valid_rare_card(std::string_view digits);
// ISO 13616: the country's length and the remainder 1 of 97. Capital letters and digits only.
bool valid_iban(std::string_view text);
// Of one of this country; 0: none is.
size_t iban_length(std::string_view country);
// As the US Social Security Administration gives them out: no area 000, 666 or 9xx, no zero group or serial.
bool valid_ssn(std::string_view digits);
// Dotted, four octets; not the addresses of nobody: 0.x, 127.x, 255.x.
bool valid_ipv4(std::string_view text);
// inet_pton(3), with enough digits not to be a name of code ("a::b"); and "::1".
bool valid_ipv6(std::string_view text);
// E.164, at most 15 digits, with a country; or North American, ten digits.
bool valid_international_phone(std::string_view digits);
bool valid_american_phone(std::string_view digits);
// Base58Check (versions 0 and 5) or Bech32 (BIP 173, 350).
bool valid_bitcoin(std::string_view text);
// Bits for each byte, of the bytes' own frequencies.
double entropy(std::string_view text);
// Whether an assigned country code begins this number (ITU-T E.164).
bool has_country_code(std::string_view digits);
// "AKIAIOSFODNN7EXAMPLE", "ghp_xxxxxxxx": what vendors' documents show as a key of theirs.
bool is_example(std::string_view text);
// "your-key-here", "xxxx", "${TOKEN}", "<secret>": what documentation writes where a secret goes.
bool is_placeholder(std::string_view text);

}  // namespace policies

// Validators: whether text in the shape of personal data can be valid. Pure functions of the text. Used by: pii_*.cc.
#pragma once
#include <string_view>

namespace policies {

// The check digit of ISO/IEC 7812. Digits only.
bool luhn(std::string_view digits);
// ISO/IEC 7812: length and issuer, and the check digit. `digits` holds digits only.
bool valid_card(std::string_view digits);
// Like valid_card(), for numbers that often are no cards: Maestro, of 12 to 19 digits. A word nearby must say that it
// is a card.
bool valid_rare_card(std::string_view digits);
// ISO 13616: the country's length and the remainder 1 of 97. Capital letters and digits only.
bool valid_iban(std::string_view text);
// Length of an IBAN of this country; 0: the country has no IBANs.
size_t iban_length(std::string_view country);
// By the rules of the US Social Security Administration: no area 000, 666 or 9xx, no zero group or serial.
bool valid_ssn(std::string_view digits);
// Dotted, four octets; without addresses that identify no person: 0.x, 127.x, 255.x.
bool valid_ipv4(std::string_view text);
// inet_pton(3), with enough digits not to be a name in code ("a::b"); and "::1".
bool valid_ipv6(std::string_view text);
// E.164, at most 15 digits, with a country; or North American, ten digits.
bool valid_international_phone(std::string_view digits);
bool valid_american_phone(std::string_view digits);
// Base58Check (versions 0 and 5) or Bech32 (BIP 173, 350).
bool valid_bitcoin(std::string_view text);
// Entropy in bits per byte, from the frequencies of the bytes in `text`.
double entropy(std::string_view text);
// Whether the number begins with an assigned country code (ITU-T E.164).
bool has_country_code(std::string_view digits);
// "AKIAIOSFODNN7EXAMPLE", "ghp_xxxxxxxx": example keys in vendors' documents.
bool is_example(std::string_view text);
// "your-key-here", "xxxx", "${TOKEN}", "<secret>": placeholders for a secret in documents.
bool is_placeholder(std::string_view text);

}  // namespace policies

#include "policies/pii/national_ids.h"

#include <array>
#include <initializer_list>

#include "policies/pii/around.h"
#include "policies/pii/validate.h"

namespace policies {
namespace {

int digit(char c) { return c - '0'; }
int two(std::string_view text, size_t at) { return digit(text[at]) * 10 + digit(text[at + 1]); }

bool all_digits(std::string_view text) { return text.find_first_not_of("0123456789") == text.npos; }

bool numeric(std::string_view id, size_t size) {
  return id.size() == size && all_digits(id) && id.find_first_not_of(id[0]) != id.npos;
}

// Compares the letters and digits of an id with a picture: 'A' is a letter, '9' a digit, any other character itself.
bool pictured(std::string_view id, std::string_view picture) {
  if (id.size() != picture.size()) return false;
  for (size_t i = 0; i < id.size(); i++) {
    const bool fits = picture[i] == 'A' ? is_upper(id[i]) : picture[i] == '9' ? is_digit(id[i]) : id[i] == picture[i];
    if (!fits) return false;
  }
  return true;
}

int weighed(std::string_view digits, std::initializer_list<int> weights) {
  int sum = 0;
  size_t at = 0;
  for (int weight : weights) sum += digit(digits[at++]) * weight;
  return sum;
}

int remainder(std::string_view digits, int of) {
  int rest = 0;
  for (char c : digits) rest = (rest * 10 + digit(c)) % of;
  return rest;
}

bool is_day(int month, int day) {
  constexpr std::array<int, 12> kDays = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month >= 1 && month <= 12 && day >= 1 && day <= kDays[static_cast<size_t>(month - 1)];
}
bool ddmm(std::string_view id, size_t at = 0) { return is_day(two(id, at + 2), two(id, at)); }
bool mmdd(std::string_view id, size_t at = 2) { return is_day(two(id, at), two(id, at + 2)); }

// ISO 7064, MOD 11,10.
bool mod_11_10(std::string_view id) {
  int product = 10;
  for (char c : id.substr(0, id.size() - 1)) {
    const int sum = (digit(c) + product) % 10;
    product = (sum == 0 ? 10 : sum) * 2 % 11;
  }
  return (11 - product) % 10 == digit(id.back());
}

bool britain_nino(std::string_view id) {
  if (!pictured(id, "AA999999A") || id[8] > 'D') return false;
  constexpr std::string_view kNone = "DFIQUV";
  const std::string_view prefix = id.substr(0, 2);
  for (std::string_view unused : {"BG", "GB", "KN", "NK", "NT", "TN", "ZZ"})
    if (prefix == unused) return false;
  return kNone.find(id[0]) == kNone.npos && kNone.find(id[1]) == kNone.npos && id[1] != 'O';
}
bool britain_nhs(std::string_view id) {
  if (!numeric(id, 10)) return false;
  const int check = 11 - weighed(id, {10, 9, 8, 7, 6, 5, 4, 3, 2}) % 11;
  return check != 10 && check % 11 == digit(id[9]);
}
// `id` is without the sign of the century, unless it is a letter.
bool finland(std::string_view id) {
  constexpr std::string_view kChecks = "0123456789ABCDEFHJKLMNPRSTUVWXY";
  std::string digits;
  if (id.size() == 11 && is_upper(id[6])) {
    digits = std::string(id.substr(0, 6)) + std::string(id.substr(7, 3));
  } else if (id.size() == 10) {
    digits = id.substr(0, 9);
  } else {
    return false;
  }
  return all_digits(digits) && ddmm(digits) && digits.substr(6) != "000" &&
         kChecks[static_cast<size_t>(remainder(digits, 31))] == id.back();
}
bool sweden(std::string_view id) {
  if (id.size() == 12 && (id.starts_with("19") || id.starts_with("20"))) id.remove_prefix(2);
  // Coordination numbers: 60 is added to the day.
  return numeric(id, 10) && (mmdd(id) || is_day(two(id, 2), two(id, 4) - 60)) && luhn(id);
}
bool norway(std::string_view id) {
  if (!numeric(id, 11)) return false;
  const int day = two(id, 0) > 40 ? two(id, 0) - 40 : two(id, 0);  // D numbers
  return is_day(two(id, 2), day) && weighed(id, {3, 7, 6, 1, 8, 9, 4, 5, 2, 1}) % 11 == 0 &&
         weighed(id, {5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1}) % 11 == 0;
}
bool netherlands(std::string_view id) { return numeric(id, 9) && weighed(id, {9, 8, 7, 6, 5, 4, 3, 2, -1}) % 11 == 0; }
bool spain(std::string_view id) {
  constexpr std::string_view kChecks = "TRWAGMYFPDXBNJZSQVHLCKE";
  if (!pictured(id, "99999999A") && !pictured(id, "A9999999A")) return false;
  std::string digits(id.substr(0, 8));
  if (is_upper(digits[0])) {
    if (digits[0] < 'X') return false;
    digits[0] = static_cast<char>('0' + (digits[0] - 'X'));
  }
  return kChecks[static_cast<size_t>(remainder(digits, 23))] == id[8];
}
bool italy(std::string_view id) {
  if (!pictured(id, "AAAAAA99A99A999A")) return false;
  constexpr std::array<int, 26> kOdd = {1,  0,  5, 7, 9, 13, 15, 17, 19, 21, 2,  4,  18,
                                        20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23};
  int sum = 0;
  for (size_t i = 0; i < 15; i++) {
    const auto value = static_cast<size_t>(is_digit(id[i]) ? id[i] - '0' : id[i] - 'A');
    sum += i % 2 == 0 ? kOdd[value] : static_cast<int>(value);
  }
  return sum % 26 == id[15] - 'A';
}
bool poland(std::string_view id) {
  if (!numeric(id, 11) || !is_day(two(id, 2) % 20, two(id, 4))) return false;
  return weighed(id, {1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1}) % 10 == 0;
}
bool france(std::string_view id) {
  if (id.size() != 15 || (id[0] != '1' && id[0] != '2')) return false;
  std::string digits(id);
  if (digits[5] == '2' && (digits[6] == 'A' || digits[6] == 'B')) {  // Corsica
    digits[5] = '1';
    digits[6] = digits[6] == 'A' ? '9' : '8';
  }
  if (!all_digits(digits)) return false;
  const int month = two(digits, 3);
  return ((month >= 1 && month <= 12) || (month >= 20 && month <= 42) || month >= 50) &&
         97 - remainder(digits.substr(0, 13), 97) == two(digits, 13);
}
bool germany_tax(std::string_view id) {
  if (!numeric(id, 11) || id[0] == '0') return false;
  std::array<int, 10> counts{};
  for (char c : id.substr(0, 10)) counts[static_cast<size_t>(digit(c))]++;
  int missing = 0;
  for (int count : counts) {
    if (count > 3) return false;
    missing += count == 0;
  }
  return (missing == 1 || missing == 2) && mod_11_10(id);
}
bool belgium(std::string_view id) {
  if (!numeric(id, 11) || two(id, 2) > 52 || two(id, 4) > 31) return false;
  const int check = two(id, 9);
  const std::string base(id.substr(0, 9));
  return 97 - remainder(base, 97) == check || 97 - remainder("2" + base, 97) == check;
}
bool portugal(std::string_view id) {
  if (!numeric(id, 9) || id[0] == '0' || id[0] == '4') return false;
  const int check = 11 - weighed(id, {9, 8, 7, 6, 5, 4, 3, 2}) % 11;
  return (check > 9 ? 0 : check) == digit(id[8]);
}
bool brazil(std::string_view id) {
  const auto check = [](int sum) { return sum % 11 < 2 ? 0 : 11 - sum % 11; };
  if (numeric(id, 11))
    return check(weighed(id, {10, 9, 8, 7, 6, 5, 4, 3, 2})) == digit(id[9]) &&
           check(weighed(id, {11, 10, 9, 8, 7, 6, 5, 4, 3, 2})) == digit(id[10]);
  return numeric(id, 14) && check(weighed(id, {5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2})) == digit(id[12]) &&
         check(weighed(id, {6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2})) == digit(id[13]);
}
// The check digit of J. Verhoeff: the group of the symmetries of a pentagon. Reflections are 5 to 9.
bool india_aadhaar(std::string_view id) {
  if (!numeric(id, 12) || id[0] < '2') return false;
  constexpr std::array<int, 10> kPermuted = {1, 5, 7, 6, 2, 8, 3, 0, 9, 4};
  const auto multiply = [](int a, int b) {
    const int turned = a < 5 ? b % 5 : -(b % 5);
    const int sum = ((a % 5 + turned) % 5 + 5) % 5;
    return (a < 5) == (b < 5) ? sum : sum + 5;
  };
  int check = 0;
  for (size_t i = 0; i < id.size(); i++) {
    int value = digit(id[id.size() - 1 - i]);
    for (size_t turns = 0; turns < i % 8; turns++) value = kPermuted[static_cast<size_t>(value)];
    check = multiply(check, value);
  }
  return check == 0;
}
bool india_pan(std::string_view id) {
  return pictured(id, "AAAAA9999A") && std::string_view("ABCFGHJLPT").find(id[3]) != std::string_view::npos;
}
bool canada(std::string_view id) { return numeric(id, 9) && id[0] != '0' && id[0] != '8' && luhn(id); }
bool australia(std::string_view id) {
  if (numeric(id, 9)) return weighed(id, {1, 4, 3, 7, 5, 8, 6, 9, 10}) % 11 == 0;
  return (numeric(id, 10) || numeric(id, 11)) && id[0] >= '2' && id[0] <= '6' && id[9] != '0' &&
         weighed(id, {1, 3, 7, 9, 1, 3, 7, 9}) % 10 == digit(id[8]);
}
bool south_africa(std::string_view id) { return numeric(id, 13) && mmdd(id) && id[10] <= '2' && luhn(id); }
bool singapore(std::string_view id) {
  if (!pictured(id, "A9999999A")) return false;
  const bool citizen = id[0] == 'S' || id[0] == 'T';
  if (!citizen && id[0] != 'F' && id[0] != 'G' && id[0] != 'M') return false;
  const int offset = id[0] == 'T' || id[0] == 'G' ? 4 : id[0] == 'M' ? 3 : 0;
  const auto sum = static_cast<size_t>((weighed(id.substr(1), {2, 7, 6, 5, 4, 3, 2}) + offset) % 11);
  const std::string_view checks = citizen ? "JZIHGFEDCBA" : id[0] == 'M' ? "KLJNPQRTUWX" : "XWUTRQPNMLK";
  return (id[0] == 'M' ? checks[10 - sum] : checks[sum]) == id[8];
}
bool korea(std::string_view id) {
  return numeric(id, 13) && mmdd(id) && id[6] >= '1' && id[6] <= '8' &&
         (11 - weighed(id, {2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5}) % 11) % 10 == digit(id[12]);
}
bool turkey(std::string_view id) {
  if (!numeric(id, 11) || id[0] == '0') return false;
  const int odd = weighed(id, {1, 0, 1, 0, 1, 0, 1, 0, 1}), even = weighed(id, {0, 1, 0, 1, 0, 1, 0, 1, 0});
  return ((odd * 7 - even) % 10 + 10) % 10 == digit(id[9]) && (odd + even + digit(id[9])) % 10 == digit(id[10]);
}
bool switzerland(std::string_view id) {
  return numeric(id, 13) && id.starts_with("756") && weighed(id, {1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1}) % 10 == 0;
}
bool czechia(std::string_view id) {
  if (!numeric(id, 10)) return false;
  int month = two(id, 2);
  for (int offset : {70, 50, 20})
    if (month > offset) month -= offset;
  return is_day(month, two(id, 4)) && remainder(id, 11) == 0;
}
bool china(std::string_view id) {
  if (id.size() != 18 || !all_digits(id.substr(0, 17)) || id[0] == '0' || id[0] == '9' || !mmdd(id, 10)) return false;
  const int century = two(id, 6);
  if (century != 19 && century != 20) return false;
  const int sum = weighed(id, {7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2});
  return "10X98765432"[sum % 11] == id[17];
}
bool taiwan(std::string_view id) {
  constexpr std::string_view kLetters = "ABCDEFGHJKLMNPQRSTUVXYWZIO";  // from 10 on
  if (!pictured(id, "A999999999") || (id[1] != '1' && id[1] != '2' && id[1] != '8' && id[1] != '9')) return false;
  const int letter = static_cast<int>(kLetters.find(id[0])) + 10;
  return (letter / 10 + letter % 10 * 9 + weighed(id.substr(1), {8, 7, 6, 5, 4, 3, 2, 1, 1})) % 10 == 0;
}
bool mexico(std::string_view id) {
  if (!pictured(id.substr(0, 10), "AAAA999999") || id.size() != 18 || !is_digit(id[17]) || !mmdd(id, 6)) return false;
  if (id[10] != 'H' && id[10] != 'M' && id[10] != 'X') return false;
  int sum = 0;
  for (size_t i = 0; i < 17; i++) {
    const int value = is_digit(id[i]) ? digit(id[i]) : id[i] - 'A' + (id[i] > 'N' ? 11 : 10);
    sum += value * static_cast<int>(18 - i);
  }
  return (10 - sum % 10) % 10 == digit(id[17]);
}
bool argentina(std::string_view id) {
  return numeric(id, 11) && (id[0] == '2' || id[0] == '3') && weighed(id, {5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1}) % 11 == 0;
}
bool chile(std::string_view id) {
  if (id.size() < 8 || id.size() > 9 || !numeric(id.substr(0, id.size() - 1), id.size() - 1)) return false;
  int sum = 0, weight = 2;
  for (size_t i = id.size() - 1; i-- > 0; weight = weight == 7 ? 2 : weight + 1) sum += digit(id[i]) * weight;
  const int check = 11 - sum % 11;
  return id.back() == (check == 11 ? '0' : check == 10 ? 'K' : static_cast<char>('0' + check));
}
bool hong_kong(std::string_view id) {
  if (!pictured(id.substr(0, 7), "A999999") || id.size() != 8) return false;
  const int sum = 36 * 9 + (id[0] - 'A' + 10) * 8 + weighed(id.substr(1), {7, 6, 5, 4, 3, 2});
  const int check = (11 - sum % 11) % 11;
  return id[7] == (check == 10 ? 'A' : static_cast<char>('0' + check));
}
bool romania(std::string_view id) {
  if (!numeric(id, 13) || id[0] == '0' || !mmdd(id, 3)) return false;
  const int rest = weighed(id, {2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9}) % 11;
  return (rest == 10 ? 1 : rest) == digit(id[12]);
}
bool ireland(std::string_view id) {
  if (!pictured(id, "9999999A") && !pictured(id, "9999999AA")) return false;
  const int second = id.size() == 9 && id[8] != 'W' ? (id[8] - 'A' + 1) * 9 : 0;
  return "WABCDEFGHIJKLMNOPQRSTUV"[(weighed(id, {8, 7, 6, 5, 4, 3, 2}) + second) % 23] == id[7];
}
bool croatia(std::string_view id) { return numeric(id, 11) && mod_11_10(id); }
bool baltic(std::string_view id) {  // Estonia, Lithuania
  if (!numeric(id, 11) || id[0] < '1' || id[0] > '8' || !mmdd(id, 3)) return false;
  int rest = weighed(id, {1, 2, 3, 4, 5, 6, 7, 8, 9, 1}) % 11;
  if (rest == 10) rest = weighed(id, {3, 4, 5, 6, 7, 8, 9, 1, 2, 3}) % 11 % 10;
  return rest == digit(id[10]);
}
bool israel(std::string_view id) { return numeric(id, 9) && luhn(id); }
bool greece(std::string_view id) { return numeric(id, 11) && ddmm(id) && luhn(id); }
bool bulgaria(std::string_view id) {
  if (!numeric(id, 10) || !is_day(two(id, 2) % 20, two(id, 4))) return false;
  return weighed(id, {2, 4, 8, 5, 10, 9, 7, 3, 6}) % 11 % 10 == digit(id[9]);
}
bool austria(std::string_view id) {
  return numeric(id, 10) && ddmm(id, 4) && weighed(id, {3, 7, 9, -1, 5, 8, 4, 2, 1, 6}) % 11 == 0;
}
bool japan(std::string_view id) {
  if (!numeric(id, 12)) return false;
  const int rest = weighed(id, {6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2}) % 11;
  return (rest <= 1 ? 0 : 11 - rest) == digit(id[11]);
}

}  // namespace

bool valid_cpr(std::string_view digits) { return numeric(digits, 10) && ddmm(digits); }

bool valid_itin(std::string_view digits) {
  if (!numeric(digits, 9) || digits[0] != '9') return false;
  const int group = two(digits, 3);
  return group >= 50 && group != 66 && group != 67 && group != 68 && group != 69 && group != 89 && group != 93;
}

bool valid_national_id(std::string_view id) {
  if (id.size() < 8 || id.size() > 18) return false;
  for (auto* valid : {britain_nino, britain_nhs, finland, sweden,    norway,  netherlands, spain,        italy,
                      poland,       france,      belgium, portugal,  brazil,  india_pan,   canada,       australia,
                      south_africa, singapore,   korea,   turkey,    czechia, china,       taiwan,       mexico,
                      argentina,    chile,       romania, ireland,   croatia, baltic,      israel,       greece,
                      bulgaria,     germany_tax, austria, hong_kong, japan,   switzerland, india_aadhaar}) {
    if (valid(id)) return true;
  }
  return false;
}

bool certain_national_id(std::string_view written) {
  const std::string id = alnum_of(written);
  switch (written.size()) {
    case 9:
      return spain(id) || singapore(id);
    case 10:
      return taiwan(id) || india_pan(id) || hong_kong(id);
    case 11:  // "ddmmyy-nnnc", "dddddd/dddd"
      return written[6] == '/' ? czechia(id) : finland(id);
    case 12:  // "n.nnn.nnn-c", "ddmmyy nnnnn"
      return written[6] == ' ' ? norway(id) : written.find('.') != written.npos && chile(id);
    case 13:
      if (written.find(' ') != written.npos) return britain_nino(id);
      return written[2] == '-' ? argentina(id) : written.find('.') != written.npos && chile(id);
    case 14:
      return written[3] == '.' ? brazil(id) : korea(id);
    case 15:
      return belgium(id);
    case 16:
      return written[3] == '.' ? switzerland(id) : italy(id);
    case 18:
      return written.find('/') != written.npos ? brazil(id) : china(id) || mexico(id);
    case 21:
      return france(id);
    default:
      return false;
  }
}

}  // namespace policies

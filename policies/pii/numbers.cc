// Announced numbers: personal data that a word before it announces: "Tel. 020 7946 0958", "ssn": 078051120, "PESEL
// 4405...". The expressions find the word; the number is then read from there. So text without these words costs no
// extra time.
#include <algorithm>

#include "policies/pii/around.h"
#include "policies/pii/national_ids.h"
#include "policies/pii/validate.h"
#include "supervisor/base/ascii.h"

namespace policies {
namespace {

using Accepted = std::optional<PiiSpan>;

// "phone" in "customer_phone" and "customerPhone", not in "headphones".
bool begins_word(std::string_view text, PiiSpan word) {
  if (text[word.begin] == '_') return true;
  const char previous = before(text, word);
  if (!is_letter(previous)) return !is_digit(previous);
  return (is_upper(text[word.begin]) && !is_upper(previous)) ||
         (is_upper(text[word.begin + 1]) && !is_upper(text[word.begin]));
}

struct Number {
  PiiSpan span;
  std::string digits;
  size_t groups = 0;
  std::string shape;  // lengths of the groups and the separators: "4-2-2"
};

// Reads digits in groups, from `at` on: one separator between groups, or two if one is a bracket.
Number read_number(std::string_view text, size_t at, size_t max_digits) {
  constexpr std::string_view kMarks = " .-/()";
  Number number{{at, at}, {}, 0, {}};
  size_t i = at;
  while (i < text.size() && i - at < 3 && std::string_view("(+").find(text[i]) != std::string_view::npos) i++;
  while (i < text.size() && is_digit(text[i]) && number.digits.size() <= max_digits) {
    const size_t group = i;
    while (i < text.size() && is_digit(text[i])) number.digits += text[i++];
    number.groups++;
    number.shape += std::to_string(i - group);
    number.span.end = i;
    const size_t marks = i;
    while (i < text.size() && i - marks < 2 && kMarks.find(text[i]) != std::string_view::npos) i++;
    const bool two = i - marks == 2 && text[marks] != ')' && text[i - 1] != '(';
    if (i >= text.size() || two || !is_digit(text[i])) break;
    if (i > marks) number.shape += text[i - 1];
  }
  return number;
}

// A number that looks like a date (20240131, 31.01.2024) or a range of years (2019-2024).
bool is_date(const Number& number) {
  const std::string_view digits = number.digits;
  const auto is_year = [](std::string_view year) { return year.starts_with("19") || year.starts_with("20"); };
  if (digits.size() != 8) return false;
  if (number.shape == "8") {  // 20240131
    const int month = std::stoi(number.digits.substr(4, 2)), day = std::stoi(number.digits.substr(6, 2));
    return is_year(digits) && month >= 1 && month <= 12 && day >= 1 && day <= 31;
  }
  for (std::string_view shape : {"4-2-2", "4/2/2", "4.2.2"})
    if (number.shape == shape && is_year(digits)) return true;
  for (std::string_view shape : {"2.2.4", "2/2/4", "2-2-4"})
    if (number.shape == shape && is_year(digits.substr(4))) return true;
  return (number.shape == "4-4" || number.shape == "4/4") && is_year(digits) && is_year(digits.substr(4));
}

bool ends(std::string_view text, PiiSpan span) {
  const char right = after(text, span);
  if (is_word(right)) return false;
  return !((right == '.' || right == ',' || right == '-' || right == '/' || right == ':') &&
           is_digit(after(text, span, 1)));
}

Accepted phone_behind(std::string_view text, PiiSpan word, bool weak) {
  constexpr size_t kMax = 15;
  if (!begins_word(text, word)) return {};
  const size_t at = announced_at(text, word.end);
  if (at == text.npos) return {};
  const Number number = read_number(text, at, kMax);
  const size_t digits = number.digits.size();
  const bool international = text[at] == '+' || (text[at] == '(' && text[at + 1] == '+');
  if (digits < 7 || digits > (international || number.digits.starts_with("0") ? kMax : 13u)) return {};
  if (number.groups == 1 && !international && digits < 8) return {};
  if (weak && !international && (digits < 9 || number.groups == 1) && !number.digits.starts_with("00")) return {};
  if (is_date(number) || number.shape.starts_with("1.") || !ends(text, number.span)) return {};
  if (valid_ipv4(inside(text, number.span)) || number.digits.find_first_not_of(number.digits[0]) == std::string::npos)
    return {};
  return number.span;
}
Accepted phone(std::string_view text, PiiSpan word) { return phone_behind(text, word, false); }
Accepted called_phone(std::string_view text, PiiSpan word) {
  if (!is_letter(text[word.end - 1])) word.end--;  // "text 5": the expression includes the number's first digit
  return phone_behind(text, word, true);
}

Accepted social_security(std::string_view text, PiiSpan word) {
  if (!begins_word(text, word)) return {};
  const size_t at = announced_at(text, word.end);
  if (at == text.npos || !is_digit(text[at])) return {};
  const Number number = read_number(text, at, 9);
  const bool grouped = number.shape == "9" || number.shape == "3-2-4" || number.shape == "3 2 4";
  return grouped && ends(text, number.span) && valid_ssn(number.digits) ? Accepted(number.span) : Accepted();
}

Accepted announced_card(std::string_view text, PiiSpan word) {
  if (!begins_word(text, word)) return {};
  const size_t at = announced_at(text, word.end);
  if (at == text.npos || !is_digit(text[at])) return {};
  Number number = read_number(text, at, 19);
  // Other numbers may follow: a date, a check code.
  while (number.digits.size() >= 12) {
    if (ends(text, number.span) && (valid_card(number.digits) || valid_rare_card(number.digits))) return number.span;
    do {
      number.digits.resize(number.digits.size() - is_digit(text[number.span.end - 1]));
      number.span.end--;
    } while (number.digits.size() >= 12 && is_digit(text[number.span.end]) && is_digit(text[number.span.end - 1]));
  }
  return {};
}

Accepted announced_mac(std::string_view text, PiiSpan word) {
  if (!begins_word(text, word)) return {};
  const size_t at = announced_at(text, word.end);
  if (at == text.npos) return {};
  PiiSpan span{at, at};
  while (span.end < text.size() && is_hex(text[span.end]) && span.end - at < 13) span.end++;
  return span.end - at == 12 && !is_word(after(text, span)) ? Accepted(span) : Accepted();
}

// Reads an id group by group; the longest valid part counts.
template <class Valid>
Accepted longest_id(std::string_view text, size_t at, size_t max, Valid valid) {
  constexpr std::string_view kMarks = " .-/(";
  if (text[at] == '(') at++;
  Accepted match;
  size_t read = 0;
  for (size_t i = at; i < text.size() && read <= max;) {
    size_t end = i;
    bool digits = false;
    while (end < text.size() && is_alnum(text[end]) && end - i <= max) {
      digits = digits || is_digit(text[end]);
      end++;
    }
    if (end == i || (!digits && end - i > 2)) break;
    read += end - i;
    PiiSpan span{at, end};
    const bool bracket =
        end < text.size() && text[end] == ')' && inside(text, span).find('(') != std::string_view::npos;
    span.end += bracket;
    if (!is_word(after(text, span)) && valid(inside(text, span))) match = span;
    if (end >= text.size() || kMarks.find(text[end]) == kMarks.npos) break;
    i = end + 1;
  }
  return match;
}

Accepted announced_national_id(std::string_view text, PiiSpan word) {
  if (!begins_word(text, word)) return {};
  if (after(text, word) == '(' && is_digit(after(text, word, 1))) return {};  // sin(0.5)
  const size_t at = announced_at(text, word.end);
  if (at == text.npos) return {};
  std::string name = lower_case(inside(text, word));
  if (name[0] == '_') name.erase(0, 1);
  return longest_id(text, at, 20, [&](std::string_view written) {
    const std::string id = alnum_of(written);
    if (std::count(written.begin(), written.end(), '.') == 1 && written.find_first_of(" -/") == written.npos)
      return false;  // a decimal number
    if (name.starts_with("cpr") && valid_cpr(id)) return true;
    if ((name == "itin" || name.starts_with("taxpayer")) && valid_itin(id)) return true;
    return valid_national_id(id);
  });
}

Accepted passport(std::string_view text, PiiSpan word) {
  if (!begins_word(text, word)) return {};
  const size_t at = announced_at(text, word.end);
  if (at == text.npos) return {};
  return longest_id(text, at, 10, [](std::string_view written) {
    const std::string id = alnum_of(written);
    const auto digits = std::count_if(id.begin(), id.end(), is_digit);
    if (written.find_first_of(".-/(") != written.npos) return false;
    if (written.find(' ') != written.npos)  // "4510 123456", "45 10 123456", "AB 1234567"
      return (id.size() == 10 && digits == 10) || (written.find(' ') == 2 && is_upper(written[0]) && digits >= 6);
    const bool lower = std::any_of(written.begin(), written.end(), is_lower);
    return !lower && id.size() >= 6 && id.size() <= 9 && digits >= (id.size() == 9 ? 3 : 4);
  });
}

// Bare numbers in a table with a header that names their kind.
Accepted ssn_cell(std::string_view text, PiiSpan span) {
  if (goes_on(text, span) || !valid_ssn(inside(text, span))) return {};
  return says(column_header(text, span), {"ssn", "social"}) ? Accepted(span) : Accepted();
}
Accepted national_id_cell(std::string_view text, PiiSpan span) {
  if (goes_on(text, span)) return {};
  const std::string_view header = column_header(text, span);
  if (header.empty() || !valid_national_id(alnum_of(inside(text, span)))) return {};
  return says(header, {"nino", "dni",      "nie",  "nif",       "pesel",   "bsn",    "cpf",     "cnpj",
                       "pnr",  "personn",  "hetu", "henkil",    "aadhaar", "aadhar", "nhs",     "national",
                       "tax",  "identity", "fnr",  "insurance", "steuer",  "codice", "citizen", "medicare",
                       "sin",  "tfn",      "nric", "rut",       "cuit",    "cnp",    "oib",     "id_number"})
             ? Accepted(span)
             : Accepted();
}
Accepted phone_cell(std::string_view text, PiiSpan span) {
  if (goes_on(text, span)) return {};
  const std::string_view header = column_header(text, span);
  return says(header, {"phone", "tel", "telephone", "telefon", "mobile", "fax", "cell", "handy"}) ? Accepted(span)
                                                                                                  : Accepted();
}

constexpr PiiShape kAnnouncedNumbers[] = {
    {"phone",
     R"((?:\b|_)(?i:(?:tele?phone|t\xc3\xa9l\xc3\xa9phone|phone|mobile|mobil|mobiltelefon|mobilnummer|mobilnr|handy|handynummer|handynr|telefon|telefonnummer|telefonnr|telefono|tel\xc3\xa9fono|telefone|telefoon|telefoonnummer|telefax|cellphone|cellulare|celular|m\xc3\xb3vil|movil|portable|puhelin|puhelinnumero|matkapuhelin|06-nummer|rufnummer|whatsapp|contact|contacto|telefonsz\xc3\xa1m|msisdn)|(?:tel|tlf|tfno|fax|fon|ph|mob|gsm|natel|cell|puh|sms|hp|cep)(?:\b|_|n))|[a-z](?:Phone|Mobile|Telephone|Cell|Fax))"
     "|\xd1\x82\xd0\xb5\xd0\xbb(?:\xd0\xb5\xd1\x84\xd0\xbe\xd0\xbd)?|\xd0\xa2\xd0\xb5\xd0\xbb(?:"
     "\xd0\xb5\xd1\x84\xd0\xbe\xd0\xbd)?"
     "|\xce\xa4\xce\xb7\xce\xbb(?:\xce\xad\xcf\x86\xcf\x89\xce\xbd\xce\xbf)?|\xcf\x84\xce\xb7\xce\xbb"
     "|\xe9\x9b\xbb\xe8\xa9\xb1|\xe6\x90\xba\xe5\xb8\xaf|\xe7\x94\xb5\xe8\xaf\x9d|\xe6\x89\x8b\xe6\x9c\xba|"
     "\xe6\x89\x8b\xe6\xa9\x9f"
     "|\xec\xa0\x84\xed\x99\x94|\xed\x9c\xb4\xeb\x8c\x80\xed\x8f\xb0|\xe0\xa4\xab\xe0\xa5\x8b\xe0\xa4\xa8|"
     "\xc4\x91i\xe1\xbb\x87n tho\xe1\xba\xa1i",
     phone},
    {"phone", R"(\b(?i:call|ring|dial|reach|emergency contact)\b|\b(?i:text) [+(0-9])", called_phone},
    {"ssn", R"((?:\b|_)(?i:ssn|ss#|ss no|ss number|soc\.? sec\.?|social[ _\-]?security|social)|[a-z]S(?:SN|sn))",
     social_security},
    {"credit_card",
     R"((?:\b|_)(?i:card|karte|kreditkarte|kartennummer|carte|carte bancaire|tarjeta|carta|cart\xc3\xa3o|luottokortti|maestro|visa|amex|mastercard|diners|jcb|unionpay|debit|credit|(?:kort|cc|pan)(?:\b|_))|[a-z]Card)"
     "|\xe3\x82\xab\xe3\x83\xbc\xe3\x83\x89|\xe5\x8d\xa1|\xd0\xba\xd0\xb0\xd1\x80\xd1\x82[\xd0\xb0\xd1\x8b\xb0\x8b]+",
     announced_card},
    {"mac_address", R"((?:\b|_)(?i:mac|macaddr(?:ess)?|hwaddr|bssid|ether)(?:\b|_|A))", announced_mac},
    {"national_id",
     R"((?:\b|_)(?i:national[ _\-]?insurance|ni number|ni no|henkil\xc3\xb6tunnus|henkilotunnus|personnummer|personnr|samordningsnummer|f\xc3\xb8dselsnummer|fodselsnummer|cpr-nummer|cpr-nr|burgerservicenummer|sofinummer|documento|codice[ _]?fiscale|cod\. ?fisc|s\xc3\xa9curit\xc3\xa9 sociale|securite sociale|s\xc3\xa9cu|insee|steuer-?id|steuer_?id|steuer-?identifikationsnummer|steuernummer|rijksregisternummer|num\xc3\xa9ro national|contribuinte|aadhaar|aadhar|uidai|social[ _\-]?insurance|tax[ _\-]?file|medicare|id[ _\-]?(?:number|no|card)|identity[ _\-]?(?:number|no|card)?|national[ _\-]?id|sa id|kimlik|tc kimlik|ahv-?nummer|sozialversicherungsnummer|versicherungsnummer|numeric personal|isikukood|asmens kodas|teudat zehut|teudat|tax[ _\-]?id|taxpayer(?:[ _\-]?id)?|my number|cedula|c\xc3\xa9dula))"
     R"(|(?:\b|_)(?i:nino|hetu|pnr|fnr|cpr|bsn|dni|nie|nif|cif|cf|pesel|nir|idnr|niss|insz|cpf|cnpj|pan|sin|tfn|nric|rrn|tckn|nhs|ahv|avs|svnr|curp|cuit|cuil|rut|hkid|cnp|ppsn?|oib|amka|tin|itin|egn)(?:\b|_))"
     "|\xe0\xa4\x86\xe0\xa4\xa7\xe0\xa4\xbe\xe0\xa4\xb0|rodn\xc3\xa9 "
     "\xc4\x8d\xc3\xadslo|R\xc4\x8c|\xec\xa3\xbc\xeb\xaf\xbc\xeb\x93\xb1\xeb\xa1\x9d"
     "|\xe8\xba\xab\xe4\xbb\xbd\xe8\xaf\x81|\xe8\xba\xab\xe5\x88\x86\xe8\xad\x89(?:\xe5\xad\x97)?|"
     "\xd7\xaa\xd7\xa2\xd7\x95\xd7\x93\xd7\xaa \xd7\x96\xd7\x94\xd7\x95\xd7\xaa"
     "|\xce\x91\xce\x9c\xce\x9a\xce\x91|\xd0\x95\xd0\x93\xd0\x9d|"
     "\xe3\x83\x9e\xe3\x82\xa4\xe3\x83\x8a\xe3\x83\xb3\xe3\x83\x90\xe3\x83\xbc|"
     "\xe5\x80\x8b\xe4\xba\xba\xe7\x95\xaa\xe5\x8f\xb7",
     announced_national_id},
    {"passport",
     R"((?:\b|_)(?i:passports?|reisep(?:a|\xc3\xa4)sse?|reisepassnummer|passeport|pasaporte|passaporto|passaporte|paspoort|paspoortnummer|paszport|paszportu|pasaport|passnummer|pass[ \-]?nr|pass no|passi|passinumero)|[a-z]Passport)"
     "|\xd0\xbf\xd0\xb0\xd1\x81\xd0\xbf\xd0\xbe\xd1\x80\xd1\x82|"
     "\xd0\x9f\xd0\xb0\xd1\x81\xd0\xbf\xd0\xbe\xd1\x80\xd1\x82"
     "|\xe6\x8a\xa4\xe7\x85\xa7|\xe8\xad\xb7\xe7\x85\xa7|\xe6\x97\x85\xe5\x88\xb8|\xec\x97\xac\xea\xb6\x8c",
     passport},
    {"ssn", R"(\b[0-9]{9})", ssn_cell},
    {"national_id", R"(\b(?:[0-9]{9,13}|[0-9]{8}[A-Za-z]|[0-9]{6}[\-/][0-9]{4}))", national_id_cell},
    {"phone", R"(\b[0-9]{8,12})", phone_cell},
};

}  // namespace

std::span<const PiiShape> announced_shapes() { return kAnnouncedNumbers; }

}  // namespace policies

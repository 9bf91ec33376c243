#include "supervisor/protocol/credentials/stored_token.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <set>

#include "policies/names.h"
#include "supervisor/base/ascii.h"
#include "supervisor/base/durable.h"
#include "supervisor/base/elapsed_clock.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json_file.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/protocol/credentials/access_token.h"

namespace credentials {
namespace {

constexpr char kCredential[] = "warder.tokens";
constexpr size_t kMaxCredentialBytes = 1 << 20;
constexpr size_t kMaxTokens = 10'000;
constexpr size_t kMaxNameBytes = 48;  // "token-NAME" is the name of a tenant, of at most 64

Result<> read_time(Fields& in, const char* key, std::optional<WallTime>& into) {
  if (!in.find(key)) return {};
  TRY(const std::string text, in.string(key, 64));
  auto time = parse_wall_time(text);
  if (!time) return tl::unexpected<Error>(std::move(time).error().within(in.path_of(key)));
  into = *time;
  return {};
}

// The number in `text` at `at`; -1: there are other characters.
int number_at(std::string_view text, size_t at, size_t digits) {
  int number = -1;
  const char* const end = text.data() + at + digits;
  if (!is_digit(text[at])) return -1;
  const auto [stopped, error] = std::from_chars(text.data() + at, end, number);
  return error == std::errc() && stopped == end ? number : -1;
}

}  // namespace

bool is_token_name(std::string_view name) { return name.size() <= kMaxNameBytes && policies::valid_name(name); }

Result<StoredToken> read_token(const std::string& name, const Json& entry, const std::string& path) {
  StoredToken token;
  token.name = token.rule.token = name;
  if (!is_token_name(name))
    return fail(Code::invalid,
                fmt::format("{}: the name is not 1 to {} of a-z, 0-9, _, . and -, or starts with a dot",
                            printable(path, 80), kMaxNameBytes),
                "choose another name");
  Fields in(entry, path);
  TRY(token.hash, in.string("hash", 256));
  if (!is_token_hash(token.hash))
    return fail(Code::invalid, in.path_of("hash") + ": not blake2b: and 64 hexadecimal digits",
                "warder token add makes tokens");
  CHECKED(read_time(in, "created", token.created));
  CHECKED(read_time(in, "expires", token.expires));
  TRY(token.rule.tenant, in.string_or("tenant", "", 64));
  TRY(token.rule.policy, in.string_or("policy", "", 64));
  for (const auto& [key, value] : {std::pair{"tenant", &token.rule.tenant}, std::pair{"policy", &token.rule.policy}})
    if (in.has(key) && !policies::valid_name(*value))
      return fail(Code::invalid, fmt::format("{}: \"{}\" is not 1 to 64 of a-z, 0-9, _, . and -, or starts with a dot",
                                             in.path_of(key), printable(*value, 64)));
  CHECKED(in.done());
  return token;
}

Result<std::vector<StoredToken>> read_tokens(const Json& entries, const std::string& path) {
  if (!entries.is_object()) return fail(Code::invalid, path + ": not an object of tokens by name");
  if (entries.size() > kMaxTokens) return fail(Code::invalid, fmt::format("{}: more than {} tokens", path, kMaxTokens));
  std::vector<StoredToken> all;
  std::set<std::string> hashes;
  for (const auto& [name, entry] : entries.items()) {
    TRY(StoredToken token, read_token(name, entry, path + "." + name));
    if (!hashes.insert(token.hash).second)
      return fail(Code::invalid, fmt::format("{}.{}.hash: another token has this hash, too", path, name),
                  "remove one of the two");
    all.push_back(std::move(token));
  }
  return all;
}

Result<std::vector<StoredToken>> load_token_credential(const std::string& credentials) {
  if (credentials.empty()) return {};
  const std::string path = credentials + "/" + kCredential;
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file && errno == ENOENT) return {};
  if (!file) return fail_errno(errno, fmt::format("open the credential {}", kCredential));
  TRY(const std::string text, read_complete(file.get(), kMaxCredentialBytes));
  const auto parsed = parse_json_file(text);
  if (!parsed) return tl::unexpected<Error>(Error(parsed.error()).within(fmt::format("credential {}", kCredential)));
  return read_tokens(*parsed, kCredential);
}

WallTime rights_now() {
  return WallTime(std::chrono::floor<std::chrono::seconds>(std::chrono::milliseconds(rights_now_ms())));
}

Result<WallTime> parse_wall_time(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00Z";
  const auto wrong = [] { return fail(Code::invalid, "not a time such as 2027-01-01T00:00:00Z"); };
  if (text.size() != kForm.size()) return wrong();
  for (size_t i = 0; i < text.size(); i++)
    if (kForm[i] != '0' && text[i] != kForm[i]) return wrong();
  const int year = number_at(text, 0, 4), month = number_at(text, 5, 2), day = number_at(text, 8, 2);
  const int hour = number_at(text, 11, 2), minute = number_at(text, 14, 2), second = number_at(text, 17, 2);
  if (year < 0 || month < 0 || day < 0 || hour < 0 || minute < 0 || second < 0) return wrong();
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return wrong();
  return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second);
}

std::string wall_time_text(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const auto rest = (time - day).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), rest / 3600,
                     rest / 60 % 60, rest % 60);
}

}  // namespace credentials

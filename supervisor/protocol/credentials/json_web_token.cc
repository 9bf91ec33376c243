#include "supervisor/protocol/credentials/json_web_token.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/loopback.h"

namespace credentials {
namespace {

using Refused = tl::unexpected<std::string_view>;

constexpr std::chrono::seconds kClockSkew{60};
constexpr size_t kMaxDepth = 8, kMaxAudiences = 32, kMaxSubject = 128, kMaxClaim = 32;
constexpr double kMaxTime = 253'402'300'799;  // the end of the year 9999

// Counts keys, for has_key_twice(). Values are not looked at.
struct KeyCounter : nlohmann::json_sax<Json> {
  std::vector<std::set<std::string>> open;  // objects and lists, from the outermost
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool begin() {
    open.emplace_back();
    return open.size() <= kMaxDepth;
  }
  bool end() {
    open.pop_back();
    return true;
  }
  bool start_object(size_t) override { return begin(); }
  bool end_object() override { return end(); }
  bool start_array(size_t) override { return begin(); }
  bool end_array() override { return end(); }
  bool key(string_t& name) override { return open.back().insert(name).second; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }
};

bool is_text(const Json* value, std::string_view text) {
  return value && value->is_string() && value->get_ref<const std::string&>() == text;
}

std::optional<Json> read_part(std::string_view part) {
  const auto bytes = from_base64url(part);
  if (!bytes || has_key_twice(*bytes)) return {};
  auto parsed = parse_json(*bytes, kMaxDepth);
  if (!parsed || !parsed->is_object()) return {};
  return *std::move(parsed);
}

// The key that the header means; nullptr, and a sentence: there is none, or the header is not taken.
const JsonWebKey* key_for(const Json& header, const JsonWebKeys& keys, std::string_view& why) {
  for (const char* key : {"crit", "b64", "zip", "enc", "jwk", "jku", "x5u", "x5c"}) {
    if (!find_member(header, key)) continue;
    why = "its header has a field that is not taken";
    return nullptr;
  }
  const Json* type = find_member(header, "typ");
  if (type && !is_text(type, "JWT") && !is_text(type, "at+jwt") && !is_text(type, "application/at+jwt")) {
    why = "its type is not JWT or at+jwt";
    return nullptr;
  }
  const Json* id = find_member(header, "kid");
  const JsonWebKey* chosen = nullptr;
  for (const auto& key : keys) {
    if (!is_text(find_member(header, "alg"), algorithm_name(key->algorithm()))) continue;
    if (id && !is_text(id, key->id())) continue;
    if (chosen) {
      why = "several keys fit, and its header names none";
      return nullptr;
    }
    chosen = key.get();
  }
  if (!chosen) why = "no key has its algorithm and its key id";
  return chosen;
}

bool is_for(const Json* audience, const std::string& own) {
  if (is_text(audience, own)) return true;
  if (!audience || !audience->is_array() || audience->size() > kMaxAudiences) return false;
  if (!std::all_of(audience->begin(), audience->end(), [](const Json& item) { return item.is_string(); })) return false;
  return std::any_of(audience->begin(), audience->end(), [&own](const Json& item) { return is_text(&item, own); });
}

// Seconds since 1970; nullopt: not a number in range.
std::optional<double> time_of(const Json* value) {
  if (!value || !value->is_number()) return {};
  const auto seconds = value->get<double>();
  if (!std::isfinite(seconds) || seconds < 0 || seconds > kMaxTime) return {};
  return seconds;
}

std::string_view problem_of_times(const Json& claims, WallTime now) {
  const auto seconds = static_cast<double>(now.time_since_epoch().count());
  const auto skew = static_cast<double>(kClockSkew.count());
  const auto expires = time_of(find_member(claims, "exp"));
  if (!expires) return "it has no time of expiry";
  if (seconds >= *expires + skew) return "it has expired";
  for (const char* key : {"nbf", "iat"}) {
    if (!find_member(claims, key)) continue;
    const auto begins = time_of(find_member(claims, key));
    if (!begins || *begins > seconds + skew) return "it is not valid yet";
  }
  return {};
}

std::string claim_of(const Json& claims, const std::string& name) {
  const Json* value = name.empty() ? nullptr : find_member(claims, name);
  if (!value || !value->is_string()) return {};
  const auto& text = value->get_ref<const std::string&>();
  const bool fits =
      text.size() <= kMaxClaim && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == text.npos;
  return fits ? text : std::string();
}

}  // namespace

bool is_resource_url(std::string_view url) {
  const bool is_printable =
      std::all_of(url.begin(), url.end(), [](char c) { return c > 32 && c < 127 && c != '"' && c != '\\'; });
  if (!is_printable || url.find_first_of("?#@") != url.npos) return false;
  constexpr std::string_view kHttps = "https://", kHttp = "http://";
  if (url.starts_with(kHttp)) {
    const std::string_view rest = url.substr(kHttp.size());
    return is_loopback_host(rest.substr(0, rest.find('/')));
  }
  return url.starts_with(kHttps) && url.size() > kHttps.size() && url[kHttps.size()] != '/';
}

// The path of the resource comes behind the well-known one (RFC 9728, section 3.1).
std::string metadata_url(const JwtSettings& settings) {
  const std::string& resource = settings.audience;
  const size_t path = std::min(resource.find('/', resource.find("://") + 3), resource.size());
  const std::string rest = resource.substr(path);
  return resource.substr(0, path) + "/.well-known/oauth-protected-resource" + (rest == "/" ? "" : rest);
}

std::string metadata_text(const JwtSettings& settings) {
  return dump_json({{"resource", settings.audience},
                    {"authorization_servers", {settings.issuer}},
                    {"bearer_methods_supported", {"header"}}});
}

bool has_key_twice(std::string_view json) {
  KeyCounter counter;
  return !Json::sax_parse(json.begin(), json.end(), &counter);
}

bool looks_like_jwt(std::string_view text) {
  return !text.starts_with("wrd_") && std::count(text.begin(), text.end(), '.') == 2;
}

tl::expected<JwtClaims, std::string_view> verify_jwt(const JwtSettings& settings, std::string_view text, WallTime now) {
  if (text.size() > kMaxJwtBytes) return Refused("it is longer than 8192 bytes");
  const size_t first = text.find('.');
  const size_t second = first == text.npos ? text.npos : text.find('.', first + 1);
  if (second == text.npos || text.find('.', second + 1) != text.npos) return Refused("it has not three parts");
  const auto header = read_part(text.substr(0, first));
  if (!header) return Refused("its header is not an object of JSON with each key once");
  std::string_view why;
  const JsonWebKey* key = key_for(*header, settings.keys, why);
  if (!key) return Refused(why);
  const auto signature = from_base64url(text.substr(second + 1));
  if (!signature || !key->verifies(text.substr(0, second), *signature)) return Refused("its signature is wrong");
  const auto claims = read_part(text.substr(first + 1, second - first - 1));
  if (!claims) return Refused("its claims are not an object of JSON with each key once");
  if (!is_text(find_member(*claims, "iss"), settings.issuer)) return Refused("it is of another issuer");
  if (!is_for(find_member(*claims, "aud"), settings.audience)) return Refused("it is for another audience");
  if (const auto problem = problem_of_times(*claims, now); !problem.empty()) return Refused(problem);
  const Json* subject = find_member(*claims, "sub");
  if (!subject || !subject->is_string()) return Refused("it has no subject");
  const auto expires =
      static_cast<int64_t>(*time_of(find_member(*claims, "exp")));  // problem_of_times() has looked at it
  JwtClaims read{subject->get<std::string>(), claim_of(*claims, settings.tenant_claim),
                 WallTime(std::chrono::seconds(expires)) + kClockSkew, key->fingerprint()};
  const bool is_printable =
      std::all_of(read.subject.begin(), read.subject.end(), [](char c) { return c > 32 && c < 127; });
  if (read.subject.empty() || read.subject.size() > kMaxSubject || !is_printable)
    return Refused("its subject is not 1 to 128 printable characters");
  return read;
}

}  // namespace credentials

#include "supervisor/cluster/bus/subjects.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/ascii.h"
#include "supervisor/base/log.h"
#include "supervisor/base/sha256.h"

namespace cluster {
namespace {

constexpr size_t kMaxPlainToken = 64;

bool is_plain_token(std::string_view token) {
  return !token.empty() && std::all_of(token.begin(), token.end(), [](char c) { return is_word(c) || c == '-'; });
}

// Takes the first token from `rest`. Sets `more` to whether another token follows.
std::string_view take_token(std::string_view& rest, bool& more) {
  const size_t dot = rest.find('.');
  more = dot != rest.npos;
  const std::string_view token = rest.substr(0, dot);
  rest.remove_prefix(more ? dot + 1 : rest.size());
  return token;
}

Result<> check_tokens(std::string_view subject, bool wildcards) {
  if (subject.empty() || subject.size() > kMaxSubject)
    return fail(Code::invalid, fmt::format("a subject of {} bytes", subject.size()),
                fmt::format("a subject has from 1 to {} bytes", kMaxSubject));
  std::string_view rest = subject;
  for (bool more = true; more;) {
    const std::string_view token = take_token(rest, more);
    if (is_plain_token(token) || (wildcards && (token == "*" || (token == ">" && !more)))) continue;
    return fail(
        Code::invalid,
        fmt::format("'{}' is no valid token of the subject '{}'", printable(token, 64), printable(subject, 300)),
        wildcards ? "tokens are of A-Z a-z 0-9 _ -, or '*', or '>' at the end, with '.' between them"
                  : "tokens are of A-Z a-z 0-9 _ -, with '.' between them");
  }
  return {};
}

}  // namespace

Result<> check_subject(std::string_view subject) { return check_tokens(subject, false); }
Result<> check_filter(std::string_view filter) { return check_tokens(filter, true); }

Result<> check_bucket_name(std::string_view name) {
  if (is_plain_token(name) && name.size() <= kMaxBucketName) return {};
  return fail(Code::invalid, fmt::format("'{}' is no valid name of a bucket or a group", printable(name, 100)),
              fmt::format("use 1 to {} of A-Z a-z 0-9 _ -", kMaxBucketName));
}

bool matches(std::string_view filter, std::string_view subject) {
  for (bool more_filter = true, more_subject = true;;) {
    const std::string_view requested = take_token(filter, more_filter);
    if (requested == ">") return true;
    if (const std::string_view token = take_token(subject, more_subject); requested != "*" && requested != token)
      return false;
    if (!more_filter || !more_subject) return more_filter == more_subject;
  }
}

std::string name_token(std::string_view name) {
  if (name.empty()) return "_";
  std::string token;
  for (const char c : name) {
    if (is_alnum(c) || c == '-')
      token += c;
    else
      token += fmt::format("_{:02X}", static_cast<unsigned char>(c));
    if (token.size() > kMaxPlainToken) return "_H" + sha256_hex(name);  // "_H" cannot begin an escape
  }
  return token;
}

std::optional<std::string> name_in_token(std::string_view token) {
  const auto digit = [](char c) { return is_lower(c) ? -1 : hex_digit(c); };
  std::string name;
  if (token == "_") return name;
  for (size_t i = 0; i < token.size(); i++) {
    if (token[i] != '_') {
      name += token[i];
      continue;
    }
    if (i + 2 >= token.size() || digit(token[i + 1]) < 0 || digit(token[i + 2]) < 0) return std::nullopt;
    name += static_cast<char>(digit(token[i + 1]) * 16 + digit(token[i + 2]));
    i += 2;
  }
  if (name_token(name) != token) return std::nullopt;  // one name, one token
  return name;
}

std::string tenant_key(std::string_view account, std::string_view workspace) {
  return name_token(account) + "." + name_token(workspace);
}

}  // namespace cluster

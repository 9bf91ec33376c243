#include "supervisor/upstream/authorization/challenge.h"

#include <algorithm>

#include "supervisor/base/ascii.h"
#include "supervisor/base/trimmed.h"
#include "supervisor/upstream/authorization/settings.h"

namespace oauth {
namespace {

constexpr size_t kMaxChallenge = 8 << 10, kMaxSplitScopes = 64;

bool is_token_char(char c) {
  return is_alnum(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

std::string_view take_token(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_token_char);
  const std::string_view token = text.substr(0, static_cast<size_t>(end - text.begin()));
  text.remove_prefix(token.size());
  return token;
}

// A token or a quoted string. nullopt: neither.
std::optional<std::string> take_value(std::string_view& text) {
  if (!text.starts_with('"')) {
    const std::string_view token = take_token(text);
    if (token.empty()) return {};
    return std::string(token);
  }
  std::string value;
  for (size_t i = 1; i < text.size(); i++) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return value;
    }
    if (text[i] == '\\' && ++i == text.size()) return {};
    value += text[i];
  }
  return {};
}

void skip(std::string_view& text, std::string_view characters) {
  text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
}

void note_parameter(Challenge& challenge, std::string_view name, std::string value) {
  if (is_same_word(name, "resource_metadata"))
    challenge.resource_metadata = std::move(value);
  else if (is_same_word(name, "scope"))
    challenge.scopes = split_scopes(value);
  else if (is_same_word(name, "error"))
    challenge.error = value.substr(0, 64);
}

std::optional<Challenge> read_bearer(std::string_view text) {
  std::optional<Challenge> bearer;
  bool in_bearer = false;
  for (skip(text, " \t,"); !text.empty(); skip(text, " \t,")) {
    const std::string_view word = take_token(text);
    if (word.empty()) return {};
    std::string_view rest = text;
    skip(rest, " \t");
    if (!rest.starts_with('=')) {  // a new scheme
      if (bearer) return bearer;
      in_bearer = is_same_word(word, "Bearer");
      if (in_bearer) bearer.emplace();
      continue;
    }
    rest.remove_prefix(1);
    skip(rest, " \t");
    auto value = take_value(rest);
    if (!value) return {};
    text = rest;
    if (in_bearer) note_parameter(*bearer, word, *std::move(value));
  }
  return bearer;
}

}  // namespace

std::optional<Challenge> bearer_challenge(const http::ReplyHead& head) {
  for (const auto& [name, value] : head.headers) {
    if (name != "www-authenticate" || value.size() > kMaxChallenge) continue;
    if (auto challenge = read_bearer(value)) return challenge;
  }
  return {};
}

std::vector<std::string> split_scopes(std::string_view text) {
  std::vector<std::string> scopes;
  while (!(text = trimmed(text)).empty() && scopes.size() < kMaxSplitScopes) {
    const std::string_view name = text.substr(0, text.find(' '));
    if (is_scope(name) && std::find(scopes.begin(), scopes.end(), name) == scopes.end()) scopes.emplace_back(name);
    text.remove_prefix(name.size());
  }
  return scopes;
}

std::string join_scopes(const std::vector<std::string>& scopes) {
  std::string all;
  for (const auto& scope : scopes) all += (all.empty() ? "" : " ") + scope;
  return all;
}

}  // namespace oauth

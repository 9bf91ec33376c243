#include "supervisor/egress/secret_filter.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/ascii.h"
#include "supervisor/base/base64.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/egress/secret_length.h"

namespace egress {
namespace {

constexpr std::string_view kShownInstead = "[secret]";

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool is_plain = is_alnum(c) || std::string_view("-._~").find(c) != std::string_view::npos;
    if (is_plain) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::string json_encoded(std::string_view text) {
  const std::string quoted = dump_json(Json(std::string(text)));
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

SecretFilter::SecretFilter(std::string_view value) {
  std::vector<std::string> plain{std::string(value)};
  if (const size_t space = value.find(' '); space != value.npos) {
    const std::string_view rest = value.substr(space + 1);
    plain.emplace_back(rest);
    if (const auto decoded = from_base64(rest); decoded && value.substr(0, space) == "Basic") {
      plain.push_back(*decoded);
      if (const size_t colon = decoded->find(':'); colon != decoded->npos) plain.push_back(decoded->substr(colon + 1));
    }
  }
  for (const std::string& text : plain) {
    if (text.size() < kMinSecretBytes) continue;
    for (std::string form : {text, json_encoded(text), percent_encoded(text)})
      if (std::find(secrets_.begin(), secrets_.end(), form) == secrets_.end()) secrets_.push_back(std::move(form));
  }
  std::stable_sort(secrets_.begin(), secrets_.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

// Replaces secrets. saved_from: where the end begins that may be the beginning of a secret; at the end of the stream:
// at its end.
std::string SecretFilter::replace(std::string_view text, size_t& saved_from, bool is_end) const {
  std::string passed;
  size_t at = 0;
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    const auto fits = [&](const std::string& secret) { return rest.starts_with(secret); };
    const auto it = std::find_if(secrets_.begin(), secrets_.end(), fits);
    const auto may_begin = [&](const std::string& secret) {
      return rest.size() < secret.size() && std::string_view(secret).starts_with(rest);
    };
    // A longer secret could begin here, too: wait for its end before a shorter one is replaced.
    if (!is_end && std::any_of(secrets_.begin(), it, may_begin)) break;
    if (it == secrets_.end()) {
      passed += text[at++];
    } else {
      passed += kShownInstead;
      at += it->size();
    }
  }
  saved_from = at;
  return passed;
}

std::string SecretFilter::feed(std::string_view bytes) {
  pending_ += bytes;
  size_t saved_from = 0;
  std::string passed = replace(pending_, saved_from, false);
  pending_.erase(0, saved_from);
  return passed;
}

std::string SecretFilter::finish() {
  size_t saved_from = 0;
  return replace(std::exchange(pending_, {}), saved_from, true);
}

std::string SecretFilter::hide(std::string_view text) const {
  size_t saved_from = 0;
  return replace(text, saved_from, true);
}

}  // namespace egress

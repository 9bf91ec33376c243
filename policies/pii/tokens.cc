#include "policies/pii/tokens.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <stdexcept>

#include "supervisor/base/ascii.h"
#include "supervisor/base/elapsed_clock.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace policies {
namespace {

constexpr size_t kMinDigits = 6, kMaxDigits = 40;  // of a token; each digit has 5 bits
constexpr size_t kMaxType = 32;
constexpr size_t kEntryOverhead = 128;  // bytes of a map entry beside its texts, about
constexpr std::string_view kTokenDigits = "abcdefghijkmnpqrstuvwxyz23456789";  // without characters that look alike
constexpr size_t kSanitizeWindow = 256 << 10, kReplacements = 256;             // limits of one Sanitizer step
constexpr uint64_t kStepsPerText = 100;  // of a WorkMeter, in addition to the bytes
constexpr const char* kToken = "token";  // the type of text that only looks like a token
static_assert(kTokenDigits.size() == 32);

bool is_type(char c) { return is_upper(c) || is_digit(c) || c == '_'; }

// The end of a token that begins at `at`: "[", capitals, "_", at least kMinDigits digits, "]". 0: there is no token.
size_t token_end(std::string_view text, size_t at) {
  if (text[at] != '[') return 0;
  size_t type = at + 1;
  while (type < text.size() && type - at <= kMaxType + 1 && is_type(text[type])) type++;
  while (type > at + 1 && text[type - 1] != '_') type--;  // a token's digits may be like those of its type
  if (type < at + 3) return 0;
  size_t digits = type;
  while (digits < text.size() && digits - type <= kMaxDigits && kTokenDigits.find(text[digits]) != kTokenDigits.npos)
    digits++;
  const bool full =
      digits - type >= kMinDigits && digits - type <= kMaxDigits && digits < text.size() && text[digits] == ']';
  return full ? digits + 1 : 0;
}

// All digits that a token of this text may have. A token takes only as many as make it unique in its vault.
std::string digits_for(const PiiVault::Key& key, std::string_view type, std::string_view text) {
  std::array<unsigned char, 32> hash{};
  crypto_generichash_state state;
  crypto_generichash_init(&state, key.data(), key.size(), hash.size());
  const auto add = [&](std::string_view part) {
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()), part.size());
  };
  add(type);
  add(std::string_view("\0", 1));
  add(text);
  crypto_generichash_final(&state, hash.data(), hash.size());
  std::string digits;
  unsigned bits = 0, have = 0;
  for (unsigned char byte : hash) {
    bits = bits << 8 | byte;
    for (have += 8; have >= 5 && digits.size() < kMaxDigits; have -= 5) digits += kTokenDigits[bits >> (have - 5) & 31];
  }
  return digits;
}

// Returns the same token for the same text. The token is longer if the short one stands for another text.
Result<std::string> token_for(std::string_view type, std::string_view text, PiiVault& vault) {
  const std::string digits = digits_for(vault.key(), type, text);
  for (size_t length = kMinDigits; length <= digits.size(); length += 2) {
    std::string token = "[" + upper_case(type) + "_" + digits.substr(0, length) + "]";
    TRY(const bool is_saved, vault.keep(token, text));
    if (is_saved) return token;
  }
  return fail(Code::exhausted, "no free token is left for this text", "try again when older tokens have expired");
}

}  // namespace

MemoryVault::MemoryVault(VaultLimits limits) : lifetime_(limits.lifetime), limits_(limits) {
  static const int ready = ::sodium_init();  // -1: no random numbers, so no key is safe
  if (ready < 0) throw std::runtime_error("libsodium cannot be initialised");
  randombytes_buf(key_.data(), key_.size());
}

MemoryVault::~MemoryVault() {
  forget_all();
  sodium_memzero(key_.data(), key_.size());
}

MemoryVault::Time MemoryVault::now() const {
  const std::chrono::milliseconds now(retention_now_ms());
  return Time(std::chrono::floor<std::chrono::seconds>(now)) + passed_;
}

void MemoryVault::forget_all() {
  for (auto& [token, entry] : entries_) sodium_memzero(entry.text.data(), entry.text.size());
  entries_.clear();
  bytes_ = 0;
}

void MemoryVault::forget_expired() {
  const Time at = now();
  for (auto it = entries_.begin(); it != entries_.end();) {
    if (it->second.until > at) {
      ++it;
      continue;
    }
    bytes_ -= it->first.size() + it->second.text.size() + kEntryOverhead;
    sodium_memzero(it->second.text.data(), it->second.text.size());
    it = entries_.erase(it);
  }
}

std::optional<std::string> MemoryVault::find(std::string_view token) {
  std::lock_guard lock(mutex_);
  auto it = entries_.find(token);
  if (it == entries_.end() || it->second.until <= now()) return {};
  return it->second.text;
}

Result<bool> MemoryVault::keep(const std::string& token, std::string_view text) {
  std::lock_guard lock(mutex_);
  return keep_locked(token, text);
}

Result<bool> MemoryVault::keep_locked(const std::string& token, std::string_view text) {
  const auto it = entries_.find(token);
  if (it != entries_.end() && it->second.until > now() && it->second.text != text) return false;
  CHECKED(put(token, text, now() + lifetime()));
  return true;
}

Result<> MemoryVault::put(const std::string& token, std::string_view text, Time until) {
  if (auto it = entries_.find(token); it != entries_.end()) {
    bytes_ += text.size() - it->second.text.size();
    it->second = {std::string(text), until};
    return {};
  }
  const size_t more = token.size() + text.size() + kEntryOverhead;
  if (entries_.size() >= limits_.tokens || bytes_ + more > limits_.bytes) forget_expired();
  if (entries_.size() >= limits_.tokens || bytes_ + more > limits_.bytes)
    return fail(Code::exhausted, "the vault for personal data is full", "wait until older tokens expire", "pii.vault");
  entries_.emplace(token, Entry{std::string(text), until});
  bytes_ += more;
  return {};
}

void Sanitizer::find_tokens() {
  const size_t edge = std::min(at_ + kSanitizeWindow, text_.size());
  const std::string_view seen = text_.substr(0, edge);  // bounds the search: not up to the end of the text in each step
  for (size_t open = seen.find('[', at_); open != seen.npos; open = seen.find('[', open + 1))
    if (const size_t end = token_end(text_, open); end != 0) tokens_.push_back({open, end, kToken});
  at_ = edge;
}

Result<> Sanitizer::replace(const PiiFinding& finding) {
  const std::string_view original = text_.substr(finding.begin, finding.end - finding.begin);
  if (options_.tokens == SanitizeOptions::Tokens::keep && finding.type == kToken && vault_.find(original)) return {};
  TRY(std::string token, token_for(finding.type, original, vault_));
  clean_.text.append(text_.substr(at_, finding.begin - at_)).append(token);
  at_ = finding.end;
  if (finding.type == kToken) {
    clean_.escaped.emplace(std::move(token), original);
  } else {
    types_.emplace(finding.type);
    clean_.tokens.emplace(std::move(token), original);
  }
  return {};
}

Result<PiiScan::Step> Sanitizer::step() {
  if (work_ == Work::scan) {
    if (scan_.step() == PiiScan::Step::done) work_ = Work::tokens;
    return PiiScan::Step::more;
  }
  if (work_ == Work::tokens) {
    find_tokens();
    if (at_ < text_.size()) return PiiScan::Step::more;
    findings_ = scan_.take();
    findings_.insert(findings_.end(), tokens_.begin(), tokens_.end());
    findings_ = apart(std::move(findings_));
    work_ = Work::replace;
    at_ = 0;
  }
  for (const size_t last = std::min(next_ + kReplacements, findings_.size()); next_ < last; next_++)
    CHECKED(replace(findings_[next_]));
  return next_ < findings_.size() ? PiiScan::Step::more : PiiScan::Step::done;
}

Sanitized Sanitizer::take() {
  clean_.text.append(text_.substr(at_));
  clean_.types.assign(types_.begin(), types_.end());
  return std::move(clean_);
}

Result<Sanitized> sanitize(std::string_view text, const PiiDetector& detector, PiiVault& vault, WorkMeter& meter,
                           const SanitizeOptions& options) {
  Sanitizer sanitizer(text, detector, vault, options);
  const uint64_t steps = std::min<uint64_t>(kStepsPerText + text.size(), WorkMeter::kStepsPerCheck);
  for (;;) {
    if (!meter.spend(steps)) return tl::unexpected<Error>(meter.error());
    TRY(const PiiScan::Step step, sanitizer.step());
    if (step == PiiScan::Step::done) return sanitizer.take();
  }
}

size_t count_tokens(std::string_view text) {
  size_t count = 0;
  for (size_t open = text.find('['); open != text.npos; open = text.find('[', open + 1))
    if (token_end(text, open) != 0) count++;
  return count;
}

Result<std::string> restore(std::string_view text, PiiVault& vault, WorkMeter& meter, size_t max_bytes) {
  constexpr uint64_t kStepsPerToken = 20, kBytesPerStep = 16;
  if (!meter.spend(text.size() / kBytesPerStep)) return tl::unexpected<Error>(meter.error());
  std::string restored;
  size_t at = 0;
  for (size_t open = text.find('['); open != text.npos; open = text.find('[', std::max(open + 1, at))) {
    if (!meter.spend(kStepsPerToken)) return tl::unexpected<Error>(meter.error());
    const size_t end = token_end(text, open);
    if (end == 0) continue;
    const auto original = vault.find(text.substr(open, end - open));
    if (!original) continue;
    restored.append(text.substr(at, open - at)).append(*original);
    at = end;
    if (restored.size() > max_bytes) break;
  }
  restored.append(text.substr(at));
  if (restored.size() <= max_bytes) return restored;
  return fail(Code::exhausted, fmt::format("the restored text has more than {} bytes", max_bytes),
              "restore the text in parts");
}

Result<> sanitize_value(Json& value, const PiiDetector& detector, PiiVault& vault, WorkMeter& meter) {
  SanitizeOptions options;
  options.tokens = SanitizeOptions::Tokens::keep;
  const auto clean = [&](const std::string& text) -> Result<std::string> {
    TRY(const Sanitized sanitized, sanitize(text, detector, vault, meter, options));
    return valid_utf8(sanitized.text);
  };
  if (value.is_string()) {
    TRY(value, clean(value.get_ref<const std::string&>()));
  } else if (value.is_array()) {
    for (Json& item : value) CHECKED(sanitize_value(item, detector, vault, meter));
  } else if (value.is_object()) {
    Json changed = Json::object();
    for (auto member = value.begin(); member != value.end(); ++member) {
      CHECKED(sanitize_value(*member, detector, vault, meter));
      TRY(const std::string name, clean(member.key()));
      changed[name] = std::move(*member);
    }
    value = std::move(changed);
  }
  return {};
}

Result<> restore_value(Json& value, PiiVault& vault, WorkMeter& meter, size_t max_bytes) {
  if (value.is_string()) {
    TRY(const std::string text, restore(value.get_ref<const std::string&>(), vault, meter, max_bytes));
    value = valid_utf8(text);
  } else if (value.is_structured()) {
    for (Json& part : value) CHECKED(restore_value(part, vault, meter, max_bytes));
  }
  return {};
}

}  // namespace policies

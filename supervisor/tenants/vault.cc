#include "supervisor/tenants/vault.h"

#include <fmt/format.h>
#include <sodium.h>
#include <unistd.h>

#include <cstring>

#include "supervisor/base/path.h"

namespace tenants {
namespace {

constexpr std::string_view kMagic = "warder vault 1\n";
constexpr size_t kNonce = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr size_t kTag = crypto_aead_xchacha20poly1305_ietf_ABYTES;
constexpr size_t kHeader = kMagic.size() + kNonce + kTag;  // the tag of nothing: whether the key is the one
constexpr size_t kLength = 4, kUntil = 8, kTokenLength = 1;
constexpr size_t kMaxLog = 256 << 20;
constexpr uint64_t kSmall = 1 << 20;  // not worth rewriting

RelativePath named(const char* name) { return RelativePath::parse(name).value(); }
const unsigned char* bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

// Little endian.
void append_number(std::string& to, uint64_t number, size_t size) {
  for (size_t i = 0; i < size; i++) to += static_cast<char>(number >> (8 * i) & 0xff);
}
uint64_t number_at(std::string_view text, size_t at, size_t size) {
  uint64_t number = 0;
  for (size_t i = 0; i < size; i++) number |= uint64_t{static_cast<unsigned char>(text[at + i])} << (8 * i);
  return number;
}

// Appends nonce, text and tag; `with` is not written, but opening needs the same.
void append_sealed(std::string& to, std::string_view text, std::string_view with, const VaultKeys::Key& key) {
  const size_t begin = to.size();
  to.resize(begin + kNonce + text.size() + kTag);
  unsigned char* nonce = bytes(to) + begin;
  randombytes_buf(nonce, kNonce);
  crypto_aead_xchacha20poly1305_ietf_encrypt(nonce + kNonce, nullptr, bytes(text), text.size(), bytes(with),
                                             with.size(), nullptr, nonce, key.data());
}

// False: not sealed with this key, not with this `with`, or changed.
bool unseal(std::string_view sealed, std::string_view with, const VaultKeys::Key& key, std::string& text) {
  if (sealed.size() < kNonce + kTag) return false;
  text.resize(sealed.size() - kNonce - kTag);
  return crypto_aead_xchacha20poly1305_ietf_decrypt(bytes(text), nullptr, nullptr, bytes(sealed) + kNonce,
                                                    sealed.size() - kNonce, bytes(with), with.size(), bytes(sealed),
                                                    key.data()) == 0;
}

std::string make_header(const VaultKeys::Key& key) {
  std::string header(kMagic);
  append_sealed(header, "", kMagic, key);
  return header;
}

}  // namespace

SealedVault::SealedVault(Fd folder, const VaultKeys& keys, policies::VaultLimits limits)
    : MemoryVault(keys.tokens, limits), folder_(std::move(folder)), seal_(keys.seal) {}

SealedVault::~SealedVault() { sodium_memzero(seal_.data(), seal_.size()); }

Result<std::unique_ptr<SealedVault>> SealedVault::open(int tenant, VaultKeys keys, policies::VaultLimits limits) {
  TRY(Fd folder, make_directories_beneath(tenant, named("vault"), 0700));
  std::unique_ptr<SealedVault> vault(new SealedVault(std::move(folder), keys, limits));
  sodium_memzero(&keys, sizeof keys);
  auto loaded = vault->load();
  if (!loaded) return tl::unexpected<Error>(std::move(loaded).error().within("the vault for personal data"));
  return vault;
}

Result<> SealedVault::load() {
  auto file = open_regular_beneath(folder_.get(), named("log"), O_RDWR | O_APPEND);
  if (!file && file.error().code == Code::not_found) return {};
  if (!file) return tl::unexpected<Error>(std::move(file).error());
  TRY(std::string log, read_whole(file->get(), kMaxLog));
  CHECKED(read_header(log));
  const size_t good = read_records(log, kHeader);
  if (good < log.size() && ::ftruncate(file->get(), static_cast<off_t>(good)) < 0)
    return fail_errno(errno, "cut the torn end of the log");
  log_ = *std::move(file);
  log_bytes_ = rewritten_bytes_ = good;
  forget_expired();
  if (damage_.empty()) return {};
  CHECKED(rename_beneath(folder_.get(), named("log"), named("log.damaged"), Existing::replace));
  return rewrite();
}

Result<> SealedVault::read_header(std::string_view log) {
  std::string nothing;
  if (log.starts_with(kMagic) && log.size() >= kHeader &&
      unseal(log.substr(kMagic.size(), kHeader - kMagic.size()), kMagic, seal_, nothing)) {
    header_ = log.substr(0, kHeader);
    return {};
  }
  return fail(Code::denied, "it was sealed with another key, or its beginning is damaged",
              "put the daemon's former key back, or move the file away: its tokens are then forgotten", "pii.vault");
}

// Where the last whole record ends.
size_t SealedVault::read_records(std::string_view log, size_t at) {
  size_t bad = 0;
  while (log.size() - at >= kLength) {
    const size_t size = number_at(log, at, kLength);
    if (size < kNonce + kTag || size > log.size() - at - kLength) break;
    if (!read_record(log.substr(at + kLength, size))) bad++;
    at += kLength + size;
  }
  if (bad > 0) damage_ = fmt::format("{} records could not be opened; the file is kept as vault/log.damaged", bad);
  return at;
}

bool SealedVault::read_record(std::string_view sealed) {
  std::string text;
  bool good = unseal(sealed, header_, seal_, text) && text.size() >= kUntil + kTokenLength;
  const size_t token = good ? number_at(text, kUntil, kTokenLength) : 0;
  good = good && text.size() >= kUntil + kTokenLength + token;
  if (good) {
    const Time until{std::chrono::seconds(static_cast<int64_t>(number_at(text, 0, kUntil)))};
    const std::string_view view(text);
    const std::string name(view.substr(kUntil + kTokenLength, token));
    // One too many for limits that were lowered is forgotten.
    if (until > now()) (void)put(name, view.substr(kUntil + kTokenLength + token), until);
  }
  sodium_memzero(text.data(), text.size());
  return good;
}

void SealedVault::append_record(std::string& to, const std::string& token, std::string_view text, Time until) const {
  std::string plain;
  plain.reserve(kUntil + kTokenLength + token.size() + text.size());
  append_number(plain, static_cast<uint64_t>(until.time_since_epoch().count()), kUntil);
  append_number(plain, token.size(), kTokenLength);
  plain.append(token).append(text);
  append_number(to, kNonce + plain.size() + kTag, kLength);
  append_sealed(to, plain, header_, seal_);
  sodium_memzero(plain.data(), plain.size());
}

Result<> SealedVault::keep(const std::string& token, std::string_view text) {
  const auto known = entries().find(token);
  if (known != entries().end() && known->second.text == text && known->second.until - now() > lifetime() * 7 / 8)
    return {};
  CHECKED(MemoryVault::keep(token, text));
  if (header_.empty()) header_ = make_header(seal_);
  append_record(pending_, token, text, now() + lifetime());
  return {};
}

Result<> SealedVault::settle() {
  if (pending_.empty()) return {};
  const bool grown = log_bytes_ + pending_.size() > 2 * rewritten_bytes_ + kSmall;
  auto settled = !log_ || grown ? rewrite() : append();
  if (settled) pending_.clear();
  return settled;
}

Result<> SealedVault::append() {
  auto written = write_all(log_.get(), pending_);
  if (written && ::fdatasync(log_.get()) < 0) written = fail_errno(errno, "sync the vault's log");
  if (!written) {
    // Half a record would hide those that follow it.
    if (::ftruncate(log_.get(), static_cast<off_t>(log_bytes_)) < 0) log_.reset();  // then the next one rewrites it all
    return written;
  }
  log_bytes_ += pending_.size();
  return {};
}

// A new log of what is known, in the old one's place at once or not at all.
Result<> SealedVault::rewrite() {
  forget_expired();
  const std::string former = std::exchange(header_, make_header(seal_));
  std::string log = header_;
  for (const auto& [token, entry] : entries()) append_record(log, token, entry.text, entry.until);
  auto replace = [&]() -> Result<Fd> {
    TRY(Fd file, open_beneath(folder_.get(), named("log.new"), O_RDWR | O_APPEND | O_CREAT | O_TRUNC, 0600));
    CHECKED(write_all(file.get(), log));
    if (::fdatasync(file.get()) < 0) return fail_errno(errno, "sync the vault's log");
    CHECKED(rename_beneath(folder_.get(), named("log.new"), named("log"), Existing::replace));
    TRY(Fd folder, open_beneath(folder_.get(), RelativePath(), O_RDONLY | O_DIRECTORY));
    if (::fsync(folder.get()) < 0) return fail_errno(errno, "sync the vault's folder");
    return file;
  };
  auto file = replace();
  if (!file) {
    header_ = former;
    log_.reset();  // which of the two is there now is not known: the next settle() writes all again
    return tl::unexpected<Error>(std::move(file).error());
  }
  log_ = *std::move(file);
  log_bytes_ = rewritten_bytes_ = log.size();
  return {};
}

}  // namespace tenants

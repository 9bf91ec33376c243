#include "supervisor/tenants/vault_log.h"

#include <fmt/format.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>

#include "supervisor/base/durable.h"
#include "supervisor/base/path.h"

namespace tenants {
namespace {

constexpr std::string_view kMagic = "warder vault 1\n";
constexpr size_t kNonce = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr size_t kTag = crypto_aead_xchacha20poly1305_ietf_ABYTES;
constexpr size_t kHeader = kMagic.size() + kNonce + kTag;  // the tag of an empty text proves the key
constexpr size_t kLength = 4, kUntil = 8, kTokenLength = 1;
constexpr size_t kMaxLog = 256 << 20;
constexpr uint64_t kSmall = 1 << 20;  // bytes; a smaller growth is not worth a rewrite

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

// Appends nonce, sealed text and tag. `with` is not written, but unseal() needs the same `with`.
void append_sealed(std::string& to, std::string_view text, std::string_view with, const VaultKeys::Key& key) {
  const size_t begin = to.size();
  to.resize(begin + kNonce + text.size() + kTag);
  unsigned char* nonce = bytes(to) + begin;
  randombytes_buf(nonce, kNonce);
  crypto_aead_xchacha20poly1305_ietf_encrypt(nonce + kNonce, nullptr, bytes(text), text.size(), bytes(with),
                                             with.size(), nullptr, nonce, key.data());
}

// False: the text was sealed with another key or another `with`, or it was changed.
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

VaultRecords::VaultRecords(VaultRecords&& other) noexcept
    : plain_(std::exchange(other.plain_, {})), count_(std::exchange(other.count_, 0)) {}

VaultRecords& VaultRecords::operator=(VaultRecords&& other) noexcept {
  std::swap(plain_, other.plain_);
  std::swap(count_, other.count_);
  return *this;
}

void VaultRecords::wipe() { sodium_memzero(plain_.data(), plain_.size()); }

// Moves to larger memory and wipes the old memory; a string that grows by itself would leave its text in freed memory.
void VaultRecords::make_room(size_t bytes) {
  if (bytes <= plain_.capacity()) return;
  std::string larger;
  larger.reserve(std::max({bytes, 2 * plain_.capacity(), size_t{256}}));
  larger += plain_;
  wipe();
  plain_ = std::move(larger);
}

void VaultRecords::reserve(size_t records, size_t bytes) {
  make_room(records * (kLength + kUntil + kTokenLength) + bytes);
}

void VaultRecords::add(std::string_view token, std::string_view text, std::chrono::sys_seconds until) {
  const size_t size = kUntil + kTokenLength + token.size() + text.size();
  make_room(plain_.size() + kLength + size);
  append_number(plain_, size, kLength);
  append_number(plain_, static_cast<uint64_t>(until.time_since_epoch().count()), kUntil);
  append_number(plain_, token.size(), kTokenLength);
  plain_.append(token).append(text);
  count_++;
}

size_t VaultRecords::sealed_bytes() const { return plain_.size() + count_ * (kNonce + kTag); }

void VaultRecords::for_each(const std::function<void(std::string_view plain)>& use) const {
  const std::string_view all(plain_);
  for (size_t at = 0; at < all.size();) {
    const size_t size = number_at(all, at, kLength);
    use(all.substr(at + kLength, size));
    at += kLength + size;
  }
}

VaultLog::~VaultLog() { sodium_memzero(seal_.data(), seal_.size()); }

Result<std::shared_ptr<VaultLog>> VaultLog::open(int tenant, const VaultKeys::Key& seal, const TokenHandler& on_token) {
  TRY(Fd folder, make_directories_beneath(tenant, RelativePath::known("vault"), 0700));
  std::shared_ptr<VaultLog> log(new VaultLog(std::move(folder), seal));
  CHECKED(log->read(on_token));
  return log;
}

Result<> VaultLog::read(const TokenHandler& on_token) {
  auto file = open_regular_beneath(folder_.get(), RelativePath::known("log"), O_RDWR | O_APPEND);
  if (!file && file.error().code == Code::not_found) return {};
  if (!file) return tl::unexpected<Error>(std::move(file).error());
  TRY(std::string log, read_complete(file->get(), kMaxLog));
  CHECKED(read_header(log));
  const size_t good = read_records(log, kHeader, on_token);
  is_damaged_ = !damage_.empty();
  if (is_damaged_) return {};
  if (good < log.size() && ::ftruncate(file->get(), static_cast<off_t>(good)) < 0)
    return fail_errno(errno, "cut off the incomplete end of the log");
  log_ = *std::move(file);
  log_bytes_ = rewritten_bytes_ = good;
  return {};
}

Result<> VaultLog::read_header(std::string_view log) {
  std::string empty;
  if (log.starts_with(kMagic) && log.size() >= kHeader &&
      unseal(log.substr(kMagic.size(), kHeader - kMagic.size()), kMagic, seal_, empty)) {
    header_ = log.substr(0, kHeader);
    return {};
  }
  return fail(Code::denied, "the file was sealed with another key, or its beginning is damaged",
              "restore the daemon's former key, or move the file away; without the file its tokens cannot be restored",
              "pii.vault");
}

// Returns the offset where the last whole record ends.
size_t VaultLog::read_records(std::string_view log, size_t at, const TokenHandler& on_token) {
  size_t bad = 0;
  while (log.size() - at >= kLength) {
    const size_t size = number_at(log, at, kLength);
    if (size < kNonce + kTag || size > log.size() - at - kLength) break;
    if (!read_record(log.substr(at + kLength, size), on_token)) bad++;
    at += kLength + size;
  }
  if (bad > 0) damage_ = fmt::format("{} records could not be opened; the file was renamed to vault/log.damaged", bad);
  return at;
}

bool VaultLog::read_record(std::string_view sealed, const TokenHandler& on_token) const {
  std::string text;
  bool good = unseal(sealed, header_, seal_, text) && text.size() >= kUntil + kTokenLength;
  const size_t token = good ? number_at(text, kUntil, kTokenLength) : 0;
  good = good && text.size() >= kUntil + kTokenLength + token;
  if (good) {
    const std::chrono::seconds until(static_cast<int64_t>(number_at(text, 0, kUntil)));
    const std::string_view view(text);
    on_token(view.substr(kUntil + kTokenLength, token), view.substr(kUntil + kTokenLength + token),
             std::chrono::sys_seconds(until));
  }
  sodium_memzero(text.data(), text.size());
  return good;
}

bool VaultLog::is_to_be_rewritten(size_t more_bytes) const {
  return !log_ || log_bytes_ + more_bytes > 2 * rewritten_bytes_ + kSmall;
}

std::string VaultLog::sealed(const VaultRecords& records, std::string_view header) const {
  std::string log;
  log.reserve(header.size() + records.sealed_bytes());
  records.for_each([&](std::string_view plain) {
    append_number(log, kNonce + plain.size() + kTag, kLength);
    append_sealed(log, plain, header, seal_);
  });
  return log;
}

Result<> VaultLog::append(const VaultRecords& records) {
  const std::string more = sealed(records, header_);
  auto written = write_all(log_.get(), more);
  if (written)
    if (const int failed = durable::sync_data(log_.get())) written = fail_errno(failed, "sync the vault's log");
  if (!written) {
    log_.reset();  // a torn record would hide the records after it
    return written;
  }
  log_bytes_ += more.size();
  return {};
}

Result<> VaultLog::rewrite(const VaultRecords& all) {
  log_.reset();  // set again at the end; after a failure it is not known which of the two logs is in place
  const std::string header = make_header(seal_);
  const std::string log = header + sealed(all, header);
  TRY(Fd file,
      open_beneath(folder_.get(), RelativePath::known("log.new"), O_RDWR | O_APPEND | O_CREAT | O_TRUNC, 0600));
  CHECKED(write_all(file.get(), log));
  if (const int failed = durable::sync_data(file.get())) return fail_errno(failed, "sync the vault's log");
  if (is_damaged_)
    CHECKED(rename_beneath(folder_.get(), RelativePath::known("log"), RelativePath::known("log.damaged"),
                           Existing::replace));
  is_damaged_ = false;
  CHECKED(rename_beneath(folder_.get(), RelativePath::known("log.new"), RelativePath::known("log"), Existing::replace));
  TRY(Fd folder, open_beneath(folder_.get(), RelativePath(), O_RDONLY | O_DIRECTORY));
  if (const int failed = durable::sync_file(folder.get())) return fail_errno(failed, "sync the vault's folder");
  header_ = header;
  log_ = std::move(file);
  log_bytes_ = rewritten_bytes_ = log.size();
  return {};
}

}  // namespace tenants

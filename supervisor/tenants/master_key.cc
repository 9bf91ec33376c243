#include "supervisor/tenants/master_key.h"

#include <fmt/format.h>
#include <sodium.h>
#include <unistd.h>

#include <utility>

#include "supervisor/base/durable.h"
#include "supervisor/base/path.h"

namespace tenants {
namespace {

constexpr char kCredential[] = "warder.key";
constexpr char kFile[] = "master.key", kNewFile[] = "master.key.new";
constexpr size_t kMaxFile = 4096;

using Key = std::array<unsigned char, 32>;

Result<Key> parse(std::string text, const std::string& file) {
  Key key{};
  size_t size = 0;
  const char* end = nullptr;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const bool full = ::sodium_hex2bin(key.data(), key.size(), text.data(), text.size(), nullptr, &size, &end) == 0 &&
                    size == key.size() && end == text.data() + text.size();
  sodium_memzero(text.data(), text.size());
  if (full) return key;
  return fail(Code::invalid, fmt::format("{} does not hold 64 hexadecimal digits", file),
              "restore the former key; with a new key, sealed data cannot be read");
}

Result<Key> read_key(int fd, const std::string& file) {
  TRY(std::string text, read_complete(fd, kMaxFile));
  auto key = parse(text, file);
  sodium_memzero(text.data(), text.size());
  return key;
}

Result<Key> read_state_key(Fd file) {
  struct stat info {};
  if (::fstat(file.get(), &info) < 0) return fail_errno(errno, kFile);
  if ((info.st_mode & 077) != 0)
    return fail(Code::invalid,
                fmt::format("{} can be read or written by other users (mode {:o})", kFile, info.st_mode & 0777),
                "chmod 600 the file, and check which users may have read it");
  return read_key(file.get(), kFile);
}

// Makes the key file whole or not at all. If a crash lost the key, all data sealed with it would be lost.
Result<Key> make_state_key(int state) {
  Key key{};
  randombytes_buf(key.data(), key.size());
  std::array<char, 2 * sizeof key + 1> text{};
  ::sodium_bin2hex(text.data(), text.size(), key.data(), key.size());
  text.back() = '\n';
  TRY(Fd file, open_beneath(state, RelativePath::known(kNewFile), O_WRONLY | O_CREAT | O_TRUNC, 0600));
  auto written = write_all(file.get(), {text.data(), text.size()});
  sodium_memzero(text.data(), text.size());
  CHECKED(written);
  if (::fchmod(file.get(), 0600) < 0) return fail_errno(errno, kNewFile);
  if (const int failed = durable::sync_file(file.get())) return fail_errno(failed, kNewFile);
  CHECKED(rename_beneath(state, RelativePath::known(kNewFile), RelativePath::known(kFile), Existing::refuse));
  TRY(Fd folder, open_beneath(state, RelativePath(), O_RDONLY | O_DIRECTORY));
  if (const int failed = durable::sync_file(folder.get())) return fail_errno(failed, "sync the state folder");
  return key;
}

Result<Key> load_key(int state, const std::string& credentials) {
  if (!credentials.empty()) {
    const std::string path = credentials + "/" + kCredential;
    Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (file) return read_key(file.get(), "the credential " + std::string(kCredential));
    if (errno != ENOENT) return fail_errno(errno, path);
  }
  auto file = open_regular_beneath(state, RelativePath::known(kFile), O_RDONLY);
  if (file) return read_state_key(*std::move(file));
  if (file.error().code != Code::not_found) return tl::unexpected<Error>(std::move(file).error());
  return make_state_key(state);
}

}  // namespace

Result<MasterKey> MasterKey::load(int state, const std::string& credentials) {
  if (::sodium_init() < 0) return fail(Code::internal, "libsodium cannot be initialised");
  auto key = load_key(state, credentials);
  if (!key) return tl::unexpected<Error>(std::move(key).error().within("the daemon's key"));
  MasterKey master;
  master.key_ = *key;
  sodium_memzero(key->data(), key->size());
  return master;
}

MasterKey::MasterKey(MasterKey&& other) noexcept { *this = std::move(other); }

MasterKey& MasterKey::operator=(MasterKey&& other) noexcept {
  if (this == &other) return *this;
  key_ = other.key_;
  sodium_memzero(other.key_.data(), other.key_.size());
  return *this;
}

MasterKey::~MasterKey() { sodium_memzero(key_.data(), key_.size()); }

VaultKeys MasterKey::of_vault(std::string_view tenant) const {
  Key own{};
  const std::string context = "warder vault of " + std::string(tenant);
  crypto_generichash(own.data(), own.size(), reinterpret_cast<const unsigned char*>(context.data()), context.size(),
                     key_.data(), key_.size());
  VaultKeys keys{};
  crypto_kdf_derive_from_key(keys.tokens.data(), keys.tokens.size(), 1, "wrdvault", own.data());
  crypto_kdf_derive_from_key(keys.seal.data(), keys.seal.size(), 2, "wrdvault", own.data());
  sodium_memzero(own.data(), own.size());
  return keys;
}

VaultKeys::Key MasterKey::of_logins() const {
  Key own{};
  constexpr std::string_view kContext = "warder logins at upstream servers";
  crypto_generichash(own.data(), own.size(), reinterpret_cast<const unsigned char*>(kContext.data()), kContext.size(),
                     key_.data(), key_.size());
  return own;
}

}  // namespace tenants

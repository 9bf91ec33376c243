#include "supervisor/upstream/oauth/login_files.h"

#include <fmt/format.h>
#include <sodium.h>

#include "supervisor/base/durable.h"
#include "supervisor/base/path.h"
#include "supervisor/upstream/authorization/stored_logins.h"

namespace oauth {
namespace {

constexpr std::string_view kMagicLogin = "warder login 1\n";
constexpr size_t kNonceBytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr size_t kTagBytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;
constexpr size_t kMaxFileBytes = 512 << 10;

const unsigned char* as_bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* as_bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

// What a sealed file belongs to. Names have no NUL.
std::string bound_to(const LoginName& name) { return std::string(kMagicLogin) + name.first + '\0' + name.second; }

std::string seal(std::string_view text, const LoginName& name, const SealKey& key) {
  const std::string with = bound_to(name);
  std::string sealed(kNonceBytes + text.size() + kTagBytes, '\0');
  randombytes_buf(sealed.data(), kNonceBytes);
  crypto_aead_xchacha20poly1305_ietf_encrypt(as_bytes(sealed) + kNonceBytes, nullptr, as_bytes(text), text.size(),
                                             as_bytes(with), with.size(), nullptr, as_bytes(sealed), key.data());
  return std::string(kMagicLogin) + sealed;
}

Result<std::string> unseal(std::string_view sealed, const LoginName& name, const SealKey& key) {
  if (!sealed.starts_with(kMagicLogin) || sealed.size() < kMagicLogin.size() + kNonceBytes + kTagBytes)
    return fail(Code::denied, "it is not a sealed login");
  sealed.remove_prefix(kMagicLogin.size());
  const std::string with = bound_to(name);
  std::string text(sealed.size() - kNonceBytes - kTagBytes, '\0');
  const int failed = crypto_aead_xchacha20poly1305_ietf_decrypt(
      as_bytes(text), nullptr, nullptr, as_bytes(sealed) + kNonceBytes, sealed.size() - kNonceBytes, as_bytes(with),
      with.size(), as_bytes(sealed), key.data());
  if (failed != 0) return fail(Code::denied, "it was sealed with another key, or changed");
  return text;
}

Result<Tokens> read_file(int folder, const RelativePath& path, const LoginName& name, const SealKey& key) {
  TRY(const Fd file, open_regular_beneath(folder, path, O_RDONLY));
  TRY(const std::string sealed, read_complete(file.get(), kMaxFileBytes));
  TRY(std::string text, unseal(sealed, name, key));
  auto tokens = parse_tokens(text);
  sodium_memzero(text.data(), text.size());
  return tokens;
}

}  // namespace

LoginFiles::~LoginFiles() { sodium_memzero(key_.data(), key_.size()); }

Result<std::map<LoginName, Tokens>> LoginFiles::read_all(std::vector<std::string>& problems) const {
  std::map<LoginName, Tokens> all;
  TRY(const auto servers, login_names_in(folder_, RelativePath::known(kLoginsFolder)));
  for (const auto& server : servers) {
    auto folder = RelativePath::parse(std::string(kLoginsFolder) + "/" + server);
    if (!folder) continue;
    auto files = login_names_in(folder_, *folder);
    if (!files) problems.push_back(files.error().what);
    if (!files) continue;
    for (const auto& file : *files) {
      const auto owner = login_owner_of(file);
      auto path = RelativePath::parse(folder->text() + "/" + file);
      if (!owner || !path || all.size() >= kMaxLogins) continue;
      const LoginName name(server, *owner);
      auto tokens = read_file(folder_, *path, name, key_);
      if (tokens)
        all.emplace(name, *std::move(tokens));
      else
        problems.push_back(fmt::format("{}: {}", path->text(), tokens.error().what));
    }
  }
  return all;
}

Result<> LoginFiles::write(const LoginName& name, const Tokens& tokens) const {
  TRY(const RelativePath folder_path, RelativePath::parse(std::string(kLoginsFolder) + "/" + name.first));
  TRY(const RelativePath file_path, RelativePath::parse(login_file_of(name.second)));
  TRY(const RelativePath new_path, RelativePath::parse("." + login_file_of(name.second) + ".new"));
  TRY(const Fd folder, make_directories_beneath(folder_, folder_path, 0700));
  std::string text = write_tokens(tokens);
  const std::string sealed = seal(text, name, key_);
  sodium_memzero(text.data(), text.size());
  (void)unlink_beneath(folder.get(), new_path, Removing::file);  // of a daemon that was killed
  TRY(const Fd file, open_beneath(folder.get(), new_path, O_WRONLY | O_CREAT | O_EXCL, 0600));
  CHECKED(write_all(file.get(), sealed));
  if (const int failed = durable::sync_file(file.get())) return fail_errno(failed, "write the login");
  CHECKED(rename_beneath(folder.get(), new_path, file_path, Existing::replace));
  TRY(const Fd listed, open_beneath(folder.get(), RelativePath(), O_RDONLY | O_DIRECTORY));
  if (const int failed = durable::sync_file(listed.get())) return fail_errno(failed, "write the login");
  return {};
}

Result<> LoginFiles::remove(const LoginName& name) const {
  TRY(const RelativePath path,
      RelativePath::parse(std::string(kLoginsFolder) + "/" + name.first + "/" + login_file_of(name.second)));
  auto removed = unlink_beneath(folder_, path, Removing::file);
  if (!removed && removed.error().code != Code::not_found) return removed;
  return {};
}

}  // namespace oauth

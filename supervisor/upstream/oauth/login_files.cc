#include "supervisor/upstream/oauth/login_files.h"

#include <fmt/format.h>
#include <sodium.h>

#include "supervisor/base/durable.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/path.h"

namespace oauth {
namespace {

constexpr char kLogins[] = "logins", kEverybody[] = "everybody", kTenant[] = "tenant-", kEnd[] = ".sealed";
constexpr std::string_view kMagicLogin = "warder login 1\n";
constexpr size_t kNonceBytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr size_t kTagBytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;
constexpr size_t kMaxFileBytes = 512 << 10, kMaxLogins = 10'000;

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

std::string file_of(const LoginName& name) {
  return (name.second.empty() ? std::string(kEverybody) : kTenant + name.second) + kEnd;
}

std::optional<std::string> owner_of(std::string_view file) {
  if (!file.ends_with(kEnd)) return {};
  file.remove_suffix(std::string_view(kEnd).size());
  if (file == kEverybody) return std::string();
  if (!file.starts_with(kTenant)) return {};
  return std::string(file.substr(std::string_view(kTenant).size()));
}

// The names in a folder, without those that begin with '.'. A missing folder has none.
Result<std::vector<std::string>> names_in(int folder, const RelativePath& path) {
  auto opened = open_beneath(folder, path, O_RDONLY | O_DIRECTORY);
  if (!opened && opened.error().code == Code::not_found) return std::vector<std::string>();
  if (!opened) return tl::unexpected<Error>(std::move(opened).error());
  TRY(auto names, read_names(FolderReader::of(*std::move(opened), path.text())));
  std::erase_if(names, [](const std::string& name) { return name.starts_with('.'); });
  if (names.size() > kMaxLogins) names.resize(kMaxLogins);
  return names;
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
  TRY(const auto servers, names_in(folder_, RelativePath::known(kLogins)));
  for (const auto& server : servers) {
    auto folder = RelativePath::parse(std::string(kLogins) + "/" + server);
    if (!folder) continue;
    auto files = names_in(folder_, *folder);
    if (!files) problems.push_back(files.error().what);
    if (!files) continue;
    for (const auto& file : *files) {
      const auto owner = owner_of(file);
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
  TRY(const RelativePath folder_path, RelativePath::parse(std::string(kLogins) + "/" + name.first));
  TRY(const RelativePath file_path, RelativePath::parse(file_of(name)));
  TRY(const RelativePath new_path, RelativePath::parse("." + file_of(name) + ".new"));
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
  TRY(const RelativePath path, RelativePath::parse(std::string(kLogins) + "/" + name.first + "/" + file_of(name)));
  auto removed = unlink_beneath(folder_, path, Removing::file);
  if (!removed && removed.error().code != Code::not_found) return removed;
  return {};
}

}  // namespace oauth

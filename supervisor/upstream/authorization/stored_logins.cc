#include "supervisor/upstream/authorization/stored_logins.h"

#include <fcntl.h>

#include "supervisor/base/folder.h"

namespace oauth {
namespace {

constexpr char kEverybody[] = "everybody", kTenant[] = "tenant-", kEnd[] = ".sealed";

}  // namespace

std::string login_file_of(const std::string& owner) {
  return (owner.empty() ? std::string(kEverybody) : kTenant + owner) + kEnd;
}

std::optional<std::string> login_owner_of(std::string_view file) {
  if (!file.ends_with(kEnd)) return {};
  file.remove_suffix(std::string_view(kEnd).size());
  if (file == kEverybody) return std::string();
  if (!file.starts_with(kTenant)) return {};
  return std::string(file.substr(std::string_view(kTenant).size()));
}

Result<std::vector<std::string>> login_names_in(int folder, const RelativePath& path) {
  auto opened = open_beneath(folder, path, O_RDONLY | O_DIRECTORY);
  if (!opened && opened.error().code == Code::not_found) return std::vector<std::string>();
  if (!opened) return tl::unexpected<Error>(std::move(opened).error());
  TRY(auto names, read_names(FolderReader::of(*std::move(opened), path.text())));
  std::erase_if(names, [](const std::string& name) { return name.starts_with('.'); });
  if (names.size() > kMaxLogins) names.resize(kMaxLogins);
  return names;
}

Result<size_t> erase_logins_of(int folder, const std::string& owner) {
  size_t erased = 0;
  TRY(const auto servers, login_names_in(folder, RelativePath::known(kLoginsFolder)));
  for (const std::string& server : servers) {
    TRY(const RelativePath path,
        RelativePath::parse(std::string(kLoginsFolder) + "/" + server + "/" + login_file_of(owner)));
    const auto removed = unlink_beneath(folder, path, Removing::file);
    if (removed) erased++;
    if (!removed && removed.error().code != Code::not_found) return tl::unexpected<Error>(removed.error());
  }
  return erased;
}

}  // namespace oauth

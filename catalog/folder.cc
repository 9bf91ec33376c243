#include "catalog/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "supervisor/base/fd.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"

namespace catalog {
namespace {

constexpr size_t kMaxEntries = 2 * kMaxFiles;  // in all folders, files of any kind

struct Walk {
  FolderListing& listing;
  size_t entries = 0;

  Result<> inspect(const std::string& folder, const std::string& inside, int depth) {
    TRY(FolderReader reader, FolderReader::open(folder));
    listing.folders.push_back(inside);
    std::vector<std::string> folders;
    for (;;) {
      TRY(const dirent* entry, reader.next());
      if (entry == nullptr) break;
      const std::string name = entry->d_name;
      if (name.starts_with('.')) continue;
      if (++entries > kMaxEntries || listing.files.size() >= kMaxFiles) {
        listing.more = true;
        return {};
      }
      struct stat status {};
      const bool is_definition = name.ends_with(".json");
      if (::fstatat(reader.fd(), name.c_str(), &status, is_definition ? 0 : AT_SYMLINK_NOFOLLOW) != 0) continue;
      const std::string path = inside.empty() ? name : inside + "/" + name;
      if (S_ISDIR(status.st_mode)) {
        if (depth < kMaxFolders) folders.push_back(name);
      } else if (is_definition) {
        listing.files.push_back({path, status.st_ino, static_cast<uint64_t>(status.st_size),
                                 status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec});
      }
    }
    for (const auto& name : folders) {
      const std::string path = inside.empty() ? name : inside + "/" + name;
      const size_t before = listing.files.size();
      const auto checked = inspect(folder + "/" + name, path, depth + 1);
      if (checked) continue;
      listing.files.resize(before);
      listing.unlisted.push_back(
          fmt::format("{}: {}", printable(path), std::generic_category().message(checked.error().err)));
    }
    return {};
  }
};

}  // namespace

Result<FolderListing> list_folder(const std::string& folder) {
  FolderListing listing;
  CHECKED(Walk{listing}.inspect(folder, "", 0));
  std::sort(listing.files.begin(), listing.files.end(),
            [](const CatalogFile& a, const CatalogFile& b) { return a.path < b.path; });
  std::sort(listing.folders.begin(), listing.folders.end());
  std::sort(listing.unlisted.begin(), listing.unlisted.end());
  return listing;
}

Result<std::string> read_definition_file(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return fail_errno(errno, "cannot be opened", Code::invalid);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail_errno(errno, "fstat", Code::invalid);
  if (!S_ISREG(status.st_mode)) return fail(Code::invalid, "not a regular file");
  if (status.st_mode & S_IWOTH) return fail(Code::invalid, "all users may write the file", "chmod o-w");
  return read_complete(file.get(), kMaxFileBytes);
}

}  // namespace catalog

#include "supervisor/base/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>

#include "supervisor/base/json/json.h"
#include "supervisor/base/path.h"

Result<FolderReader> FolderReader::of(Fd folder, std::string name) {
  FolderReader reader;
  reader.name_ = std::move(name);
  if (folder) reader.stream_.reset(::fdopendir(folder.get()));
  if (!reader) return fail_path(errno, "list", valid_utf8(reader.name_));
  (void)folder.release();
  return reader;
}

Result<FolderReader> FolderReader::at(int folder, std::string name) {
  return of(Fd(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), std::move(name));
}

Result<FolderReader> FolderReader::open(const std::string& path) {
  return of(Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), path);
}

Result<const dirent*> FolderReader::next() {
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream_.get());
    if (entry == nullptr && errno == EINTR) continue;
    if (entry == nullptr && errno != 0) return fail_path(errno, "list", valid_utf8(name_));
    if (entry == nullptr) return entry;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return entry;
  }
}

bool may_be_folder(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) return S_ISDIR(info.st_mode);
  return errno != ENOENT && errno != ENOTDIR;
}

Result<bool> has_entries(Result<FolderReader> folder) {
  if (!folder) return tl::unexpected<Error>(std::move(folder).error());
  TRY(const dirent* first, folder->next());
  return first != nullptr;
}

Result<std::vector<std::string>> read_names(Result<FolderReader> folder, size_t max) {
  if (!folder) return tl::unexpected<Error>(std::move(folder).error());
  std::vector<std::string> names;
  for (;;) {
    TRY(const dirent* entry, folder->next());
    if (entry == nullptr) break;
    if (names.size() == max) return fail(Code::exhausted, fmt::format("there are more than {} entries", max));
    names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

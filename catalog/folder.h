// Folder: the files of definitions below one folder, and whether they have changed.
// Source: --catalog DIR. Read: *.json, three folders deep; names that begin with a dot are not read.
// Files may change while they are read: what is then broken is named, and the next changed() says so.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"

namespace catalog {

constexpr size_t kMaxFileBytes = 32 << 20;
constexpr size_t kMaxFiles = 100'000;
constexpr int kMaxFolders = 3;  // below the first

struct File {
  std::string path;  // below the folder: "media/images.json"
  uint64_t inode = 0, size = 0;
  int64_t changed_ns = 0;  // ctime: also when only the rights or the name changed
  bool operator==(const File&) const = default;
};

struct FolderListing {
  std::vector<File> files;            // sorted by path
  std::vector<std::string> folders;   // that were looked into, "" among them: what to watch
  std::vector<std::string> unlisted;  // folders that could not be read, with the reason
  bool more = false;                  // there were more than kMaxFiles
  bool operator==(const FolderListing&) const = default;
};

// Costs a stat(2) for each file. Errors: not_found or denied, about the folder itself.
Result<FolderListing> list_folder(const std::string& folder);

// Errors: invalid: not a regular file, too large, or writable by everybody (whoever writes definitions tells
// agents what to do); or what the system call said.
Result<std::string> read_definition_file(const std::string& path);

}  // namespace catalog

// Folder: lists the files of definitions below one folder. Comparing two listings shows changes.
// Source: --catalog DIR. Read: *.json, three folders deep; names that begin with a dot are skipped. Files may change
// while they are read: a file that is broken then is named as a problem, and a later listing differs.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"

namespace catalog {

constexpr size_t kMaxFileBytes = 32 << 20;
constexpr size_t kMaxFiles = 100'000;
constexpr int kMaxFolders = 3;  // levels below the first folder

struct CatalogFile {
  std::string path;  // below the folder: "media/images.json"
  uint64_t inode = 0, size = 0;
  int64_t changed_ns = 0;  // ctime: changes also when only the rights or the name change
  bool operator==(const CatalogFile&) const = default;
};

struct FolderListing {
  std::vector<CatalogFile> files;     // sorted by path
  std::vector<std::string> folders;   // folders that were listed, "" is the first: folders to watch
  std::vector<std::string> unlisted;  // folders that cannot be read, with the reason
  bool more = false;                  // there were more than kMaxFiles
  bool operator==(const FolderListing&) const = default;
};

// Costs a stat(2) for each file. Errors: not_found or denied, about the folder itself.
Result<FolderListing> list_folder(const std::string& folder);

// Errors: invalid: not a regular file, too large, or writable for all users (a user that writes definitions gives
// agents instructions); or the error of the system call.
Result<std::string> read_definition_file(const std::string& path);

}  // namespace catalog

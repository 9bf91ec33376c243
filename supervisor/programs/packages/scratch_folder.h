// ScratchFolder: a folder in /var/tmp for one command, removed with the object. Used by: NpmPackage, `warder layer
// build`. It is locked as long as its command runs: the next command removes unlocked folders of the same name, which
// killed commands left behind. Needs flock(2) on the file system of /var/tmp.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace packages {

class ScratchFolder {
 public:
  // "/var/tmp/warder-NAME-XXXXXX", mode 0711, of this process's user. Errors: the errno of the file system.
  static Result<ScratchFolder> make(std::string_view name);

  ScratchFolder() = default;
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&& other) noexcept;
  ~ScratchFolder();

  const std::string& path() const { return path_; }  // empty: none

 private:
  std::string path_;
  Fd lock_;  // of the folder itself
};

}  // namespace packages

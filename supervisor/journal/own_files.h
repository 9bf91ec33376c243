// Own files: whether the files that the journal has open are still those of their names. A file that was deleted or
// replaced under a running daemon takes all that is written from then on, and is gone with the daemon.
//
// The daemon keeps a list of them, by device and inode, in FOLDER/in-use, and a lock on it for as long as it lives: so
// others can tell, by the file alone, that it is not the one that is written.
// Errors: what the file system says.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace journal {

class OwnFiles {
 public:
  // The files as they are now: those of `names` that are there, and the list itself. Waits for the disk.
  static Result<OwnFiles> note(const std::string& folder, const std::vector<std::string>& names);

  // A sentence about the first file that is not what it was; empty: all are. Some stat(2)s: for the writer's thread.
  std::string trouble() const;

 private:
  struct Known {
    std::string name;
    dev_t device;
    ino_t inode;
  };
  OwnFiles() = default;
  std::string folder_;
  std::vector<Known> files_;
  Fd list_;
};

// For those who read a journal: what a daemon that runs and uses this folder says of `file`, which is or would be
// there. Empty: that it is the one it writes, or that no daemon uses the folder.
std::string trouble_of_daemon(const std::string& file);

}  // namespace journal

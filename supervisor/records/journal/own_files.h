// OwnFiles: checks that the files that the journal has open are still those on the disk. Data written to a file that
// was deleted or replaced while the daemon runs is lost when the daemon ends.
// The daemon keeps a list of the files, by device and inode, in FOLDER/in-use, and locks the list while it runs. With
// the list, other programs can see that a file is not the one that the daemon writes.
// Used by: journal.cc, supervisor/programs/cli/admin/audit.cc. Errors: unavailable: another daemon uses the folder;
// those of the file system.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace journal {

class OwnFiles {
 public:
  // Notes the present files: those of `names` that exist, and the list itself. Waits for the disk.
  static Result<OwnFiles> note(const std::string& folder, const std::vector<std::string>& names);

  // A sentence about the first file that was replaced or removed; empty: all are in place. Takes some stat(2) calls:
  // for the writer's thread.
  std::string trouble() const;

 private:
  struct OwnFile {
    std::string name;
    dev_t device;
    ino_t inode;
  };
  OwnFiles() = default;
  std::string folder_;
  std::vector<OwnFile> files_;
  Fd list_;
};

// For programs that read a journal: a sentence if a running daemon uses the folder of `file`, and `file` was replaced
// or removed. Empty: it is the file that the daemon writes, or no daemon uses the folder.
std::string trouble_of_daemon(const std::string& file);

}  // namespace journal

// NewFile: a file that appears in its folder only when it is complete, in one step. Destroying it before removes it.
// Used by: Workspace. If the file needs a name before that step, the name is in the folder `unfinished` beside the
// workspace, which no jail sees. Files that a killed daemon left are then found by reading that one folder, even if the
// workspace is large. Errors: those of base/path.h, with the path of the write.
#pragma once
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/base/path.h"
#include "supervisor/base/result.h"

namespace tenants {

class NewFile {
 public:
  // `parent`: the folder that the file is for. `unfinished`: the folder for temporary names. Both must stay open.
  static Result<NewFile> make(int parent, int unfinished, const RelativePath& for_path, mode_t mode);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  int file() const { return file_.get(); }
  // Moves the file into `parent`, under the last component of `path`.
  Result<> move_to(const RelativePath& path, Existing existing);

 private:
  NewFile(int parent, int unfinished, Fd file, std::string name);
  int parent_, unfinished_;
  Fd file_;
  std::string name_;  // temporary name in unfinished_; empty: the file has no name
};

// Removes files that a NewFile of an earlier daemon left. Files with other names stay.
Result<> sweep_unfinished(int unfinished);

}  // namespace tenants

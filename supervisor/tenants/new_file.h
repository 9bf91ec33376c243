// NewFile: a file that nobody sees before it is whole; it takes its place in one step, or is gone.
// Source: Workspace. Where it needs a name before that, the name is in a folder of its own beside the workspace, which
// no jail sees: what a killed daemon leaves there is found by reading one folder, however large the workspace is.
// Errors: those of base/path.h, with the path that is written.
#pragma once
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/base/path.h"
#include "supervisor/base/result.h"

namespace tenants {

class NewFile {
 public:
  // `parent`, the folder that it is for, and `unfinished`, the one for names until then, must stay open.
  static Result<NewFile> make(int parent, int unfinished, const RelativePath& for_path, mode_t mode);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  int file() const { return file_.get(); }
  // Into the folder that it was made for, under the last component of `path`.
  Result<> move_to(const RelativePath& path, Existing existing);

 private:
  NewFile(int parent, int unfinished, Fd file, std::string name);
  int parent_, unfinished_;
  Fd file_;
  std::string name_;  // in unfinished_; empty: none
};

// Removes what a NewFile of an earlier daemon left there, and nothing that is not named like one.
Result<> sweep_unfinished(int unfinished);

}  // namespace tenants

// StubTree: the catalogue as the files that jails see below /servers (catalog/stubs.h), written anew for each
// catalogue.
//   <folder>/g1/github/create_issue.py     one generation
//   <folder>/current -> g1                 what jails built from now on see (jail/template.h)
// A jail keeps the generation it was built with; the last kKept are kept for those that still run.
// Applied by: jail/init/root.cc. Errors: as the file system says; `current` then stays as it was.
#pragma once
#include <deque>
#include <memory>
#include <string>

#include "catalog/catalog.h"
#include "catalog/stubs.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"

namespace tools {

class StubTree {
 public:
  static constexpr size_t kKept = 4;
  // `folder` is the template's servers/, the daemon's own (O_PATH will do). The loop must outlive the tree.
  StubTree(Loop& loop, Fd folder) : loop_(loop), folder_(std::move(folder)) {}
  // True afterwards: jails built from now on see this catalogue. In slices. False: it is there already, or a newer one
  // was asked for meanwhile. Once at a time: later calls wait for their turn inside the one that runs.
  Task<Result<bool>> show(std::shared_ptr<const catalog::Catalog> catalog);

 private:
  Task<Result<>> write(std::shared_ptr<const catalog::Catalog> catalog, std::string name);
  Result<> write_file(const std::string& generation, const catalog::StubFile& file);
  Result<> point_to(const std::string& generation);

  Loop& loop_;
  Fd folder_;
  std::shared_ptr<const catalog::Catalog> wanted_, shown_;
  bool writing_ = false;
  uint64_t generations_ = 0;
  std::deque<std::string> kept_;  // oldest first
};

}  // namespace tools

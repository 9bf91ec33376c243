// StubTree: the catalogue as the files that jails see below /servers (catalog/stubs.h), written anew for each
// catalogue.
//   <folder>/g1/github/create_issue.py     one generation
//   <folder>/current -> g1                 what jails built from now on see (jail/template.h)
// Files are made and written on a thread of their own, so their number costs nobody's request any time. Until they are
// there, and in a jail that is older than they are, an import asks for the file that it needs (`file`). A server that
// did not change since the last generation keeps its files, as hard links. A jail keeps the generation it was built
// with; the last kKept are kept for those that still run. Applied by: jail/init/root.cc. Errors: as the file system
// says; `current` then stays as it was.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "catalog/catalog.h"
#include "catalog/stubs.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/worker_thread.h"

namespace discovery {

class StubTree {
 public:
  static constexpr size_t kKept = 4;
  // `folder` is the template's servers/, the daemon's own (O_PATH will do). The loop must outlive the tree.
  // Errors: internal, no thread can be made.
  static Result<std::unique_ptr<StubTree>> start(Loop& loop, Fd folder);
  // True afterwards: jails built from now on see this catalogue. False: it is there already, or a newer one was asked
  // for meanwhile. One at a time: later calls wait for their turn inside the one that runs.
  Task<Result<bool>> show(std::shared_ptr<const catalog::Catalog> catalog);
  // What one file of the newest catalogue says, by its path below /servers: "github/create_issue.py".
  // Errors: not_found.
  Task<Result<std::string>> file(std::string path);

 private:
  using Digests = std::map<std::string, std::string>;  // of what a server's files are made of, by its folder
  struct Generation {
    std::string name;  // "g1"; empty: none
    Digests digests;
  };
  explicit StubTree(Fd folder) : folder_(std::move(folder)) {}
  Task<Result<>> write(std::shared_ptr<const catalog::Catalog> catalog, Generation& next);
  // On the thread. `folder`: of all generations, `top`: of this one.
  static Result<> write_server(const WorkerThread& thread, const catalog::StubIndex& index, size_t server, int folder,
                               int top, const Generation& before, Digests& digests);
  Result<> point_to(const std::string& generation);

  Fd folder_;
  std::shared_ptr<const catalog::StubIndex> index_;  // of wanted_; nullptr: not made yet
  std::shared_ptr<const catalog::Catalog> wanted_, shown_;
  bool writing_ = false;
  uint64_t generations_ = 0;
  std::deque<Generation> kept_;  // oldest first
  // They end before what their jobs use. Who asks for a file does not wait until all others are written.
  std::unique_ptr<WorkerThread> writes_, reads_;
};

}  // namespace discovery

// StubTree: writes the catalog as the files that jails see below /servers (catalog/stubs.h). Each catalog is one
// generation of files.
//   <folder>/g1/github/create_issue.py     one generation
//   <folder>/current -> g1                 the generation of jails built from now on (jail/template.h)
// A separate thread of low priority makes and writes the files, so no request waits for them. An import in a jail asks
// for its file with file() until the files are written, and in jails that are older than the files. The files of a
// server that did not change since the last generation become hard links. A jail sees the generation that it was built
// with; the last kSaved generations stay on disk for running jails. Source: the catalog. Used by: supervisor/daemon/,
// stub_file.cc; jails mount the files in jail/init/root.cc. Errors: those of the file system; `current` then does not
// change.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "catalog/catalog.h"
#include "catalog/stubs.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/work.h"
#include "supervisor/base/worker_thread.h"

namespace discovery {

class StubTree {
 public:
  static constexpr size_t kSaved = 4;
  // `folder`: the template's servers/, which the daemon owns (O_PATH is enough). The loop must outlive the tree.
  // Errors: internal, no thread can be made.
  static Result<std::unique_ptr<StubTree>> start(Loop& loop, Fd folder);
  // Writes the files of this catalog. true: jails built from now on see the newest catalog. false, at once: the catalog
  // is shown already, or another show() runs; that call then writes this catalog, too.
  Task<Result<bool>> show(std::shared_ptr<const catalog::Catalog> catalog);
  // The content of one file of the newest catalog, by its path below /servers: "github/create_issue.py".
  // `owner`: of the job that makes it. Errors: not_found, those of Work.
  Task<Result<std::string>> file(Work& work, Work::Owner owner, std::string path);

 private:
  using Digests = std::map<std::string, std::string>;  // digests of the sources of servers' files, by server folder
  struct Generation {
    std::string name;  // "g1"; empty: no generation
    Digests digests;
  };
  explicit StubTree(Fd folder) : folder_(std::move(folder)) {}
  Task<Result<>> write(std::shared_ptr<const catalog::Catalog> catalog, Generation& next);
  // Runs on the thread writes_. `folder`: holds all generations. `top`: the folder of this generation.
  static Result<> write_server(const WorkerThread& thread, const catalog::StubIndex& index, size_t server, int folder,
                               int top, const Generation& before, Digests& digests);
  Result<> point_to(const std::string& generation);

  Fd folder_;
  std::shared_ptr<const catalog::StubIndex> index_;  // of the requested catalog; nullptr: not made yet
  std::shared_ptr<const catalog::Catalog> requested_, visible_;
  bool writing_ = false;
  uint64_t generations_ = 0;
  std::deque<Generation> saved_generations_;  // oldest first
  std::unique_ptr<WorkerThread> writes_;      // last, so that it ends before the data that its jobs use
};

}  // namespace discovery

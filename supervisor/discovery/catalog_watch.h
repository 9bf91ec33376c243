// Discovery: the catalogue of the daemon, kept as its folder is. Changes are noticed by inotify(7) and by reload();
// a new catalogue is made on a thread of its own, so that requests go on, and replaces the old one when it is whole.
// What was left out is logged, file by file. A folder that cannot be read any more leaves the old catalogue.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "catalog/catalog.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/worker_thread.h"

namespace discovery {

// The catalogue of this moment; a request keeps the one it began with.
using CatalogOf = std::function<std::shared_ptr<const catalog::Catalog>()>;

class Discovery {
 public:
  // `folder` may be empty: then there are no tools to discover. Nobody is served before this returns: all processors
  // read. Errors: the folder cannot be read; no thread can be made.
  static Result<std::unique_ptr<Discovery>> open(Loop& loop, std::string folder);

  std::shared_ptr<const catalog::Catalog> current() const { return current_; }
  // Called after each change, on the loop.
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }
  // Definitions from elsewhere, asked for at each load; refresh() says that they have changed.
  using Others = std::function<std::vector<std::pair<std::string, catalog::Reading>>()>;
  void add_others(Others others) { others_ = std::move(others); }
  Task<> refresh();
  // Looks now. Done when what is there is served; does nothing when nothing has changed.
  Task<> reload();

 private:
  Discovery(Loop& loop, std::string folder) : loop_(loop), folder_(std::move(folder)), tasks_(loop) {}
  void serve(catalog::CatalogBuilder& builder);
  // The folder as it is now, or nothing where all is as it was. Awaited by reload() only.
  Task<Result<std::shared_ptr<catalog::CatalogBuilder>>> look();
  Task<Result<>> load(std::shared_ptr<catalog::CatalogBuilder> builder);
  Result<> start_watching();
  void watch_folders();
  Task<> follow();

  Loop& loop_;
  std::string folder_;
  std::shared_ptr<const catalog::Catalog> current_ = std::make_shared<const catalog::Catalog>();
  catalog::FolderListing listing_;
  bool loading_ = false;
  bool stale_ = false;  // others changed
  Others others_;
  std::function<void()> changed_;
  AsyncFd inotify_;
  std::unique_ptr<WorkerThread> thread_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace discovery

// Discovery: holds the daemon's catalog and reloads it when its folder changes. inotify(7) and reload() notice changes.
// A new catalog is made on a separate thread, while requests continue, and replaces the old catalog when it is
// complete. Files that were left out are logged: the first 20 by name, further ones as a number. If the folder cannot
// be read any more, the old catalog stays. Source: the folder of tool definitions, and add_others(). Used by:
// supervisor/daemon/. Errors: those of open(); errors of a reload are logged.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "catalog/catalog.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/worker_thread.h"

namespace discovery {

// Returns the current catalog. A request uses one catalog from its beginning to its end.
using CatalogOf = std::function<std::shared_ptr<const catalog::Catalog>()>;

// ServerTools: the tools that the daemon can call, those of its upstream servers; and definitions that come from
// neither a server nor the folder.
struct ServerTools {
  using Readings = std::vector<std::pair<std::string, std::shared_ptr<const catalog::Reading>>>;
  Readings readings;                   // of the servers with known tools
  std::vector<std::string> unlearned;  // names of the other servers
  Readings described;                  // as those of the folder
};

class Discovery {
 public:
  // Reads the folder, with up to 4 threads, as no client is served before open() returns. An empty `folder` name means
  // no folder. `servers`: names of the upstream servers, whose tools are not known before the first refresh(). Tools of
  // other servers are known, but cannot be called. Errors: the folder cannot be read; no thread can be made.
  static Result<std::unique_ptr<Discovery>> open(Loop& loop, std::string folder, std::vector<std::string> servers = {});

  std::shared_ptr<const catalog::Catalog> current() const { return current_; }
  // Sets the function that is called after each change, on the loop.
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }
  // Adds a source of definitions that are not in the folder. Each load calls all sources. After a change of these
  // definitions the caller calls refresh().
  using Peers = std::function<ServerTools()>;
  void add_others(Peers peers) { peers_.push_back(std::move(peers)); }
  Task<> refresh();
  // Compares the folder with the catalog and loads a new catalog if they differ. Done when the new catalog is current.
  // If another reload runs, returns at once: that one then compares once more.
  Task<> reload();

 private:
  Discovery(Loop& loop, std::string folder) : loop_(loop), folder_(std::move(folder)), tasks_(loop) {}
  void serve(catalog::CatalogBuilder& builder);
  // A builder for the folder as it is now. nullptr: neither the folder nor the other definitions changed. For reload().
  Task<Result<std::shared_ptr<catalog::CatalogBuilder>>> inspect();
  Task<Result<>> load(std::shared_ptr<catalog::CatalogBuilder> builder);
  Result<> start_watching();
  void watch_folders();
  Task<> follow();

  Loop& loop_;
  std::string folder_;
  std::shared_ptr<const catalog::Catalog> current_ = std::make_shared<const catalog::Catalog>();
  catalog::FolderListing listing_;
  bool loading_ = false;
  bool stale_ = false;        // the definitions of a source changed
  bool is_repeated_ = false;  // reload() was called while another reload ran
  std::vector<Peers> peers_;
  std::function<void()> changed_;
  AsyncFd inotify_;
  std::unique_ptr<WorkerThread> thread_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace discovery

#include "supervisor/upstream/discovery/catalog_watch.h"

#include <malloc.h>
#include <sys/inotify.h>

#include <algorithm>
#include <iterator>
#include <thread>

#include "supervisor/base/flag_guard.h"
#include "supervisor/base/log.h"

namespace discovery {
namespace {

ServerTools all_of(const std::vector<Discovery::Peers>& sources) {
  ServerTools all;
  for (const Discovery::Peers& source : sources) {
    ServerTools tools = source();
    std::move(tools.readings.begin(), tools.readings.end(), std::back_inserter(all.readings));
    std::move(tools.unlearned.begin(), tools.unlearned.end(), std::back_inserter(all.unlearned));
    std::move(tools.described.begin(), tools.described.end(), std::back_inserter(all.described));
  }
  return all;
}

using namespace std::chrono_literals;

constexpr auto kLoadingSlice = 20ms;  // of building, between two checks whether the daemon ends
constexpr int kLoadingNice = 5;       // as Work's threads: an upstream server may change its tools often
constexpr auto kSettle = 200ms;       // wait after a change: files often change together
constexpr unsigned kMaxReaders = 4;   // threads, when the daemon starts
constexpr size_t kProblemsLogged = 20;
constexpr size_t kMaxWatches = 4096;  // of fs.inotify.max_user_watches; changes of further folders need a SIGHUP

}  // namespace

Result<std::unique_ptr<Discovery>> Discovery::open(Loop& loop, std::string folder, std::vector<std::string> servers) {
  std::unique_ptr<Discovery> discovery(new Discovery(loop, std::move(folder)));
  TRY(discovery->thread_, WorkerThread::start(loop));
  const bool has_folder = !discovery->folder_.empty();
  discovery->thread_->set_nice(kLoadingNice);
  catalog::CatalogBuilder builder;
  if (has_folder) {
    const unsigned rest = std::clamp(std::thread::hardware_concurrency(), 1u, kMaxReaders) - 1;
    TRY(builder, catalog::CatalogBuilder::begin(discovery->folder_, rest));
  }
  builder.call_only_servers(std::move(servers));
  while (!builder.step(1s)) {
  }
  if (has_folder) ::malloc_trim(0);  // reading takes much more memory than the catalog
  discovery->serve(builder);
  if (!has_folder) return discovery;
  if (auto watching = discovery->start_watching(); !watching)
    log_warning("catalog: {}; SIGHUP reloads it", watching.error().what);
  return discovery;
}

void Discovery::serve(catalog::CatalogBuilder& builder) {
  const NamedWork named_work(LoopWork::definitions);
  listing_ = builder.listing();
  current_ = builder.take();
  for (size_t i = 0; i < current_->problems().size() && i < kProblemsLogged; i++)
    log_warning("catalogue: {}: {}", current_->problems()[i].file, current_->problems()[i].what);
  if (current_->problem_count() > kProblemsLogged)
    log_warning("catalog: {} more problems", current_->problem_count() - kProblemsLogged);
  if (!folder_.empty() || current_->size() > 0) {
    log_info("catalog: {} tools of {} servers in {} categories, from {}", current_->size(), current_->servers().size(),
             current_->categories().size(), folder_.empty() ? "upstream servers" : folder_);
    if (const size_t uncallable = current_->size() - current_->callable(); uncallable > 0)
      log_info("catalog: {} of these tools cannot be called: they are of no configured upstream server", uncallable);
  }
  if (changed_) changed_();
}

Result<> Discovery::start_watching() {
  Fd fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!fd) return fail_errno(errno, "inotify_init1");
  TRY(inotify_, AsyncFd::adopt(loop_, std::move(fd)));
  watch_folders();
  tasks_.spawn(follow());
  return {};
}

// Adding a watch to a watched folder changes only its mask; the kernel removes the watch of a deleted folder
// (inotify(7)).
void Discovery::watch_folders() {
  constexpr uint32_t kEvents =
      IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_ONLYDIR;
  if (!inotify_) return;
  size_t watched = 0;
  for (; watched < listing_.folders.size() && watched < kMaxWatches; watched++) {
    const std::string folder = folder_ + "/" + listing_.folders[watched];
    if (::inotify_add_watch(inotify_.get(), folder.c_str(), kEvents) < 0 && errno != ENOENT) break;
  }
  if (watched < listing_.folders.size())
    log_warning("catalog: not all changes below {} are noticed; SIGHUP reloads it", folder_);
}

Task<> Discovery::follow() {
  for (;;) {
    co_await reload();  // for changes since open(), before the folder was watched
    co_await inotify_.readable();
    co_await sleep_for(loop_, kSettle);
    char events[4096];
    while (::read(inotify_.get(), events, sizeof events) > 0) {
    }
    co_await reload();
  }
}

Task<> Discovery::refresh() {
  stale_ = true;
  co_await reload();
}

Task<> Discovery::reload() {
  if (loading_) is_repeated_ = true;  // the running reload looks once more
  if (loading_ || (folder_.empty() && !stale_)) co_return;
  const FlagGuard busy(loading_);
  do {
    is_repeated_ = false;
    auto builder = co_await inspect();
    if (!builder) {
      log_warning("catalog: the former definitions stay in use: {}", builder.error().what);
      co_return;
    }
    if (!std::exchange(stale_, false) && !*builder) continue;
    auto loaded = co_await load(*builder);
    if (!loaded) co_return log_warning("catalog: the former definitions stay in use: {}", loaded.error().what);
    serve(**builder);
    watch_folders();
  } while (stale_ || is_repeated_);
}

Task<Result<std::shared_ptr<catalog::CatalogBuilder>>> Discovery::inspect() {
  auto builder = std::make_shared<catalog::CatalogBuilder>();
  if (folder_.empty()) co_return builder;
  auto changed = std::make_shared<bool>(stale_);
  auto job = [builder, changed, folder = folder_, before = listing_]() -> Result<> {
    TRY(*builder, catalog::CatalogBuilder::begin(folder));
    *changed |= builder->listing() != before;
    return {};
  };
  CO_CHECKED(co_await thread_->run(job));
  if (!*changed && !stale_) builder = nullptr;
  co_return builder;
}

Task<Result<>> Discovery::load(std::shared_ptr<catalog::CatalogBuilder> builder) {
  auto job = [builder, peers = all_of(peers_), thread = thread_.get()]() -> Result<> {
    for (const auto& [origin, reading] : peers.readings) builder->add(origin, *reading);
    builder->call_only_servers(peers.unlearned);
    for (const auto& [origin, reading] : peers.described) builder->add_described(origin, *reading);
    while (!builder->step(kLoadingSlice))
      if (thread->is_ending()) return fail(Code::unavailable, "the daemon ends");
    // Reading takes much more memory than the catalog: for 10,000 tools, malloc_trim() gives 31 MiB back to the kernel,
    // in about 25 ms. It holds the lock of one arena at a time. The loop may wait while malloc_trim() examines the
    // loop's arena: 1 ms for a small heap, 5 to 10 ms for a heap of 16 MiB that is half free. This happens once for
    // each change of the catalog.
    ::malloc_trim(0);
    return {};
  };
  co_return co_await thread_->run(job);
}

}  // namespace discovery

#include "supervisor/executions/staged_workspace.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "supervisor/base/log.h"
#include "supervisor/base/one_shot.h"

namespace executions {
namespace {

using Returned = std::optional<proposals::StagingFolder>;

// Holds the store: a waiting jail may outlive the daemon's other uses of it.
class LentFolder final : public jail::OverlayFolder {
 public:
  LentFolder(Loop& loop, std::shared_ptr<proposals::ProposalStore> store, proposals::StagingFolder folder)
      : loop_(loop), store_(std::move(store)), folder_(std::move(folder)) {}
  ~LentFolder() override {
    if (is_settled_) return;
    if (taker_.is_wanted()) {
      taker_.resolve(std::move(folder_));
    } else {
      loop_.spawn(drop(std::move(store_), std::move(folder_)));
    }
  }
  int directory() const override { return folder_.directory.get(); }
  const proposals::StagingFolder& folder() const { return folder_; }
  // Gets the folder when no jail has it any more.
  void give_to(OneShot<Returned>::Resolver taker) { taker_ = std::move(taker); }
  proposals::StagingFolder settled() {
    is_settled_ = true;
    return std::move(folder_);
  }

 private:
  static Task<> drop(std::shared_ptr<proposals::ProposalStore> store, proposals::StagingFolder folder) {
    co_await store->drop(std::move(folder));
  }
  Loop& loop_;
  std::shared_ptr<proposals::ProposalStore> store_;
  proposals::StagingFolder folder_;
  OneShot<Returned>::Resolver taker_;
  bool is_settled_ = false;
};

class StoredFolders final : public jail::OverlayFolders {
 public:
  StoredFolders(Loop& loop, std::shared_ptr<proposals::ProposalStore> store) : loop_(loop), store_(std::move(store)) {}
  Task<Result<std::shared_ptr<jail::OverlayFolder>>> make() override { return make_in(loop_, store_); }

 private:
  static Task<Result<std::shared_ptr<jail::OverlayFolder>>> make_in(Loop& loop,
                                                                    std::shared_ptr<proposals::ProposalStore> store) {
    CO_TRY(proposals::StagingFolder folder, co_await store->begin());
    auto lent = std::make_shared<LentFolder>(loop, store, std::move(folder));
    co_return std::shared_ptr<jail::OverlayFolder>(std::move(lent));
  }
  Loop& loop_;
  std::shared_ptr<proposals::ProposalStore> store_;
};

tenants::Changes::List list_of(const proposals::StagedFiles::List& files) {
  tenants::Changes::List list;
  for (const auto& file : files.files) list.paths.push_back(file.path);
  list.omitted = files.omitted;
  list.beyond = files.beyond;
  return list;
}

constexpr int64_t kSurelyOlderNs = 50'000'000;  // some ticks of the clock that files have

// 0: it cannot be read.
int64_t ctime_of_upper(int staging) {
  struct stat upper {};
  if (::fstatat(staging, "u", &upper, AT_SYMLINK_NOFOLLOW) < 0) return 0;
  return upper.st_ctim.tv_sec * 1'000'000'000 + upper.st_ctim.tv_nsec;
}

}  // namespace

std::shared_ptr<jail::OverlayFolders> staging_folders(Loop& loop, std::shared_ptr<proposals::ProposalStore> store) {
  return std::make_shared<StoredFolders>(loop, std::move(store));
}

tenants::Changes changes_of(const proposals::StagedFiles& files) {
  tenants::Changes changes;
  changes.created = list_of(files.created);
  changes.modified = list_of(files.modified);
  changes.deleted = list_of(files.deleted);
  return changes;
}

Task<Result<proposals::StagedUsage>> StagedWorkspace::measure() {
  if (!folder_ || is_untouched()) co_return proposals::StagedUsage{};
  const auto keep = folder_;
  auto usage = co_await store_->measure(static_cast<const LentFolder&>(*keep).folder());
  co_return usage;
}

// A later change in the same tick of the clock would leave the time as it is.
void StagedWorkspace::begin(std::shared_ptr<jail::OverlayFolder> folder) {
  folder_ = std::move(folder);
  const int64_t ctime_ns = ctime_of_upper(folder_->directory());
  upper_ctime_ns_ = tenants::coarse_now_ns() - ctime_ns > kSurelyOlderNs ? ctime_ns : 0;
}

// Every change makes an entry in the upper folder first, and so changes the folder's ctime, which no program can set.
bool StagedWorkspace::is_untouched() const {
  return upper_ctime_ns_ != 0 && ctime_of_upper(folder_->directory()) == upper_ctime_ns_;
}

// A folder that cannot be looked at counts as changed: then the jail ends first.
Task<bool> StagedWorkspace::has_changes() {
  auto usage = co_await measure();
  is_unchanged_ = usage && usage->files == 0 && usage->is_complete;
  co_return !is_unchanged_;
}

Task<> StagedWorkspace::wait_until_unused() {
  if (!folder_) co_return;
  OneShot<Returned> returned(loop_);
  static_cast<LentFolder&>(*folder_).give_to(returned.resolver());
  folder_.reset();
  unused_ = co_await returned;
}

Task<Result<proposals::Proposal>> StagedWorkspace::settle(proposals::ProposalAbout about, tenants::Changes changes,
                                                          int64_t started_ns) {
  const auto lent = std::exchange(folder_, nullptr);
  Returned unused = std::exchange(unused_, std::nullopt);
  if ((!lent && !unused) || is_unchanged_) co_return proposals::Proposal{};
  proposals::StagingFolder folder = unused ? *std::move(unused) : static_cast<LentFolder&>(*lent).settled();
  folder.started_ns = started_ns;  // a jail that waited got the folder long before
  auto proposal = co_await store_->settle(std::move(folder), std::move(about), std::move(changes));
  co_return proposal;
}

Task<> StagedWorkspace::discard(std::string proposal) {
  auto discarded = co_await store_->discard(std::move(proposal));
  if (!discarded) log_warning("{}", discarded.error().what);
}

}  // namespace executions

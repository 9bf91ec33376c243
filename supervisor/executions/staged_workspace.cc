#include "supervisor/executions/staged_workspace.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "supervisor/base/log.h"

namespace executions {
namespace {

// Holds the store: a waiting jail may outlive the daemon's other uses of it.
class LentFolder final : public jail::OverlayFolder {
 public:
  LentFolder(Loop& loop, std::shared_ptr<proposals::ProposalStore> store, proposals::StagingFolder folder)
      : loop_(loop), store_(std::move(store)), folder_(std::move(folder)) {}
  ~LentFolder() override {
    if (!is_settled_) loop_.spawn(drop(std::move(store_), std::move(folder_)));
  }
  int directory() const override { return folder_.directory.get(); }
  const proposals::StagingFolder& folder() const { return folder_; }
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

Task<Result<proposals::StagedUsage>> StagedWorkspace::measure() {
  if (!folder_) co_return proposals::StagedUsage{};
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

// Every change makes an entry in the upper folder first, and so changes the folder's ctime, which no program can set. A
// folder that cannot be looked at counts as changed: then the jail ends first.
Task<bool> StagedWorkspace::has_changes() {
  is_unchanged_ = folder_ && upper_ctime_ns_ != 0 && ctime_of_upper(folder_->directory()) == upper_ctime_ns_;
  if (is_unchanged_) co_return false;
  auto usage = co_await measure();
  is_unchanged_ = usage && usage->files == 0 && usage->is_complete;
  co_return !is_unchanged_;
}

Task<Result<proposals::Proposal>> StagedWorkspace::settle(proposals::ProposalAbout about, tenants::Changes others,
                                                          int64_t begun_ns) {
  const auto lent = std::exchange(folder_, nullptr);
  if (!lent || is_unchanged_) co_return proposals::Proposal{};
  auto folder = static_cast<LentFolder&>(*lent).settled();
  folder.begun_ns = begun_ns;  // a jail that waited got the folder long before
  auto proposal = co_await store_->settle(std::move(folder), std::move(about), std::move(others));
  co_return proposal;
}

Task<> StagedWorkspace::discard(std::string proposal) {
  auto discarded = co_await store_->discard(std::move(proposal));
  if (!discarded) log_warning("{}", discarded.error().what);
}

}  // namespace executions

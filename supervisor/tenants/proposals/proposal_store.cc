#include "supervisor/tenants/proposals/proposal_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "supervisor/base/elapsed_clock.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/base/random.h"
#include "supervisor/base/run_to_end.h"
#include "supervisor/base/system_time.h"
#include "supervisor/tenants/proposals/tree_access.h"

namespace proposals {

// The descriptors that jobs use. A job may outlive the store's call.
struct ProposalStore::Folders {
  Fd staging, workspace;
};

namespace {

using std::chrono::milliseconds;

constexpr size_t kSpares = 2;
constexpr size_t kRememberedEnds = 64;
constexpr milliseconds kIdleThread{30'000};
constexpr size_t kMaxStagingFolders = 100'000;
constexpr int kNice = 5;  // of the thread, as Work's threads: it compares a tenant's files

Result<> make_private_folder(int parent, const char* name) {
  if (::mkdirat(parent, name, 0700) < 0) return fail_path(errno, "create folder", name);
  return {};
}

Result<StagingFolder> make_staging_folder(int staging) {
  StagingFolder folder;
  folder.id = "p" + random_hex(8);
  CHECKED(make_private_folder(staging, folder.id.c_str()));
  TRY(folder.directory, open_folder(staging, folder.id));
  CHECKED(make_private_folder(folder.directory.get(), "u"));
  CHECKED(make_private_folder(folder.directory.get(), "w"));
  CHECKED(make_private_folder(folder.directory.get(), "l"));  // the workspace is mounted on it
  return folder;
}

// Without its record, the rest of a removal that was interrupted is no proposal.
Result<> remove_staging_folder(int staging, const std::string& id) {
  TRY(const RelativePath path, RelativePath::parse(id));
  TRY(const RelativePath record, RelativePath::parse(id + "/" + kProposalRecord));
  auto forgotten = unlink_beneath(staging, record, Removing::file);
  if (!forgotten && forgotten.error().code != Code::not_found) return forgotten;
  auto removed = remove_tree_beneath(staging, path);
  return removed || removed.error().code == Code::not_found ? Result<>{} : removed;
}

// The proposals of an earlier daemon, completed.
Result<std::vector<Proposal>> recover_all(int staging, int workspace, const CommitHooks& hooks) {
  std::vector<Proposal> proposals;
  TRY(const auto names, list_names(staging, "", kMaxStagingFolders));
  for (const std::string& name : names) {
    if (!is_proposal_id(name)) continue;
    auto folder = ProposalFolder::open(staging, workspace, name);
    if (!folder) return tl::unexpected<Error>(std::move(folder).error());
    auto loaded = folder->load(hooks);
    if (!loaded) {
      Proposal broken;
      broken.id = name;
      broken.state = ProposalState::damaged;
      broken.problem = loaded.error().what;
      proposals.push_back(std::move(broken));
    } else if (!*loaded || (*loaded)->state == ProposalState::undone) {
      (void)remove_staging_folder(staging, name);  // the next start tries again
    } else {
      proposals.push_back(**std::move(loaded));
    }
  }
  return proposals;
}

Error no_such_proposal(const std::string& id) {
  return Error{Code::not_found,
               0,
               "there is no proposal '" + valid_utf8(id).substr(0, 64) + "'",
               "list the proposals of this workspace; old ones are removed",
               {}};
}

tl::unexpected<Error> store_ends() {
  return fail(Code::unavailable, "the daemon ends", "call again after its restart");
}

// The bytes of the files that a commit would replace or delete, as far as they are listed: its undo keeps them.
uint64_t bytes_to_keep(const StagedFiles& files) {
  uint64_t bytes = 0;
  for (const StagedFile& file : files.modified.files) bytes += file.bytes_before;
  for (const StagedFile& file : files.deleted.files) bytes += file.bytes;
  return bytes;
}

}  // namespace

ProposalStore::ProposalStore(Loop& loop, std::shared_ptr<Folders> folders, Clock retention)
    : loop_(loop),
      folders_(std::move(folders)),
      retention_(retention ? std::move(retention) : retention_now_ms),
      tasks_(loop) {}

ProposalStore::~ProposalStore() = default;

Result<WorkerThread*> ProposalStore::started_worker() {
  if (!worker_) {
    TRY(worker_, WorkerThread::start(loop_));
    worker_->set_nice(kNice);
  }
  worker_ends_ = Deadline();
  return worker_.get();
}

void ProposalStore::job_ended() {
  if (--jobs_ == 0) worker_ends_ = Deadline(loop_, kIdleThread, [this] { worker_.reset(); });
}

template <class T>
Task<Result<T>> ProposalStore::run(Job<T> job) {
  CO_TRY(WorkerThread* const worker, started_worker());
  auto result = std::make_shared<std::optional<Result<T>>>();
  WorkerThread::Job work = [worker, result, folders = folders_, job = std::move(job)]() -> Result<> {
    CommitHooks hooks;
    hooks.must_stop = [worker] { return worker->is_ending(); };
    result->emplace(job(*folders, hooks));
    return {};
  };
  jobs_++;
  const auto ended = co_await worker->run(std::move(work));
  job_ended();
  if (!ended) co_return tl::unexpected<Error>(ended.error());
  co_return std::move(**result);
}

template <class T>
Task<Result<T>> ProposalStore::to_its_end(Task<Result<T>> work) {
  return run_to_end<T>(loop_, tasks_, std::move(work), store_ends());
}

Task<Result<std::unique_ptr<ProposalStore>>> ProposalStore::open(Loop& loop, int tenant, int workspace,
                                                                 Clock retention) {
  CO_TRY(const RelativePath name, RelativePath::parse("staging"));
  auto folders = std::make_shared<Folders>();
  CO_TRY(folders->staging, make_directories_beneath(tenant, name, 0700));
  CO_TRY(folders->workspace, open_folder(workspace, ""));
  std::unique_ptr<ProposalStore> store(new ProposalStore(loop, std::move(folders), std::move(retention)));
  Job<std::vector<Proposal>> recover = [](const Folders& at, const CommitHooks& hooks) {
    return recover_all(at.staging.get(), at.workspace.get(), hooks);
  };
  auto recovered = co_await store->run(std::move(recover));
  if (!recovered) co_return tl::unexpected<Error>(std::move(recovered).error().within("staging folders"));
  for (Proposal& proposal : *recovered) {
    if (proposal.state == ProposalState::damaged)
      log_error("proposal {} can only be discarded: {}", proposal.id, proposal.problem);
    store->proposals_.emplace(proposal.id, std::move(proposal));
  }
  co_return store;
}

size_t ProposalStore::count_of(ProposalState state) const {
  return static_cast<size_t>(std::count_if(proposals_.begin(), proposals_.end(),
                                           [state](const auto& item) { return item.second.state == state; }));
}

const Proposal* ProposalStore::oldest(ProposalState state) const {
  const auto age = [state](const Proposal& proposal) {
    return state == ProposalState::committed ? proposal.committed_ms : proposal.recorded_ms;
  };
  const Proposal* proposal = nullptr;
  for (const auto& [id, one] : proposals_)
    if (one.state == state && (proposal == nullptr || age(one) < age(*proposal))) proposal = &one;
  return proposal;
}

StagedUsage ProposalStore::usage() const {
  StagedUsage usage;
  for (const auto& [id, one] : proposals_) {
    usage.bytes += one.bytes;
    usage.files += one.entries;
  }
  return usage;
}

Result<> ProposalStore::check_room() const {
  const size_t open = count_of(ProposalState::open) + count_of(ProposalState::damaged);
  const Proposal* const first = oldest(ProposalState::open);
  const std::string remedy = "commit or discard one of them" + (first ? "; the oldest is " + first->id : std::string());
  if (open >= rules_.open)
    return fail(Code::exhausted, fmt::format("the workspace has {} open proposals, {} are allowed", open, rules_.open),
                remedy, "workspace.open");
  if (const uint64_t bytes = usage().bytes; bytes >= rules_.bytes)
    return fail(Code::exhausted,
                fmt::format("the proposals of the workspace hold {} bytes, {} are allowed", bytes, rules_.bytes),
                remedy, "workspace.proposals_bytes");
  return {};
}

Task<Result<>> ProposalStore::admit() {
  if (usage().bytes >= rules_.bytes) CO_CHECKED(co_await to_its_end<bool>(do_admit()));
  co_return check_room();
}

Task<Result<bool>> ProposalStore::do_admit() {
  while (usage().bytes >= rules_.bytes) {
    const Proposal* const undo = oldest(ProposalState::committed);
    if (undo == nullptr) break;
    auto removed = co_await remove(undo->id);
    if (!removed) co_return tl::unexpected<Error>(std::move(removed).error());
  }
  co_return true;
}

Task<Result<StagingFolder>> ProposalStore::begin() { return to_its_end<StagingFolder>(do_begin()); }

Task<Result<StagingFolder>> ProposalStore::do_begin() {
  StagingFolder folder;
  if (spares_.empty()) {
    const std::string reserved = "p" + random_hex(8);  // counts while the folder is made
    running_.insert(reserved);
    Job<StagingFolder> make = [](const Folders& at, const CommitHooks&) {
      return make_staging_folder(at.staging.get());
    };
    auto created = co_await run(std::move(make));
    running_.erase(reserved);
    if (!created) co_return tl::unexpected<Error>(std::move(created).error());
    folder = *std::move(created);
  } else {
    folder = std::move(spares_.back());
    spares_.pop_back();
  }
  running_.insert(folder.id);
  folder.started_ns = tenants::coarse_now_ns();
  if (!std::exchange(is_refilling_, true)) tasks_.spawn(refill());
  co_return folder;
}

Task<> ProposalStore::refill() {
  while (spares_.size() < kSpares) {
    Job<StagingFolder> make = [](const Folders& at, const CommitHooks&) {
      return make_staging_folder(at.staging.get());
    };
    auto created = co_await run(std::move(make));
    if (!created) break;  // begin() makes its own, and has the error
    spares_.push_back(*std::move(created));
  }
  is_refilling_ = false;
}

Task<Result<StagedUsage>> ProposalStore::measure(const StagingFolder& folder) {
  Job<StagedUsage> measure = [id = folder.id](const Folders& at, const CommitHooks&) -> Result<StagedUsage> {
    TRY(const Fd directory, open_folder(at.staging.get(), id));
    return measure_below(directory.get(), "u");
  };
  return to_its_end<StagedUsage>(run(std::move(measure)));
}

Task<Result<Proposal>> ProposalStore::settle(StagingFolder folder, ProposalAbout about, tenants::Changes base_changed) {
  return to_its_end<Proposal>(do_settle(std::move(folder), std::move(about), std::move(base_changed)));
}

Task<Result<Proposal>> ProposalStore::do_settle(StagingFolder folder, ProposalAbout about,
                                                tenants::Changes base_changed) {
  BaseChanges base{std::move(base_changed), folder.started_ns};
  Job<Proposal> settle = [id = folder.id, about = std::move(about), base = std::move(base), now = system_now_ms(),
                          recorded = retention_()](const Folders& at, const CommitHooks&) -> Result<Proposal> {
    TRY(ProposalFolder opened, ProposalFolder::open(at.staging.get(), at.workspace.get(), id));
    auto settled = opened.settle(about, base, now, recorded);
    if (!settled || settled->state == ProposalState::none) (void)remove_staging_folder(at.staging.get(), id);
    if (!settled) return tl::unexpected<Error>(std::move(settled).error().within("proposal " + id));
    return settled;
  };
  auto settled = co_await run(std::move(settle));
  running_.erase(folder.id);
  if (!settled) co_return tl::unexpected<Error>(std::move(settled).error());
  settled->undo_problem = undo_problem(bytes_to_keep(settled->files));
  if (settled->state == ProposalState::open) proposals_[settled->id] = *settled;
  auto tidied = co_await do_tidy();
  if (!tidied) log_error("proposals beyond the rules remain: {}", tidied.error().what);
  co_return settled;
}

Task<> ProposalStore::drop(StagingFolder folder) {
  auto dropped = co_await to_its_end<bool>(do_drop(std::move(folder)));
  if (!dropped) log_error("a staging folder remains until the next start: {}", dropped.error().what);
}

Task<Result<bool>> ProposalStore::do_drop(StagingFolder folder) {
  const std::string id = folder.id;
  auto removed = co_await remove(id);
  running_.erase(id);
  co_return removed;
}

// Removes the files of a proposal, and the proposal from the table.
Task<Result<bool>> ProposalStore::remove(std::string id) {
  Job<bool> removal = [id](const Folders& at, const CommitHooks&) -> Result<bool> {
    CHECKED(remove_staging_folder(at.staging.get(), id));
    return true;
  };
  auto removed = co_await run(std::move(removal));
  if (removed) proposals_.erase(id);
  co_return removed;
}

std::vector<Proposal> ProposalStore::list() const {
  std::vector<Proposal> all;
  for (const auto& [id, one] : proposals_) all.push_back(one);
  std::sort(all.begin(), all.end(), [](const Proposal& a, const Proposal& b) {
    return std::tie(a.recorded_ms, a.id) < std::tie(b.recorded_ms, b.id);
  });
  return all;
}

Result<Proposal> ProposalStore::find(const std::string& id) const {
  if (const auto it = proposals_.find(id); it != proposals_.end()) return it->second;
  for (const Proposal& proposal : ended_)
    if (proposal.id == id) return proposal;
  return tl::unexpected<Error>(no_such_proposal(id));
}

void ProposalStore::remember_end(Proposal proposal, ProposalState state) {
  proposal.state = state;
  proposal.bytes = proposal.commits = 0;
  ended_.push_back(std::move(proposal));
  if (ended_.size() > kRememberedEnds) ended_.pop_front();
}

Result<Fd> ProposalStore::open_files(const std::string& id) const {
  CHECKED(find(id));
  return open_folder(folders_->staging.get(), joined(id, "u"));
}

Task<Result<std::string>> ProposalStore::diff(std::string id, size_t max_bytes) {
  if (!proposals_.contains(id)) {
    const auto ended = find(id);
    if (!ended) co_return tl::unexpected<Error>(ended.error());
    co_return fail(Code::invalid, "proposal " + id + " is " + std::string(state_name(ended->state)),
                   "only open and committed proposals have a diff");
  }
  Job<std::string> compare = [id, max_bytes](const Folders& at, const CommitHooks& hooks) -> Result<std::string> {
    TRY(ProposalFolder folder, ProposalFolder::open(at.staging.get(), at.workspace.get(), id));
    return folder.diff(max_bytes, hooks);
  };
  auto text = co_await to_its_end<std::string>(run(std::move(compare)));
  co_return text;
}

Task<Result<CommitReport>> ProposalStore::commit(std::string id, std::vector<std::string> paths) {
  return to_its_end<CommitReport>(do_commit(std::move(id), std::move(paths)));
}

Task<Result<CommitReport>> ProposalStore::do_commit(std::string id, std::vector<std::string> paths) {
  CO_TRY(const Proposal proposal, find(id));
  if (proposal.state != ProposalState::open)
    co_return fail(Code::invalid, "proposal " + id + " is " + std::string(state_name(proposal.state)),
                   "only open proposals can be committed");
  Job<CommitReport> commit = [id, paths = std::move(paths)](const Folders& at,
                                                            const CommitHooks& hooks) -> Result<CommitReport> {
    TRY(ProposalFolder folder, ProposalFolder::open(at.staging.get(), at.workspace.get(), id));
    return folder.commit(paths, hooks);
  };
  auto report = co_await run(std::move(commit));
  if (!report) co_return tl::unexpected<Error>(std::move(report).error());
  (report->is_committed ? counters_.commits : counters_.conflicts)++;
  if (proposals_.contains(id)) proposals_[id] = report->proposal;
  const uint64_t reserved = report->proposal.bytes;
  auto tidied = co_await do_tidy();
  if (!tidied) log_error("proposals beyond the rules remain: {}", tidied.error().what);
  if (report->is_committed && !proposals_.contains(id)) {
    report->proposal.commits = 0;
    report->proposal.undo_problem = undo_problem(reserved);
  }
  co_return report;
}

Task<Result<UndoReport>> ProposalStore::undo(std::string id) { return to_its_end<UndoReport>(do_undo(std::move(id))); }

Task<Result<UndoReport>> ProposalStore::do_undo(std::string id) {
  CO_TRY(const Proposal proposal, find(id));
  if (!proposals_.contains(id) || proposal.commits == 0)
    co_return fail(Code::invalid,
                   "proposal " + id + " is " + std::string(state_name(proposal.state)) + " and has no commit to undo",
                   "only commits can be undone");
  Job<UndoReport> undo = [id](const Folders& at, const CommitHooks& hooks) -> Result<UndoReport> {
    TRY(ProposalFolder folder, ProposalFolder::open(at.staging.get(), at.workspace.get(), id));
    return folder.undo(hooks);
  };
  auto report = co_await run(std::move(undo));
  if (!report) co_return tl::unexpected<Error>(std::move(report).error());
  if (!report->is_undone) {
    counters_.conflicts++;
    co_return report;
  }
  counters_.undone++;
  if (proposals_.contains(id)) proposals_[id] = report->proposal;
  if (report->proposal.state == ProposalState::undone) {
    remember_end(report->proposal, ProposalState::undone);
    auto removed = co_await remove(id);
    if (!removed) log_error("the files of proposal {} remain: {}", id, removed.error().what);
  }
  co_return report;
}

Task<Result<Proposal>> ProposalStore::discard(std::string id) {
  return to_its_end<Proposal>(do_discard(std::move(id)));
}

Task<Result<Proposal>> ProposalStore::do_discard(std::string id) {
  CO_TRY(Proposal proposal, find(id));
  if (!proposals_.contains(id)) co_return proposal;  // it is discarded or undone already
  if (proposal.state == ProposalState::committed)
    co_return fail(Code::invalid, "proposal " + id + " is committed", "undo takes the commit back");
  // An interrupted commit is completed first; damaged records cannot be.
  Job<bool> complete = [id](const Folders& at, const CommitHooks& hooks) -> Result<bool> {
    TRY(ProposalFolder folder, ProposalFolder::open(at.staging.get(), at.workspace.get(), id));
    CHECKED(folder.load(hooks));
    return true;
  };
  auto completed = co_await run(std::move(complete));
  if (!completed) co_return tl::unexpected<Error>(std::move(completed).error());
  if (proposal.commits > 0) {
    auto rest = co_await discard_rest(id);
    co_return rest;
  }
  auto removed = co_await remove(id);
  if (!removed) co_return tl::unexpected<Error>(std::move(removed).error());
  counters_.discarded++;
  remember_end(proposal, ProposalState::discarded);
  proposal.state = ProposalState::discarded;
  co_return proposal;
}

// Removes what is not committed of a proposal with commits.
Task<Result<Proposal>> ProposalStore::discard_rest(std::string id) {
  Job<Proposal> forget = [id](const Folders& at, const CommitHooks& hooks) -> Result<Proposal> {
    TRY(ProposalFolder folder, ProposalFolder::open(at.staging.get(), at.workspace.get(), id));
    return folder.discard_rest(hooks);
  };
  auto remaining = co_await run(std::move(forget));
  if (!remaining) co_return tl::unexpected<Error>(std::move(remaining).error());
  counters_.discarded++;
  if (proposals_.contains(id)) proposals_[id] = *remaining;
  co_return remaining;
}

// Why a commit whose replaced files hold `bytes` has no undo; empty: it has one.
std::string ProposalStore::undo_problem(uint64_t bytes) const {
  if (rules_.undo == 0) return "the policy keeps no undo (workspace.undo)";
  if (bytes < rules_.bytes) return {};
  return fmt::format("the replaced files hold {} bytes, and at most {} are kept for undo (workspace.proposals_bytes)",
                     bytes, rules_.bytes);
}

Task<> ProposalStore::tidy() {
  auto tidied = co_await to_its_end<bool>(do_tidy());
  if (!tidied) log_error("proposals beyond the rules remain: {}", tidied.error().what);
}

Task<Result<bool>> ProposalStore::do_tidy() {
  const int64_t keep_ms = std::chrono::duration_cast<milliseconds>(rules_.keep).count();
  for (;;) {
    const Proposal* const open = oldest(ProposalState::open);
    if (open == nullptr || keep_ms == 0 || is_removal_by_age_paused() || retention_() - open->recorded_ms < keep_ms)
      break;
    Proposal expired = *open;
    if (expired.commits > 0) {
      CO_CHECKED(co_await discard_rest(expired.id));
      continue;
    }
    CO_CHECKED(co_await remove(expired.id));
    counters_.expired++;
    remember_end(std::move(expired), ProposalState::discarded);
  }
  for (;;) {
    const Proposal* const undo = oldest(ProposalState::committed);
    if (undo == nullptr || (count_of(ProposalState::committed) <= rules_.undo && usage().bytes <= rules_.bytes)) break;
    CO_CHECKED(co_await remove(undo->id));
  }
  co_return true;
}

}  // namespace proposals

#include "supervisor/upstream/discovery/search_learning.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <vector>

#include "supervisor/base/ascii.h"
#include "supervisor/base/disk_faults.h"
#include "supervisor/base/elapsed_clock.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/base/worker_thread.h"

namespace discovery {
namespace {

using namespace std::chrono_literals;

constexpr auto kThesaurusSlice = 2ms;  // of reading the thesaurus, between two checks whether the daemon ends
constexpr size_t kMaxFileBytes = 16 << 20;
const std::string kShared;

const std::string& memory_of(const std::string& tenant, policies::LearningScope scope) {
  return scope == policies::LearningScope::shared ? kShared : tenant;
}

// Searches are forgotten by age.
int64_t retention_seconds() { return retention_now_ms() / 1000; }

Result<> write_learned(const std::string& beside, std::string_view text) {
  Fd file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail_errno(errno, "open " + beside);
  while (!text.empty()) {
    const ssize_t count = ::write(file.get(), text.data(), text.size());
    if (count < 0) {
      disk_faults::note(errno);
      return fail_errno(errno, "write " + beside);
    }
    text.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

Result<std::string> read_learned(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return fail_errno(errno, "open " + path, errno == ENOENT ? Code::not_found : Code::unavailable);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid() ||
      (status.st_mode & 0077) != 0)
    return fail(Code::invalid, path + " is not a regular file that only the daemon's user can access");
  return read_complete(file.get(), kMaxFileBytes);
}

}  // namespace

struct SearchLearning::Writing {
  std::mutex mutex;
  bool forgotten = false;  // guarded by mutex

  // Callable on any thread. Writes a file with the suffix "~", then renames it, so that no reader sees half a file.
  Result<> write(const std::string& folder, const std::string& path, std::string_view text) {
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return fail_errno(errno, "make " + folder);
    const std::string beside = path + "~";
    CHECKED(write_learned(beside, text));
    std::lock_guard lock(mutex);
    if (forgotten) return ::unlink(beside.c_str()) == 0 ? Result<>{} : fail_errno(errno, "remove " + beside);
    return ::rename(beside.c_str(), path.c_str()) == 0 ? Result<>{} : fail_errno(errno, "rename " + beside);
  }
};

// The path of a memory's file. A tenant with a workspace, "acme/build", becomes the file name "acme~build". Empty: the
// memory has no file.
std::string SearchLearning::file_of(const std::string& name) const {
  if (folder_.empty()) return {};
  if (name.empty()) return folder_ + "/~shared";
  std::string file = name;
  for (char& c : file) {
    const bool plain = is_word(c) || c == '-' || c == '.' || c == '/';
    if (!plain) return {};
    if (c == '/') c = '~';
  }
  return file.front() == '.' || file.size() > 200 ? std::string() : folder_ + "/" + file;
}

SearchLearning::Memory& SearchLearning::memory(const std::string& name) {
  const auto [known, is_new] = memories_.try_emplace(name);
  const std::string path = is_new ? file_of(name) : std::string();
  if (path.empty()) return known->second;
  auto text = read_learned(path);
  if (!text && text.error().code == Code::not_found) return known->second;
  if (!text) {
    known->second.is_unread = text.error().err != 0 && text.error().err != ENOTDIR;
    log_warning("searches: the learning cannot be read{}: {}",
                known->second.is_unread ? ", and is not stored before the next start" : "", text.error().what);
  } else if (auto learned = catalog::Learning::restored(*text, retention_seconds())) {
    known->second.own() = *std::move(learned);
  } else {
    log_warning("searches: {} is not valid and is replaced: {}", path, learned.error().what);
  }
  return known->second;
}

catalog::Learning& SearchLearning::Memory::own() {
  if (learning.use_count() > 1) learning = std::make_shared<catalog::Learning>(*learning);
  std::atomic_thread_fence(std::memory_order_acquire);  // after the reads of a search that has just ended
  return *learning;
}

std::shared_ptr<const catalog::Learning> SearchLearning::of(const std::string& tenant, policies::LearningScope scope) {
  if (scope == policies::LearningScope::off) return nullptr;
  const Memory& existing = memory(memory_of(tenant, scope));
  return existing.learning->size() == 0 ? nullptr : existing.learning;
}

void SearchLearning::searched(const std::string& tenant, policies::LearningScope scope, std::string query,
                              Monotonic::time_point now) {
  if (scope == policies::LearningScope::off) {  // deletes the memory, in case learning was on before
    if (off_.insert(tenant).second) forget(tenant);
    return;
  }
  off_.erase(tenant);
  last_.insert_or_assign(tenant, Last{std::move(query), now});
}

void SearchLearning::chosen(const catalog::Catalog& catalog, const std::string& tenant, policies::LearningScope scope,
                            const catalog::Learning::Tool& tool, Monotonic::time_point now) {
  const auto last = last_.find(tenant);
  if (scope == policies::LearningScope::off || last == last_.end() || now - last->second.when > kPatience) return;
  // A search for a tool's name finds the tool without learning.
  if (!catalog.named_so(last->second.query).empty()) return;
  Memory& taught = memory(memory_of(tenant, scope));
  taught.own().teach(catalog.index(), last->second.query, tool, now, tenant);
  taught.changed = true;
}

void SearchLearning::forget(const std::string& tenant) {
  if (writing_ && written_ == tenant) {  // the file in writing is removed instead of renamed
    std::lock_guard lock(writing_->mutex);
    writing_->forgotten = true;
  }
  memories_.erase(tenant);
  last_.erase(tenant);
  if (const std::string path = file_of(tenant); !path.empty() && ::unlink(path.c_str()) != 0 && errno != ENOENT)
    log_warning("searches: {} cannot be removed: {}", path, std::generic_category().message(errno));
  if (tenant.empty()) return;
  Memory& shared = memory(kShared);
  const size_t before = shared.learning->size();
  shared.own().forget_teacher(tenant);
  const bool may_have_more = std::exchange(shared.is_unread, false);  // in its file, which is replaced
  shared.changed |= shared.learning->size() != before || may_have_more;
}

void SearchLearning::write_all() {
  writer_ = nullptr;  // waits for the running write
  if (const auto it = memories_.find(written_); writing_ && it != memories_.end()) it->second.changed = true;
  for (auto& [name, memory] : memories_) {
    const std::string path = file_of(name);
    if (!std::exchange(memory.changed, false) || path.empty() || memory.is_unread) continue;
    if (auto written = Writing().write(folder_, path, memory.learning->saved(retention_seconds())); !written)
      log_warning("searches: the learning cannot be written: {}", written.error().what);
  }
}

Task<> SearchLearning::keep(Loop& loop, std::chrono::milliseconds between) {
  auto started = WorkerThread::start(loop);
  if (!started)
    co_return log_warning("searches: the learning is written only when the daemon ends: {}", started.error().what);
  writer_ = *std::move(started);
  for (;;) {
    co_await sleep_for(loop, between);
    std::vector<std::string> failed;
    for (;;) {
      const auto changed =
          std::find_if(memories_.begin(), memories_.end(), [](const auto& item) { return item.second.changed; });
      if (changed == memories_.end() || !writer_) break;
      changed->second.changed = false;
      const std::string path = file_of(changed->first);
      if (path.empty() || changed->second.is_unread) continue;
      written_ = changed->first;
      writing_ = std::make_shared<Writing>();
      auto text = std::make_shared<const std::string>(changed->second.learning->saved(retention_seconds()));
      auto job = [writing = writing_, folder = folder_, path, text] { return writing->write(folder, path, *text); };
      auto written = co_await writer_->run(job);
      writing_ = nullptr;
      if (written) continue;
      log_warning("searches: the learning cannot be written yet: {}", written.error().what);
      failed.push_back(written_);
    }
    for (const std::string& name : failed)  // tried again in the next round, and by write_all()
      if (const auto it = memories_.find(name); it != memories_.end()) it->second.changed = true;
  }
}

Task<> SearchLearning::read_thesaurus(Loop& loop, std::chrono::milliseconds after, std::string folder) {
  const Deadline latest(loop, after, [this] { needs_thesaurus_.fire(); });
  co_await needs_thesaurus_;
  co_await next_turn(loop);  // the search that asks is answered first
  auto started = WorkerThread::start(loop);
  if (!started) co_return log_warning("searches: without WordNet's synonyms: {}", started.error().what);
  std::unique_ptr<WorkerThread> worker = *std::move(started);
  auto read = std::make_shared<std::shared_ptr<const catalog::Thesaurus>>();
  auto job = [read, folder, thread = worker.get()]() -> Result<> {
    catalog::ThesaurusLoading loading(folder);
    for (bool is_done = false; !is_done;) {
      if (thread->is_ending()) return fail(Code::unavailable, "the daemon ends");
      TRY(is_done, loading.step(kThesaurusSlice));
    }
    *read = loading.take();
    return {};
  };
  auto done = co_await worker->run(job);
  worker->end_unwatched();
  // A missing WordNet is no error: the search works without it.
  if (!done && done.error().code == Code::not_found) {
    log_info("searches: without WordNet's synonyms; Debian's package wordnet-base has them");
  } else if (!done) {
    log_warning("searches: without WordNet's synonyms: {}", done.error().what);
  } else {
    thesaurus_ = *read;
    log_info("searches: {} words of WordNet, {} KiB", thesaurus_->size(), thesaurus_->bytes() / 1024);
  }
}

}  // namespace discovery

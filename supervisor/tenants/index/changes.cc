#include "supervisor/tenants/index/changes.h"

#include <ctime>
#include <iterator>
#include <utility>

#include "supervisor/base/json/json.h"
#include "supervisor/tenants/index/interpreter_files.h"

namespace tenants {
int64_t coarse_now_ns() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void FolderCounts::add(std::string_view path) {
  constexpr size_t kMaxFolders = 64;
  std::string_view folder = managed_folder(path);
  if (folder.empty()) folder = path.substr(0, path.find('/') + 1);
  if (folder.empty()) return;
  std::string name = valid_utf8(folder);
  if (folders_.size() < kMaxFolders || folders_.contains(name)) folders_[std::move(name)]++;
}

void FolderCounts::add(const FolderCounts& more) {
  for (const auto& [folder, count] : more.folders_) folders_[folder] += count;
}

bool ListRoom::take(std::string_view path, size_t listed, size_t max_listed) {
  constexpr size_t kMaxManaged = 20;
  if (listed >= max_listed) return false;
  return managed_folder(path).empty() || managed_++ < kMaxManaged;
}

void Changes::List::add(const std::string& path, size_t max_listed) {
  if (is_of_interpreter(path)) return;
  if (room_.take(path, paths.size(), max_listed)) {
    paths.push_back(valid_utf8(path));
  } else {
    omitted++;
    beyond.add(path);
  }
}

void Changes::append(Changes more) {
  const auto append_list = [](List& list, List from) {
    list.paths.insert(list.paths.end(), std::make_move_iterator(from.paths.begin()),
                      std::make_move_iterator(from.paths.end()));
    list.omitted += from.omitted;
    list.beyond.add(from.beyond);
  };
  append_list(created, std::move(more.created));
  append_list(modified, std::move(more.modified));
  append_list(deleted, std::move(more.deleted));
  complete &= more.complete;
}

Task<Result<Snapshot>> take_snapshot(Loop& loop, int directory, uint64_t max_entries) {
  Snapshot snapshot;
  snapshot.before_walk_ns = coarse_now_ns();
  WalkBounds bounds;
  bounds.entries = max_entries;
  CO_TRY(Walk walk, Walk::begin(directory, RelativePath(), bounds, WalkOrder::any));
  std::vector<Entry> batch;
  UsageCount count;
  for (;;) {
    batch.clear();
    CO_TRY(bool ended, walk.step(kSlice, batch));
    for (Entry& entry : batch) {
      count.add(entry);
      if (entry.kind == FileKind::directory) continue;
      Stamp stamp{entry.size, entry.inode, entry.mtime_ns, entry.ctime_ns, entry.btime_ns};
      snapshot.files.emplace(std::move(entry.path), stamp);
    }
    if (ended) break;
    co_await next_turn(loop);
  }
  snapshot.complete = walk.missed().empty();
  snapshot.usage = count.usage();
  snapshot.usage.problem = walk.missed();
  co_return snapshot;
}

Changes compare(const Snapshot& before, const Snapshot& after, size_t max_listed) {
  Changes changes;
  changes.complete = before.complete && after.complete;
  for (const auto& [path, stamp] : after.files) {
    auto old = before.files.find(path);
    if (old != before.files.end()) {
      if (old->second != stamp) changes.modified.add(path, max_listed);
    } else if (before.complete || stamp.btime_ns >= before.before_walk_ns) {
      changes.created.add(path, max_listed);
    } else if (stamp.ctime_ns >= before.before_walk_ns) {  // it existed before, beyond the bound
      changes.modified.add(path, max_listed);
    }
  }
  if (changes.complete) {
    for (const auto& [path, stamp] : before.files) {
      if (!after.files.contains(path)) changes.deleted.add(path, max_listed);
    }
  }
  return changes;
}

}  // namespace tenants

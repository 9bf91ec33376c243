#include "supervisor/tenants/index/file_table.h"

#include <algorithm>

#include "supervisor/tenants/index/interpreter_files.h"

namespace tenants {
namespace {

uint64_t charge_of_stamp(const FileStamp& stamp) {
  Entry entry;
  entry.kind = stamp.kind;
  entry.size = stamp.size;
  entry.allocated = stamp.allocated;
  return charge_of(entry);
}

bool has_holes(const FileStamp& stamp) { return stamp.kind == FileKind::file && stamp.allocated < stamp.size; }

std::string joined(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

}  // namespace

FileTable::FileTable(uint64_t root_inode) {
  Folder& root = folders_[kRoot];
  root.inode = root_inode;
  of_inode_[root_inode] = kRoot;
  next_ = kRoot + 1;
}

FileTable::Folder* FileTable::find(FolderId id) {
  const auto it = folders_.find(id);
  return it == folders_.end() ? nullptr : &it->second;
}

FolderId FileTable::folder_of_inode(uint64_t inode) const {
  const auto it = of_inode_.find(inode);
  return it == of_inode_.end() ? kNone : it->second;
}

std::string FileTable::path_of(FolderId id) const {
  std::vector<const std::string*> names;
  for (const Folder* at = find(id); at != nullptr && at->parent != kNone; at = find(at->parent))
    names.push_back(&at->name);
  std::string path;
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (!path.empty()) path += '/';
    path += **name;
  }
  return path;
}

template <class Visit>
void FileTable::each_below(FolderId top, Visit visit) {
  std::vector<FolderId> waiting{top};
  while (!waiting.empty()) {
    const FolderId id = waiting.back();
    waiting.pop_back();
    Folder& folder = folders_.at(id);
    for (const auto& [name, inner] : folder.folders) waiting.push_back(inner);
    visit(id, folder);
  }
}

bool FileTable::is_below(FolderId id, FolderId above) const {
  for (const Folder* at = find(id); at != nullptr; id = at->parent, at = find(id))
    if (id == above) return true;
  return false;
}

bool FileTable::is_attached(FolderId id) const { return is_below(id, kRoot); }

void FileTable::each_file(const std::function<void(FolderId, const std::string&, const FileStamp&)>& visit) const {
  for (const auto& [id, folder] : folders_)
    for (const auto& [name, stamp] : folder.files) visit(id, name, stamp);
}

std::vector<FolderId> FileTable::all_folders() const {
  std::vector<FolderId> all;
  for (const auto& [id, folder] : folders_) all.push_back(id);
  return all;
}

FolderId FileTable::add_folder(FolderId parent, std::string name, uint64_t inode) {
  const FolderId id = next_++;
  Folder& folder = folders_[id];
  folder.inode = inode;
  of_inode_[inode] = id;
  attach(id, parent, std::move(name));
  return id;
}

void FileTable::detach(FolderId id) {
  Folder& top = folders_.at(id);
  if (top.parent == kNone) return;
  if (is_attached(id))
    each_below(id, [this](FolderId at, Folder& folder) {
      files_--;
      for (const auto& [name, stamp] : folder.files) {
        note(at, name, &stamp);
        count_out(at, name, stamp);
      }
    });
  folders_.at(top.parent).folders.erase(top.name);
  top.parent = kNone;
}

void FileTable::attach(FolderId id, FolderId parent, std::string name) {
  Folder& top = folders_.at(id);
  Folder& above = folders_.at(parent);
  above.folders[name] = id;
  top.parent = parent;
  top.name = std::move(name);
  each_below(id, [this](FolderId at, Folder& folder) {
    files_++;
    folder.depth = folders_.at(folder.parent).depth + 1;
    for (const auto& [file, stamp] : folder.files) {
      count_in(at, file, stamp);
      note(at, file, nullptr);
    }
  });
}

void FileTable::drop(FolderId id, const std::function<void(const Folder&)>& dropped) {
  std::vector<FolderId> all;
  each_below(id, [&](FolderId at, Folder& folder) {
    all.push_back(at);
    dropped(folder);
    if (const auto it = of_inode_.find(folder.inode); it != of_inode_.end() && it->second == at) of_inode_.erase(it);
  });
  for (const FolderId at : all) folders_.erase(at);
}

void FileTable::put_file(FolderId id, const std::string& name, const FileStamp& stamp) {
  Folder& folder = folders_.at(id);
  const auto it = folder.files.find(name);
  if (it == folder.files.end()) {
    note(id, name, nullptr);
    folder.files.emplace(name, stamp);
    count_in(id, name, stamp);
    return;
  }
  if (!it->second.is_unchanged(stamp)) note(id, name, &it->second);
  count_out(id, name, it->second);
  it->second = stamp;
  count_in(id, name, stamp);
}

void FileTable::remove_file(FolderId id, const std::string& name) {
  Folder& folder = folders_.at(id);
  const auto it = folder.files.find(name);
  if (it == folder.files.end()) return;
  note(id, name, &it->second);
  count_out(id, name, it->second);
  folder.files.erase(it);
}

void FileTable::count_in(FolderId folder, const std::string& name, const FileStamp& stamp) {
  size_ += stamp.size;
  if (stamp.kind == FileKind::file) largest_.add(stamp.size, folder, name);
  if (has_holes(stamp) && sparse_[folder].insert(name).second) sparse_count_++;
  if (stamp.links < 2) {
    bytes_ += charge_of_stamp(stamp);
    files_++;
    return;
  }
  Names& names = linked_[stamp.inode];
  if (names.known.empty()) files_++;
  names.known.emplace_back(folder, name);
  bytes_ -= names.charge;
  names.stamp = stamp;
  names.charge = charge_of_stamp(stamp);
  bytes_ += names.charge;
}

void FileTable::count_out(FolderId folder, const std::string& name, const FileStamp& stamp) {
  size_ -= stamp.size;
  largest_.remove(stamp.size, folder, name);
  if (const auto holes = sparse_.find(folder); holes != sparse_.end()) {
    sparse_count_ -= holes->second.erase(name);
    if (holes->second.empty()) sparse_.erase(holes);
  }
  if (stamp.links < 2) {
    bytes_ -= charge_of_stamp(stamp);
    files_--;
    return;
  }
  const auto it = linked_.find(stamp.inode);
  if (it == linked_.end()) return;
  auto& existing = it->second.known;
  existing.erase(std::remove(existing.begin(), existing.end(), std::pair(folder, name)), existing.end());
  if (!existing.empty()) return;
  bytes_ -= it->second.charge;
  files_--;
  linked_.erase(it);
}

const FileTable::Names* FileTable::names_of(uint64_t inode) const {
  const auto it = linked_.find(inode);
  return it == linked_.end() ? nullptr : &it->second;
}

std::vector<std::pair<FolderId, std::string>> FileTable::sparse_files() const {
  std::vector<std::pair<FolderId, std::string>> all;
  for (const auto& [folder, names] : sparse_)
    for (const std::string& name : names) all.emplace_back(folder, name);
  return all;
}

void FileTable::find_largest() {
  if (knows_largest()) return;
  largest_.clear();
  for (const auto& [id, folder] : folders_) {
    if (!is_attached(id)) continue;
    for (const auto& [name, stamp] : folder.files)
      if (stamp.kind == FileKind::file) largest_.add(stamp.size, id, name);
  }
}

Usage FileTable::usage() const {
  Usage usage;
  usage.bytes = bytes_;
  usage.files = files_;
  if (!largest_.saved().empty()) usage.largest = std::get<0>(*largest_.saved().rbegin());
  return usage;
}

std::vector<std::pair<uint64_t, std::string>> FileTable::largest() const {
  std::vector<std::pair<uint64_t, std::string>> files;
  const auto& stored = largest_.saved();
  for (auto at = stored.rbegin(); at != stored.rend() && files.size() < kListedLargest; ++at) {
    const auto& [size, folder, name] = *at;
    files.emplace_back(size, joined(path_of(folder), name));
  }
  return files;
}

std::shared_ptr<ChangeLog> FileTable::begin_log() {
  auto log = std::make_shared<ChangeLog>();
  log->size_at_begin = size_;
  logs_.push_back(log);
  return log;
}

void FileTable::note(FolderId folder, const std::string& name, const FileStamp* old) {
  if (logs_.empty()) return;
  logs_.erase(std::remove_if(logs_.begin(), logs_.end(), [](const auto& log) { return log.expired(); }), logs_.end());
  if (logs_.empty()) return;
  const std::string path = joined(path_of(folder), name);
  if (is_of_interpreter(path)) return;
  for (const auto& item : logs_)
    if (const auto log = item.lock()) log->note(path, old, contended_);
}

const FileStamp* FileTable::find_file(const std::string& path) const {
  const Folder* folder = find(kRoot);
  size_t at = 0;
  for (size_t slash; folder != nullptr && (slash = path.find('/', at)) != path.npos; at = slash + 1) {
    const auto inner = folder->folders.find(path.substr(at, slash - at));
    folder = inner == folder->folders.end() ? nullptr : find(inner->second);
  }
  if (folder == nullptr) return nullptr;
  const auto file = folder->files.find(path.substr(at));
  return file == folder->files.end() ? nullptr : &file->second;
}

LoggedChanges FileTable::changes(const ChangeLog& log, size_t max_listed) const {
  LoggedChanges changes;
  changes.own.complete = changes.meanwhile.complete = log.is_complete();
  std::vector<const std::string*> paths;
  paths.reserve(log.files().size());
  for (const auto& [path, old] : log.files()) paths.push_back(&path);
  std::sort(paths.begin(), paths.end(), [](const auto* a, const auto* b) { return *a < *b; });
  for (const std::string* path : paths) {
    const ChangeLog::Old& old = log.files().at(*path);
    const FileStamp* now = find_file(*path);
    Changes& into = old.contended ? changes.meanwhile : changes.own;
    if (old.existed && now == nullptr) {
      into.deleted.add(*path, max_listed);
    } else if (!old.existed && now != nullptr) {
      into.created.add(*path, max_listed);
    } else if (old.existed && !now->is_unchanged(old.stamp)) {
      into.modified.add(*path, max_listed);
    }
  }
  return changes;
}

}  // namespace tenants

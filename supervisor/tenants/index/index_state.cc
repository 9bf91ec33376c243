#include "supervisor/tenants/index/index_state.h"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>

#include "supervisor/base/json/json.h"
#include "supervisor/base/path.h"

namespace tenants {
namespace {

constexpr size_t kMaxLinkedElsewhere = 1000;
constexpr size_t kMaxOpened = 50'000;
constexpr uint64_t kMaxMovedOnLoop = 1000;        // files that may get another place with their folder
constexpr size_t kEventBytesOfAnOperation = 128;  // some four events cost as much as a look at a file

// File systems of this machine alone: nobody changes their files past this kernel. From linux/magic.h, and from the
// sources of ZFS and bcachefs.
bool reports_changes(int directory) {
  struct statfs info;
  if (::fstatfs(directory, &info) < 0) return false;
  switch (static_cast<uint32_t>(info.f_type)) {
    case 0xEF53:      // ext2, ext3, ext4
    case 0x58465342:  // XFS
    case 0x9123683E:  // Btrfs
    case 0x01021994:  // tmpfs
    case 0x794C7630:  // overlayfs
    case 0xF2F52010:  // F2FS
    case 0x2FC12FC1:  // ZFS
    case 0xCA451A4E:  // bcachefs
      return true;
    default:
      return false;
  }
}

bool is_gone(int err) { return err == ENOENT || err == ENOTDIR || err == ELOOP; }

}  // namespace

Result<std::unique_ptr<IndexState>> IndexState::open(int directory, std::shared_ptr<WatchShares> shares,
                                                     Bounds bounds) {
  if (!reports_changes(directory))
    return fail(Code::unavailable, "the workspace's file system does not report changes",
                "keep the state folder on ext4, XFS, Btrfs or tmpfs");
  TRY(Fd folder_fd, open_beneath(directory, RelativePath(), O_PATH | O_DIRECTORY));
  struct stat info;
  if (::fstat(folder_fd.get(), &info) < 0) return fail_errno(errno, "look at the workspace");
  TRY(FolderWatches watches, FolderWatches::open(std::move(shares)));
  std::unique_ptr<IndexState> state(new IndexState(std::move(folder_fd), info.st_ino, std::move(watches), bounds));
  state->jobs_.push_back({FileTable::kRoot, Work::list});
  return state;
}

IndexState::~IndexState() {
  std::vector<int> watches;
  for (const auto& [watch, folder] : of_watch_) watches.push_back(watch);
  watches_.end(watches);
}

void IndexState::give_up(std::string why) {
  if (unusable_.empty()) unusable_ = std::move(why);
}

void IndexState::set_living(std::weak_ptr<const void> living) {
  living_ = std::move(living);
  if (std::exchange(with_opens_, true)) return;
  for (const FolderId id : table_.all_folders()) jobs_.push_back({id, Work::watch_opens});
}

bool IndexState::is_large_look(size_t operations) const {
  if (!has_all_watches_) return true;
  size_t least = table_.sparse_count() + opened_.size();
  for (const uint64_t inode : linked_elsewhere_)
    if (const auto* names = table_.names_of(inode)) least += names->known.size();
  return least > operations;
}

void IndexState::begin_scan() {
  walked_.clear();
  backlog_ = watches_.waiting();
  for (const auto& [folder, name] : table_.sparse_files()) mark(folder, name);
  for (auto inode = linked_elsewhere_.begin(); inode != linked_elsewhere_.end();) {
    const auto* names = table_.names_of(*inode);
    if (names == nullptr || names->known.size() >= names->stamp.links) {
      inode = linked_elsewhere_.erase(inode);
      continue;
    }
    mark_names_of(*inode++);
  }
  if (!has_all_watches_) check_all("not all folders can be watched: fs.inotify.max_user_watches");
  if (living_.expired()) {
    opened_.clear();
  } else if (opened_.size() > kMaxOpened) {
    check_all("a session has many files open");
  } else {
    dirty_.insert(opened_.begin(), opened_.end());
  }
}

void IndexState::check_all(const char* why) {
  walked_ = why;
  jobs_.push_back({FileTable::kRoot, Work::list_deep});
}

bool IndexState::step(size_t operations, On on) {
  on_ = on;
  needs_worker_ = false;
  while (operations > 0 && unusable_.empty()) {
    const size_t bytes = watches_.read(backlog_, [this](const FolderWatches::Event& event) { take(event); });
    backlog_ = bytes == 0 ? 0 : backlog_ - std::min(backlog_, bytes);
    operations -= std::min(operations, bytes / kEventBytesOfAnOperation);
    look_at_dirty(operations);
    if (dirty_.empty()) do_jobs(operations);
    if (needs_worker_) return false;
    if (!dirty_.empty() || !jobs_.empty() || listing_ || backlog_ > 0) continue;
    if (!nameless_.empty() || !table_.knows_largest()) {
      if (on == On::loop) return false;
      find_other_names();
      table_.find_largest();
    }
    if (!dirty_.empty()) continue;
    drop_detached();
    unpark();
    if (dirty_.empty() && jobs_.empty()) return unusable_.empty();
    if (operations > 0) operations--;
  }
  return false;
}

void IndexState::take(const FolderWatches::Event& event) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) return check_all("more changed at once than the kernel remembers");
  const auto it = of_watch_.find(event.watch);
  if (it == of_watch_.end()) return;  // a watch that was removed
  const FolderId id = it->second;
  if ((event.mask & IN_IGNORED) != 0) return ended(id);
  if (id == FileTable::kRoot && (event.mask & (IN_MOVE_SELF | IN_UNMOUNT)) != 0)
    return give_up("the workspace's folder was moved or unmounted");
  if (event.name.empty()) return;
  const bool is_open = (event.mask & IN_OPEN) != 0;
  if (is_open && (event.mask & IN_ISDIR) != 0) return;
  Name name(id, event.name);
  if (with_opens_ && opened_.size() <= kMaxOpened && !living_.expired()) opened_.insert(name);
  if (!is_open) dirty_.insert(std::move(name));
}

// The folder is deleted. Another one may have its name, and soon its inode.
void IndexState::ended(FolderId id) {
  FileTable::Folder* folder = table_.find(id);
  of_watch_.erase(folder->watch);
  folder->watch = FileTable::kNoWatch;
  watches_.ended();
  if (id == FileTable::kRoot) return give_up("the workspace's folder was deleted");
  mark_position_of(id);
}

void IndexState::mark_position_of(FolderId id) {
  const FileTable::Folder* folder = table_.find(id);
  if (folder != nullptr && folder->parent != FileTable::kNone) mark(folder->parent, folder->name);
}

void IndexState::mark_names_of(uint64_t inode) {
  if (const auto* names = table_.names_of(inode)) dirty_.insert(names->known.begin(), names->known.end());
}

void IndexState::mark_linked_below(FolderId top) {
  std::vector<FolderId> waiting{top};
  while (!waiting.empty()) {
    const FolderId id = waiting.back();
    waiting.pop_back();
    const FileTable::Folder& folder = *table_.find(id);
    for (const auto& [name, inner] : folder.folders) waiting.push_back(inner);
    for (const auto& [name, stamp] : folder.files)
      if (stamp.links > 1) mark(id, name);
  }
}

IndexState::Opened IndexState::open_folder(FolderId id, int flags, Fd& folder) {
  const FileTable::Folder* it = table_.find(id);
  if (it == nullptr) return Opened::absent;
  if (!table_.is_attached(id)) return Opened::elsewhere;
  const std::string path = id == FileTable::kRoot ? "." : table_.path_of(id);
  auto opened = open_listed_beneath(directory_.get(), path, flags | O_DIRECTORY);
  if (!opened && opened.error().err == EACCES) {
    restore_owner_rights(directory_.get(), path);
    opened = open_listed_beneath(directory_.get(), path, flags | O_DIRECTORY);
  }
  struct stat info;
  if (opened && ::fstat(opened->get(), &info) == 0 && info.st_ino == it->inode) {
    folder = *std::move(opened);
    return Opened::yes;
  }
  if (!opened && !is_gone(opened.error().err))
    give_up("folder '" + valid_utf8(path) + "' cannot be read: " + opened.error().what);
  mark_position_of(id);
  return Opened::elsewhere;
}

void IndexState::look_at_dirty(size_t& operations) {
  Fd folder_fd;
  FolderId of = FileTable::kNone;
  Opened opened = Opened::absent;
  while (!dirty_.empty() && operations > 0 && unusable_.empty() && !needs_worker_) {
    const Name name = *dirty_.begin();
    dirty_.erase(dirty_.begin());
    operations--;
    if (name.first != of) {
      of = name.first;
      opened = open_folder(of, O_PATH, folder_fd);
    }
    if (opened == Opened::yes && table_.find(of) != nullptr) inspect(of, folder_fd.get(), name.second, false);
    if (opened == Opened::elsewhere) parked_.insert(name);
  }
}

bool IndexState::watch(FolderId id, int folder) {
  FileTable::Folder& it = *table_.find(id);
  if (it.watch != FileTable::kNoWatch) return true;
  auto watch = watches_.add(folder, with_opens_);
  if (!watch) {
    if (watch.error().code != Code::exhausted) give_up(watch.error().what);
    has_all_watches_ = false;
    return false;
  }
  it.watch = *watch;
  of_watch_[*watch] = id;
  return true;
}

IndexState::Opened IndexState::begin(const Job& job) {
  Fd folder;
  if (const Opened opened = open_folder(job.id, O_RDONLY, folder); opened != Opened::yes) return opened;
  if (job.work == Work::watch_opens) {
    if (table_.find(job.id)->watch != FileTable::kNoWatch && !watches_.add_opens(folder.get()))
      has_all_watches_ = false;  // each look lists all folders
    return Opened::yes;
  }
  if (!watch(job.id, folder.get()) && walked_.empty())
    walked_ = "not all folders can be watched: fs.inotify.max_user_watches";
  auto reader = FolderReader::of(std::move(folder), job.id == FileTable::kRoot ? "." : table_.path_of(job.id));
  if (!reader) {
    give_up(reader.error().what);
    return Opened::absent;
  }
  Listing listing{job.id, job.work == Work::list_deep, *std::move(reader), {}};
  const FileTable::Folder& it = *table_.find(job.id);
  for (const auto& [name, stamp] : it.files) listing.missing.insert(name);
  for (const auto& [name, id] : it.folders) listing.missing.insert(name);
  listing_ = std::move(listing);
  return Opened::yes;
}

void IndexState::do_jobs(size_t& operations) {
  if (listing_ && !table_.is_attached(listing_->id)) {  // it has moved since the last step
    parked_jobs_.push_back({listing_->id, listing_->deep ? Work::list_deep : Work::list});
    listing_.reset();
  }
  while (operations > 0 && unusable_.empty() && !needs_worker_) {
    if (!listing_) {
      if (jobs_.empty()) return;
      const Job job = jobs_.back();
      jobs_.pop_back();
      operations--;
      if (begin(job) == Opened::elsewhere) parked_jobs_.push_back(job);
      if (!dirty_.empty()) return;
      continue;
    }
    const auto next = listing_->reader.next();
    if (!next) return give_up(next.error().what);
    if (*next == nullptr) {
      for (const std::string& name : listing_->missing) mark(listing_->id, name);
      listing_.reset();
      continue;
    }
    const std::string name = (*next)->d_name;
    operations--;
    listing_->missing.erase(name);
    inspect(listing_->id, listing_->reader.fd(), name, listing_->deep);
  }
}

void IndexState::inspect(FolderId folder, int folder_fd, const std::string& name, bool deep) {
  Entry entry;
  bool is_there = stat_entry(folder_fd, name.c_str(), 0, entry);
  if (!is_there && errno == EACCES) {  // a program has taken the owner's right to the folder away
    restore_owner_rights(directory_.get(), folder == FileTable::kRoot ? "." : table_.path_of(folder));
    is_there = stat_entry(folder_fd, name.c_str(), 0, entry);
  }
  if (!is_there && !is_gone(errno)) return give_up("'" + valid_utf8(name) + "' cannot be looked at");
  if (on_ == On::loop && table_.count() > kMaxMovedOnLoop && moves_tree(folder, name, is_there ? &entry : nullptr)) {
    needs_worker_ = true;
    return mark(folder, name);
  }
  if (!is_there) return forget(folder, name);
  if (entry.kind == FileKind::directory) {
    put_folder(folder, name, entry, deep);
  } else {
    put_file(folder, name, entry);
  }
  if (table_.count() > bounds_.files) give_up(fmt::format("it contains more than {} files", bounds_.files));
}

// Whether all files below a folder get another place, or none. `entry`: what the name is now; nullptr: it is gone.
bool IndexState::moves_tree(FolderId folder, const std::string& name, const Entry* entry) const {
  const auto& folders = table_.find(folder)->folders;
  const auto there = folders.find(name);
  const bool is_folder = entry != nullptr && entry->kind == FileKind::directory;
  const FolderId folder_id = is_folder ? table_.folder_of_inode(entry->inode) : FileTable::kNone;
  if (there == folders.end()) return folder_id != FileTable::kNone;
  return there->second != folder_id;
}

void IndexState::forget(FolderId folder, const std::string& name) {
  FileTable::Folder& in = *table_.find(folder);
  if (const auto inner = in.folders.find(name); inner != in.folders.end()) return detach(inner->second);
  const auto file = in.files.find(name);
  if (file == in.files.end()) return;
  const FileStamp old = file->second;
  table_.remove_file(folder, name);
  if (old.links > 1) mark_names_of(old.inode);
}

void IndexState::detach(FolderId id) {
  table_.detach(id);
  detached_.push_back(id);
}

void IndexState::put_folder(FolderId parent, const std::string& name, const Entry& entry, bool deep) {
  const auto is_alive = [this](FolderId id) {
    return table_.find(id)->watch != FileTable::kNoWatch || !has_all_watches_;
  };
  const FileTable::Folder& in = *table_.find(parent);
  if (const auto there = in.folders.find(name); there != in.folders.end()) {
    const FolderId id = there->second;
    if (table_.find(id)->inode == entry.inode && is_alive(id)) {
      if (deep) jobs_.push_back({id, Work::list_deep});
      return;
    }
  }
  forget(parent, name);
  const FolderId folder_id = table_.folder_of_inode(entry.inode);
  if (folder_id != FileTable::kNone && is_alive(folder_id)) {
    if (table_.is_below(parent, folder_id)) return check_all("folders moved while they were looked at");
    table_.detach(folder_id);
    table_.attach(folder_id, parent, name);
    mark_linked_below(folder_id);  // their other names may have changed while it was nowhere
    if (deep) jobs_.push_back({folder_id, Work::list_deep});
    return;
  }
  if (in.depth + 1 >= kMaxPathComponents)
    return give_up(fmt::format("its folders are nested deeper than {}", kMaxPathComponents));
  jobs_.push_back({table_.add_folder(parent, name, entry.inode), Work::list});
}

void IndexState::put_file(FolderId folder, const std::string& name, const Entry& entry) {
  FileTable::Folder& in = *table_.find(folder);
  if (in.folders.contains(name)) forget(folder, name);
  const FileStamp stamp = FileStamp::of(entry);
  uint64_t replaced = 0;
  if (const auto old = in.files.find(name); old != in.files.end() && old->second.links > 1) {
    if (old->second.inode != stamp.inode) replaced = old->second.inode;
    if (stamp.links < 2) replaced = old->second.inode;
  }
  bool is_news = false;  // to the other names of this inode
  if (stamp.links > 1) {
    const auto* names = table_.names_of(stamp.inode);
    is_news = names != nullptr && !(names->stamp.is_unchanged(stamp) && names->stamp.links == stamp.links);
  }
  table_.put_file(folder, name, stamp);
  if (replaced != 0) mark_names_of(replaced);
  if (stamp.links < 2) return;
  if (is_news) {
    mark_names_of(stamp.inode);
    dirty_.erase({folder, name});
  }
  if (table_.names_of(stamp.inode)->known.size() < stamp.links && !linked_elsewhere_.contains(stamp.inode))
    nameless_.insert(stamp.inode);
}

// Names that the table had before their files got a second one.
void IndexState::find_other_names() {
  for (auto inode = nameless_.begin(); inode != nameless_.end();) {
    const auto* names = table_.names_of(*inode);
    inode = names == nullptr || names->known.size() >= names->stamp.links ? nameless_.erase(inode) : std::next(inode);
  }
  if (nameless_.empty()) return;
  table_.each_file([this](FolderId folder, const std::string& name, const FileStamp& stamp) {
    if (stamp.links < 2 && nameless_.contains(stamp.inode)) mark(folder, name);
  });
  linked_elsewhere_.merge(nameless_);  // begin_scan() takes out those that are not
  nameless_.clear();
  if (linked_elsewhere_.size() > kMaxLinkedElsewhere)
    give_up(fmt::format("more than {} of its files have names outside of it (hard links)", kMaxLinkedElsewhere));
}

void IndexState::drop_detached() {
  for (const FolderId id : std::exchange(detached_, {})) {
    const FileTable::Folder* folder = table_.find(id);
    if (folder == nullptr || folder->parent != FileTable::kNone) continue;
    table_.drop(id, [this](const FileTable::Folder& removed) {
      for (const auto& [name, stamp] : removed.files)
        if (stamp.links > 1) mark_names_of(stamp.inode);
      if (removed.watch == FileTable::kNoWatch) return;
      of_watch_.erase(removed.watch);
      watches_.remove(removed.watch);
    });
  }
}

void IndexState::unpark() {
  dirty_.merge(parked_);
  parked_.clear();
  jobs_.insert(jobs_.end(), parked_jobs_.begin(), parked_jobs_.end());
  parked_jobs_.clear();
}

}  // namespace tenants

#include "supervisor/tenants/workspace.h"

#include <sys/random.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdio>
#include <set>

namespace tenants {
namespace {

constexpr mode_t kFileMode = 0644;  // inside the workspace, whose folder is 0700 itself
constexpr mode_t kDirectoryMode = 0755;
constexpr uint64_t kMaxCounted = 5'000'000;  // files; a larger workspace needs the kernel's quota

// Not a secret, only unused: the file has it for an instant.
std::string temporary_name() {
  uint64_t random = 0;
  (void)!::getrandom(&random, sizeof random, 0);
  char name[40];
  std::snprintf(name, sizeof name, ".warder-%016llx", static_cast<unsigned long long>(random));
  return name;
}

// A new file in a folder that has no name, or a temporary one where the file system cannot do that
// (O_TMPFILE: open(2)). Removes the name unless it was moved into place.
class NewFile {
 public:
  static Result<NewFile> make(int parent, const RelativePath& for_path) {
    auto unnamed = open_beneath(parent, RelativePath(), O_TMPFILE | O_WRONLY, kFileMode);
    if (unnamed) return NewFile(parent, std::move(*unnamed), "");
    int err = unnamed.error().err;
    if (err != EOPNOTSUPP && err != EISDIR && err != ENOENT) return fail_path(err, "write", for_path.text());
    std::string name = temporary_name();
    TRY(RelativePath path, RelativePath::parse(name));
    auto named = open_beneath(parent, path, O_CREAT | O_EXCL | O_WRONLY, kFileMode);
    if (!named) return fail_path(named.error().err, "write", for_path.text());
    return NewFile(parent, std::move(*named), std::move(name));
  }
  NewFile(NewFile&& other) noexcept
      : parent_(other.parent_), file_(std::move(other.file_)), name_(std::exchange(other.name_, "")) {}
  ~NewFile() {
    if (!name_.empty()) ::unlinkat(parent_, name_.c_str(), 0);
  }
  int file() const { return file_.get(); }

  Result<> move_to(const RelativePath& path, Existing existing) {
    if (name_.empty()) {
      std::string name = temporary_name();
      std::string self = "/proc/self/fd/" + std::to_string(file_.get());
      if (::linkat(AT_FDCWD, self.c_str(), parent_, name.c_str(), AT_SYMLINK_FOLLOW) < 0)
        return fail_path(errno, "write", path.text());
      name_ = std::move(name);
    }
    std::string target(path.name());
    unsigned flags = existing == Existing::refuse ? 1u : 0u;  // RENAME_NOREPLACE
    if (::syscall(SYS_renameat2, parent_, name_.c_str(), parent_, target.c_str(), flags) < 0)
      return fail_path(errno, "write", path.text());
    name_.clear();
    return {};
  }

 private:
  NewFile(int parent, Fd file, std::string name) : parent_(parent), file_(std::move(file)), name_(std::move(name)) {}
  int parent_;
  Fd file_;
  std::string name_;
};

}  // namespace

// What a write would meet.
struct Workspace::Target {
  std::optional<Entry> existing;
  std::vector<RelativePath> missing_folders;  // outermost first
};

Result<FileRange> read_range(int file, uint64_t offset, size_t limit) {
  struct stat info;
  if (::fstat(file, &info) < 0) return fail_errno(errno, "look at the file");
  FileRange range;
  range.offset = offset;
  range.size = static_cast<uint64_t>(info.st_size);
  if (offset >= range.size) return range;
  range.bytes.resize(static_cast<size_t>(std::min<uint64_t>(limit, range.size - offset)));
  size_t got = 0;
  while (got < range.bytes.size()) {
    ssize_t n = ::pread(file, range.bytes.data() + got, range.bytes.size() - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "read");
    if (n == 0) break;  // truncated meanwhile
    got += static_cast<size_t>(n);
  }
  range.bytes.resize(got);
  return range;
}

Result<FileRange> Workspace::read(const RelativePath& path, uint64_t offset, size_t limit) const {
  TRY(Fd file, open_regular_beneath(directory_.get(), path, O_RDONLY));
  return read_range(file.get(), offset, limit);
}

Task<Result<Listing>> Workspace::list(RelativePath path, ListOptions options) {
  WalkBounds bounds;
  bounds.depth = options.depth;
  CO_TRY(Walk walk, Walk::begin(directory_.get(), path, bounds, Order::sorted));
  Listing listing;
  std::vector<Entry> batch;
  for (;;) {
    batch.clear();
    CO_TRY(bool ended, walk.step(kSlice, batch));
    for (Entry& entry : batch) {
      if (entry.kind == Kind::directory) continue;
      if (listing.entries.size() == options.limit) {
        listing.more = true;
        co_return listing;
      }
      listing.entries.push_back(std::move(entry));
    }
    if (ended) break;
    co_await next_turn(loop_);
  }
  listing.more = !walk.missed().empty();
  co_return listing;
}

Task<Result<uint64_t>> Workspace::write(RelativePath path, std::string bytes, WriteMode mode) {
  if (stale_) {
    auto measured = co_await measure();
    if (!measured) co_return tl::unexpected<Error>(std::move(measured).error());
  }
  co_return write_now(path, bytes, mode);
}

Result<Workspace::Target> Workspace::examine(const RelativePath& path, WriteMode mode) const {
  if (path.is_root()) return fail_path(EISDIR, "write", path.text());
  Target target;
  auto existing = describe(directory_.get(), path);
  if (existing) {
    switch (existing->kind) {
      case Kind::directory:
        return fail_path(EISDIR, "write", path.text());
      case Kind::link:
        return fail_path(ELOOP, "write", path.text());
      case Kind::other:
        return fail_path(ENXIO, "write", path.text());
      case Kind::file:
        break;
    }
    if (existing->links > 1)
      return fail(
          Code::denied,
          "cannot write '" + path.text() + "': it has " + std::to_string(existing->links) + " names (hard links)",
          "delete this name first: only files with one name can be changed");
    if (mode == WriteMode::create) return fail_path(EEXIST, "create", path.text());
    target.existing = std::move(*existing);
    return target;
  }
  if (existing.error().code != Code::not_found) return fail_path(existing.error().err, "write", path.text());
  for (RelativePath folder = path.parent(); !folder.is_root(); folder = folder.parent()) {
    if (describe(directory_.get(), folder)) break;
    target.missing_folders.insert(target.missing_folders.begin(), folder);
  }
  return target;
}

Result<uint64_t> Workspace::write_now(const RelativePath& path, std::string_view bytes, WriteMode mode) {
  TRY(Target target, examine(path, mode));
  auto added = static_cast<int64_t>(bytes.size());
  int64_t old_charge = target.existing ? static_cast<int64_t>(charge_of(*target.existing)) : 0;
  int64_t folders = static_cast<int64_t>(target.missing_folders.size());
  int64_t files = folders + (target.existing ? 0 : 1);
  CHECKED(quota_.check(path.text(), mode == WriteMode::append ? added : added - old_charge, files));

  auto written = [&]() -> Result<> {
    TRY(Fd parent, make_directories_beneath(directory_.get(), path.parent(), kDirectoryMode));
    if (mode == WriteMode::append && target.existing) return append(path, bytes);
    return put(parent.get(), path, bytes, target, mode);
  }();
  if (!written) {
    for (auto folder = target.missing_folders.rbegin(); folder != target.missing_folders.rend(); ++folder)
      (void)unlink_beneath(directory_.get(), *folder, Removing::empty_directory);
    return tl::unexpected<Error>(std::move(written).error());
  }
  TRY(Entry now, describe(directory_.get(), path));
  changes_++;
  quota_.add(static_cast<int64_t>(charge_of(now)) - old_charge, files);
  return now.size;
}

Result<> Workspace::append(const RelativePath& path, std::string_view bytes) {
  TRY(Fd file, open_regular_beneath(directory_.get(), path, O_WRONLY | O_APPEND));
  struct stat before;
  if (::fstat(file.get(), &before) < 0) return fail_path(errno, "append to", path.text());
  auto written = write_all(file.get(), bytes);
  if (written) return {};
  (void)!::ftruncate(file.get(), before.st_size);  // nothing half-written
  return fail_path(written.error().err, "append to", path.text());
}

Result<> Workspace::put(int parent, const RelativePath& path, std::string_view bytes, const Target& target,
                        WriteMode mode) {
  TRY(NewFile file, NewFile::make(parent, path));
  if (auto written = write_all(file.file(), bytes); !written)
    return fail_path(written.error().err, "write", path.text());
  mode_t bits = target.existing ? target.existing->mode & 0777 : kFileMode;
  if (::fchmod(file.file(), bits) < 0) return fail_path(errno, "write", path.text());  // whatever our umask is
  return file.move_to(path, mode == WriteMode::replace ? Existing::replace : Existing::refuse);
}

Task<Result<>> Workspace::remove(RelativePath path, Removal what) {
  if (path.is_root()) {
    auto root = fail_path(EBUSY, "delete", ".");
    root.value().hint = "name a file or folder in the workspace";
    co_return root;
  }
  CO_TRY(Entry entry, describe(directory_.get(), path));
  changes_++;
  if (!quota_.usage().problem.empty()) stale_ = true;  // this may be the cure
  if (entry.kind != Kind::directory) {
    CO_CHECKED(unlink_beneath(directory_.get(), path, Removing::file));
    if (entry.links == 1) quota_.add(-static_cast<int64_t>(charge_of(entry)), -1);
    co_return Result<>();
  }
  if (what == Removal::one) {
    CO_CHECKED(unlink_beneath(directory_.get(), path, Removing::empty_directory));
    quota_.add(0, -1);
    co_return Result<>();
  }
  stale_ = true;
  CO_TRY(TreeRemoval removal, TreeRemoval::begin(directory_.get(), path));
  for (;;) {
    CO_TRY(bool done, removal.step(kSlice));
    if (done) co_return Result<>();
    co_await next_turn(loop_);
  }
}

Task<Result<Usage>> Workspace::measure() {
  uint64_t changes_before = changes_;
  stale_ = false;  // set again by who writes while we count
  // One more than allowed is enough to know that it is too much.
  WalkBounds bounds;
  bounds.entries = std::min(quota_.limits().files, kMaxCounted) + 1;
  Usage usage;
  std::set<uint64_t> linked;  // inodes with several names, counted once
  auto walk = Walk::begin(directory_.get(), RelativePath(), bounds, Order::any);
  if (!walk) {
    stale_ = true;
    co_return tl::unexpected<Error>(std::move(walk).error());
  }
  std::vector<Entry> batch;
  for (;;) {
    batch.clear();
    auto ended = walk->step(kSlice, batch);
    if (!ended) {
      stale_ = true;
      co_return tl::unexpected<Error>(std::move(ended).error());
    }
    for (const Entry& entry : batch) {
      if (entry.kind != Kind::directory && entry.links > 1 && !linked.insert(entry.inode).second) continue;
      usage.bytes += charge_of(entry);
      usage.files++;
    }
    if (*ended) break;
    co_await next_turn(loop_);
  }
  usage.problem = walk->missed();
  quota_.set_usage(usage);
  if (changes_ != changes_before) stale_ = true;
  co_return usage;
}

}  // namespace tenants

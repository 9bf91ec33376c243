#include "supervisor/upstream/discovery/stub_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "skills/digest.h"
#include "supervisor/base/flag_guard.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"

namespace discovery {
namespace {

constexpr int kMakingNice = 5;  // as Work's threads: an upstream server that changes its tools often keeps it busy

// Sets the mode independently of the umask: jails read the files under other user ids.
Result<Fd> make_folder(int beneath, const std::string& name) {
  if (::mkdirat(beneath, name.c_str(), 0755) < 0) return fail_errno(errno, name);
  Fd folder(::openat(beneath, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder || ::fchmod(folder.get(), 0755) < 0) return fail_errno(errno, name);
  return folder;
}

// `name`: made by catalog::identifier, or fixed.
Result<> write_stub(int folder, const std::string& name, const std::string& content) {
  Fd file(::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file || ::fchmod(file.get(), 0644) < 0) return fail_errno(errno, name);
  return write_all(file.get(), content);
}

Result<> link_files(int from, int to) {
  TRY(FolderReader entries, FolderReader::at(from, "the stubs of a server"));
  for (;;) {
    TRY(const dirent* entry, entries.next());
    if (entry == nullptr) return {};
    if (::linkat(from, entry->d_name, to, entry->d_name, 0) < 0) return fail_errno(errno, entry->d_name);
  }
}

}  // namespace

Result<std::unique_ptr<StubTree>> StubTree::start(Loop& loop, Fd folder) {
  std::unique_ptr<StubTree> tree(new StubTree(std::move(folder)));
  TRY(tree->writes_, WorkerThread::start(loop));
  tree->writes_->set_nice(kMakingNice);
  return tree;
}

Task<Result<bool>> StubTree::show(std::shared_ptr<const catalog::Catalog> catalog) {
  if (catalog == visible_ && !writing_) co_return false;
  requested_ = std::move(catalog);
  index_ = nullptr;
  if (writing_) co_return false;
  const FlagGuard busy(writing_);
  bool changed = false;
  while (requested_ != visible_) {
    auto of = requested_;
    Generation next{fmt::format("g{}", ++generations_), {}};
    auto written = co_await write(of, next);
    if (written) written = point_to(next.name);
    if (!written) {
      auto job = [folder = folder_.get(), name = next.name] {
        return remove_tree_beneath(folder, RelativePath::known(name));
      };
      (void)co_await writes_->run(job);
      co_return tl::unexpected<Error>(std::move(written).error().within("the stubs of /servers"));
    }
    visible_ = std::move(of);
    changed = true;
    saved_generations_.push_back(std::move(next));
    if (saved_generations_.size() <= kSaved) continue;
    auto job = [folder = folder_.get(), name = saved_generations_.front().name] {
      return remove_tree_beneath(folder, RelativePath::known(name));
    };
    saved_generations_.pop_front();
    auto removed = co_await writes_->run(job);
    if (!removed) log_warning("stubs of /servers: {}", removed.error().what);
  }
  co_return changed;
}

// The job uses copies and data that does not change, as it may outlive this task. It does not outlive the tree.
Task<Result<>> StubTree::write(std::shared_ptr<const catalog::Catalog> catalog, Generation& next) {
  struct StubFiles {
    std::shared_ptr<const catalog::StubIndex> index;
    Digests digests;
  };
  auto created = std::make_shared<StubFiles>();
  auto before = saved_generations_.empty() ? Generation{} : saved_generations_.back();
  auto job = [created, catalog, before, name = next.name, folder = folder_.get(),
              thread = writes_.get()]() -> Result<> {
    created->index = std::make_shared<catalog::StubIndex>(catalog);
    TRY(Fd top, make_folder(folder, name));
    for (const catalog::StubFile& file : catalog::StubIndex::root())
      CHECKED(write_stub(top.get(), file.path, file.content));
    for (size_t server = 0; server < created->index->servers(); server++) {
      if (thread->is_ending()) return fail(Code::unavailable, "the daemon ends");
      CHECKED(write_server(*thread, *created->index, server, folder, top.get(), before, created->digests));
    }
    return {};
  };
  auto written = co_await writes_->run(job);
  if (requested_ == catalog) index_ = created->index;
  next.digests = std::move(created->digests);
  co_return written;
}

Result<> StubTree::write_server(const WorkerThread& thread, const catalog::StubIndex& index, size_t server, int folder,
                                int top, const Generation& before, Digests& digests) {
  const std::string& name = index.folder(server);
  TRY(Fd created, make_folder(top, name));
  std::string& digest = digests[name] = skills::digest_of(index.source(server));
  if (const auto old = before.digests.find(name); old != before.digests.end() && old->second == digest) {
    Fd from(::openat(folder, (before.name + "/" + name).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (from) return link_files(from.get(), created.get());
  }
  return index.make(server, [&](const catalog::StubFile& file) -> Result<> {
    if (thread.is_ending()) return fail(Code::unavailable, "the daemon ends");
    return write_stub(created.get(), file.path.substr(name.size() + 1), file.content);
  });
}

Task<Result<std::string>> StubTree::file(Work& work, Work::Owner owner, std::string path) {
  auto index = std::make_shared<std::shared_ptr<const catalog::StubIndex>>(index_);
  auto catalog = requested_;
  if (!catalog) co_return fail(Code::not_found, "no upstream tools are known");
  std::function<Result<std::string>()> job = [index, catalog, path]() -> Result<std::string> {
    if (!*index) *index = std::make_shared<catalog::StubIndex>(catalog);
    auto file = (*index)->file(path);
    if (!file) return fail(Code::not_found, fmt::format("there is no /servers/{}", printable(path, 200)));
    return std::move(file->content);
  };
  auto content = co_await work.run(std::move(owner), 0, std::move(job));
  if (!index_ && requested_ == catalog) index_ = *index;
  co_return content;
}

Result<> StubTree::point_to(const std::string& generation) {
  if (::unlinkat(folder_.get(), "current.new", 0) < 0 && errno != ENOENT) return fail_errno(errno, "current.new");
  if (::symlinkat(generation.c_str(), folder_.get(), "current.new") < 0) return fail_errno(errno, "current.new");
  return rename_beneath(folder_.get(), RelativePath::known("current.new"), RelativePath::known("current"),
                        Existing::replace);
}

}  // namespace discovery

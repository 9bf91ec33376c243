#include "supervisor/tools/stub_tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "supervisor/base/log.h"
#include "supervisor/base/path.h"

namespace tools {
namespace {

constexpr std::string_view kBelow = "servers/";  // of the paths of stubs; the folder is that one
constexpr size_t kNamedServers = 10;

RelativePath checked(const std::string& path) { return RelativePath::parse(path).value(); }

}  // namespace

Task<Result<bool>> StubTree::show(std::shared_ptr<const catalog::Catalog> catalog) {
  wanted_ = std::move(catalog);
  if (writing_) co_return false;
  struct Busy {
    bool& flag;
    explicit Busy(bool& busy) : flag(busy) { flag = true; }
    ~Busy() { flag = false; }
  } busy(writing_);
  bool changed = false;
  while (wanted_ != shown_) {
    auto catalog_now = wanted_;
    const std::string generation = fmt::format("g{}", ++generations_);
    auto written = co_await write(catalog_now, generation);
    if (written) written = point_to(generation);
    if (!written) {
      (void)remove_tree_beneath(folder_.get(), checked(generation));
      co_return tl::unexpected<Error>(std::move(written).error().within("the stubs of /servers"));
    }
    shown_ = std::move(catalog_now);
    changed = true;
    kept_.push_back(generation);
    if (kept_.size() <= kKept) continue;
    auto removed = remove_tree_beneath(folder_.get(), checked(kept_.front()));
    if (!removed) log_warning("stubs of /servers: {}", removed.error().what);
    kept_.pop_front();
  }
  co_return changed;
}

Task<Result<>> StubTree::write(std::shared_ptr<const catalog::Catalog> catalog, std::string name) {
  CO_TRY(Fd top, make_directories_beneath(folder_.get(), checked(name), 0755));
  if (::fchmodat(folder_.get(), name.c_str(), 0755, 0) < 0) co_return fail_errno(errno, name);
  catalog::StubMaker maker(std::move(catalog));
  for (auto files = maker.next(); !files.empty(); files = maker.next()) {
    for (const auto& file : files) CO_CHECKED(write_file(name, file));
    co_await next_turn(loop_);
  }
  const auto& left_out = maker.left_out();
  if (!left_out.empty()) {
    const std::vector<std::string> named(
        left_out.begin(), left_out.begin() + static_cast<ptrdiff_t>(std::min(left_out.size(), kNamedServers)));
    log_warning("stubs of /servers: too many tools, without {} servers: {}{}", left_out.size(), fmt::join(named, ", "),
                left_out.size() > named.size() ? ", ..." : "");
  }
  co_return Result<>{};
}

// Modes whatever the umask is: jails read them under ids of their own.
Result<> StubTree::write_file(const std::string& generation, const catalog::StubFile& file) {
  const RelativePath path = checked(generation + "/" + file.path.substr(kBelow.size()));
  TRY(Fd made, make_directories_beneath(folder_.get(), path.parent(), 0755));
  if (::fchmodat(folder_.get(), path.parent().c_str(), 0755, 0) < 0) return fail_errno(errno, path.parent().text());
  TRY(Fd out, open_beneath(folder_.get(), path, O_WRONLY | O_CREAT | O_EXCL, 0644));
  if (::fchmod(out.get(), 0644) < 0) return fail_errno(errno, path.text());
  return write_all(out.get(), file.content);
}

Result<> StubTree::point_to(const std::string& generation) {
  if (::unlinkat(folder_.get(), "current.new", 0) < 0 && errno != ENOENT) return fail_errno(errno, "current.new");
  if (::symlinkat(generation.c_str(), folder_.get(), "current.new") < 0) return fail_errno(errno, "current.new");
  return rename_beneath(folder_.get(), checked("current.new"), checked("current"), Existing::replace);
}

}  // namespace tools

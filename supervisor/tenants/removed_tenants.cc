#include "supervisor/tenants/removed_tenants.h"

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>

#include "policies/policy.h"
#include "supervisor/base/directory_stream.h"
#include "supervisor/base/path.h"

namespace tenants {
namespace {

constexpr std::string_view kRemoving = ".removing-", kDeleting = ".deleting-";
constexpr unsigned kDeletionSlice = 500;               // operations between two looks at `stop`
constexpr uint64_t kMaxDeletions = 10'000'000'000ull;  // no jail adds files any longer

// The tenant of a folder's name; nullopt: it is no removed tenant.
std::optional<RemovedTenant> parse_removed(std::string_view folder) {
  RemovedTenant removed;
  removed.in_journal = folder.starts_with(kRemoving);
  if (!removed.in_journal && !folder.starts_with(kDeleting)) return std::nullopt;
  folder.remove_prefix(kRemoving.size());
  const size_t dot = folder.rfind('.');
  if (dot == folder.npos) return std::nullopt;
  removed.name = folder.substr(0, dot);
  const std::string_view digits = folder.substr(dot + 1);
  const auto number = std::from_chars(digits.data(), digits.data() + digits.size(), removed.at_ms);
  const bool good = number.ec == std::errc() && number.ptr == digits.data() + digits.size() && removed.at_ms >= 0;
  if (!good || !policies::valid_name(removed.name)) return std::nullopt;
  return removed;
}

}  // namespace

std::string RemovedTenant::folder() const {
  return std::string(in_journal ? kRemoving : kDeleting) + name + "." + std::to_string(at_ms);
}

Result<RemovedTenant> set_aside(int tenants, const std::string& name, int64_t at_ms) {
  RemovedTenant removed{name, at_ms, true};
  TRY(const RelativePath from, RelativePath::parse(name));
  TRY(const RelativePath to, RelativePath::parse(removed.folder()));
  CHECKED(rename_beneath(tenants, from, to, Existing::refuse));
  return removed;
}

Result<> leave_journal(int tenants, RemovedTenant& removed) {
  TRY(const RelativePath from, RelativePath::parse(removed.folder()));
  removed.in_journal = false;
  TRY(const RelativePath to, RelativePath::parse(removed.folder()));
  return rename_beneath(tenants, from, to, Existing::refuse);
}

Result<std::vector<RemovedTenant>> list_removed(int tenants) {
  TRY(Fd folder, open_beneath(tenants, RelativePath(), O_RDONLY | O_DIRECTORY));
  const DirectoryStream entries = stream_of(std::move(folder));
  if (!entries) return fail_errno(errno, "list removed tenants");
  std::vector<RemovedTenant> found;
  while (const dirent* entry = ::readdir(entries.get()))
    if (auto removed = parse_removed(entry->d_name)) found.push_back(*std::move(removed));
  return found;
}

Result<> delete_files(int tenants, const RemovedTenant& removed, const std::function<bool()>& stop) {
  TRY(const RelativePath path, RelativePath::parse(removed.folder()));
  TRY(TreeRemoval removal, TreeRemoval::begin(tenants, path, kMaxDeletions));
  for (;;) {
    TRY(const bool gone, removal.step(kDeletionSlice));
    if (gone) return {};
    if (stop()) return fail(Code::unavailable, "the daemon ends; it continues at the next start");
  }
}

}  // namespace tenants

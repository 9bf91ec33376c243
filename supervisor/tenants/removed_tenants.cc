#include "supervisor/tenants/removed_tenants.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "policies/names.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/path.h"

namespace tenants {
namespace {

constexpr std::string_view kRemoving = ".removing-", kDeleting = ".deleting-";
constexpr unsigned kDeletionSlice = 500;               // operations between two looks at `stop`
constexpr uint64_t kMaxDeletions = 10'000'000'000ull;  // no jail adds files any longer

// A number of digits alone.
bool read_number(std::string_view digits, int64_t& number) {
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return read.ec == std::errc() && read.ptr == digits.data() + digits.size() && number >= 0;
}

// The tenant of a folder's name; nullopt: it is no removed tenant.
std::optional<RemovedTenant> parse_removed(std::string_view folder) {
  RemovedTenant removed;
  removed.in_journal = folder.starts_with(kRemoving);
  if (!removed.in_journal && !folder.starts_with(kDeleting)) return std::nullopt;
  folder.remove_prefix(kRemoving.size());
  const size_t dot = folder.rfind('.');
  if (dot == folder.npos) return std::nullopt;
  removed.name = folder.substr(0, dot);
  const std::string_view numbers = folder.substr(dot + 1);
  const size_t dash = numbers.find('-');
  if (!policies::valid_name(removed.name) || !read_number(numbers.substr(0, dash), removed.at_ms)) return std::nullopt;
  if (dash != numbers.npos && !read_number(numbers.substr(dash + 1), removed.last_row.emplace())) return std::nullopt;
  return removed;
}

}  // namespace

std::string RemovedTenant::folder() const {
  const std::string row = last_row ? "-" + std::to_string(*last_row) : "";
  return std::string(in_journal ? kRemoving : kDeleting) + name + "." + std::to_string(at_ms) + row;
}

Result<RemovedTenant> set_aside(int tenants, const std::string& name, int64_t at_ms, int64_t last_row) {
  RemovedTenant removed{name, at_ms, last_row, true};
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
  TRY(const auto names, read_names(FolderReader::at(tenants, "tenants")));
  std::vector<RemovedTenant> removed_tenants;
  for (const std::string& name : names)
    if (auto removed = parse_removed(name)) removed_tenants.push_back(*std::move(removed));
  return removed_tenants;
}

Result<> delete_files(int tenants, const RemovedTenant& removed, const std::function<bool()>& stop) {
  TRY(const RelativePath path, RelativePath::parse(removed.folder()));
  TRY(TreeRemoval removal, TreeRemoval::begin(tenants, path, kMaxDeletions));
  for (;;) {
    TRY(const bool is_done, removal.step(kDeletionSlice));
    if (is_done) return {};
    if (stop()) return fail(Code::unavailable, "the daemon ends; it continues at the next start");
  }
}

}  // namespace tenants

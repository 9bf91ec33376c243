#include "supervisor/programs/cli/admin/user_names.h"

#include <charconv>

#include "supervisor/base/user_lookup.h"

namespace admin {
namespace {

constexpr size_t kMaxRemembered = 10'000;

}  // namespace

const std::string& UserNames::of_uid(uint32_t uid) {
  if (const auto it = names_.find(uid); it != names_.end()) return it->second;
  if (names_.size() >= kMaxRemembered) names_.clear();
  const auto user = find_system_user(uid);
  return names_[uid] = user && *user ? (*user)->name : "";  // an error: the number is shown
}

std::string UserNames::of_tenant(std::string_view tenant) {
  constexpr std::string_view kPrefix = "uid-";
  if (!tenant.starts_with(kPrefix)) return {};
  const char *begin = tenant.data() + kPrefix.size(), *end = tenant.data() + tenant.size();
  uint32_t uid = 0;
  const auto [parsed, wrong] = std::from_chars(begin, end, uid);
  return wrong == std::errc() && parsed == end ? of_uid(uid) : std::string();
}

}  // namespace admin

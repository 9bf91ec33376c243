#include "supervisor/base/user_lookup.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <utility>
#include <vector>

#include "supervisor/base/log.h"

namespace {

constexpr size_t kMaxEntryBytes = 1 << 20;  // a group may have many members

// getpwnam(3) returns one of these where the name does not exist.
bool is_absent(int error) {
  return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
}

template <class Key, class Entry, class Convert>
auto look_up(int (*call)(Key, Entry*, char*, size_t, Entry**), Key key, const std::string& displayed, Convert convert)
    -> Result<std::optional<decltype(convert(std::declval<const Entry&>()))>> {
  for (std::vector<char> text(1024);; text.resize(2 * text.size())) {
    Entry entry{}, *found = nullptr;
    const int error = call(key, &entry, text.data(), text.size(), &found);
    if (found != nullptr) return convert(*found);
    if (error == EINTR || (error == ERANGE && text.size() < kMaxEntryBytes)) continue;
    if (is_absent(error)) return std::nullopt;
    return fail_errno(error, fmt::format("\"{}\" cannot be looked up", printable(displayed, 64)), Code::unavailable);
  }
}

SystemUser user_of(const passwd& entry) { return {entry.pw_name ? entry.pw_name : "", entry.pw_uid, entry.pw_gid}; }

}  // namespace

Result<std::optional<SystemUser>> find_system_user(const std::string& name) {
  return look_up(::getpwnam_r, name.c_str(), name, user_of);
}

Result<std::optional<SystemUser>> find_system_user(uid_t uid) {
  return look_up(::getpwuid_r, uid, std::to_string(uid), user_of);
}

Result<std::optional<gid_t>> find_system_group(const std::string& name) {
  return look_up(::getgrnam_r, name.c_str(), name, [](const group& entry) { return entry.gr_gid; });
}

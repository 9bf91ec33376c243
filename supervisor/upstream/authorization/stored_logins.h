// Names of the files of logins, and their erasure with a tenant, which needs neither a key nor ../oauth/. Each login is
// logins/SERVER/FILE in the folder of the upstream servers. Used by: ../oauth/login_files.cc, ../part.cc. All functions
// wait for the disk. Errors: those of base/path.h.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/path.h"
#include "supervisor/base/result.h"

namespace oauth {

inline constexpr char kLoginsFolder[] = "logins";
inline constexpr size_t kMaxLogins = 10'000;

// `owner`: empty: all tenants.
std::string login_file_of(const std::string& owner);
// nullopt: the file is no login.
std::optional<std::string> login_owner_of(std::string_view file);
// The names in a folder, at most kMaxLogins, without those that begin with '.'. A missing folder has none.
Result<std::vector<std::string>> login_names_in(int folder, const RelativePath& path);
// Removes the logins of an owner at all servers. Returns how many there were.
Result<size_t> erase_logins_of(int folder, const std::string& owner);

}  // namespace oauth

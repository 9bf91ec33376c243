// Users and groups of this machine: getpwnam_r(3), getpwuid_r(3), getgrnam_r(3). A database that cannot be read is an
// error, not a missing name. Any thread may call. Used by: configuration, policies and commands.
// Errors: unavailable, with the errno in `err`.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "supervisor/base/result.h"

struct SystemUser {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;  // of the primary group
};
// nullopt: the machine has no such user or group.
Result<std::optional<SystemUser>> find_system_user(const std::string& name);
Result<std::optional<SystemUser>> find_system_user(uid_t uid);
Result<std::optional<gid_t>> find_system_group(const std::string& name);

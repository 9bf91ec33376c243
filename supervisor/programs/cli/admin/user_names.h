// UserNames: the names of the users behind tenants such as "uid-1000", from this machine's user database. Each name is
// looked up once. Used by: `warder top`, `warder dashboard`. No errors: the name may be empty.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace admin {

class UserNames {
 public:
  // "ada" for 1000; empty: the user has no name here.
  const std::string& of_uid(uint32_t uid);
  // "ada" for "uid-1000"; empty: the tenant is no user, or the user has no name here.
  std::string of_tenant(std::string_view tenant);

 private:
  std::map<uint32_t, std::string> names_;
};

}  // namespace admin

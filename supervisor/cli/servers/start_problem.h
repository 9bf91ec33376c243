// start_remedy(): what an administrator can do about a server that does not start, from the daemon's message.
// Used by: add.cc, test.cc, list.cc.
#pragma once
#include <string>
#include <string_view>

namespace admin {

// Empty: no remedy is known.
std::string start_remedy(std::string_view problem);

}  // namespace admin

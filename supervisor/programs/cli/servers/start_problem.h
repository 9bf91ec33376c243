// start_remedy(): what an administrator can do about a server that does not start, from the daemon's message and the
// place where the server runs ("jail", "host", "remote": ListServers). Used by: add.cc.
#pragma once
#include <string>
#include <string_view>

namespace admin {

// Empty: no remedy is known.
std::string start_remedy(std::string_view problem, std::string_view path);

}  // namespace admin

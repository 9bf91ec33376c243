// Site: which request of a browser is answered, and with what. Others on this machine can connect to a port, and pages
// from anywhere can make a browser do so: who does not know the key, or speaks to another host, is told nothing.
#pragma once
#include <string>

#include "supervisor/cli/dashboard/watch.h"
#include "supervisor/http/message.h"

namespace admin {

struct SiteAddress {
  std::string key;   // the first part of every path; empty: who can open the socket may look
  std::string host;  // what the Host header must be; empty: anything
};

// Page, style, script and state.json below /KEY/. `watch` must outlive the handler.
http::Handler site(const Watch& watch, SiteAddress address);

}  // namespace admin

// Site: the HTTP answers of the dashboard. Other users of the machine can connect to its port, and a foreign web page
// can make a browser connect. So a request without the key in its path, or with another Host header, gets only a 404.
// Source: Watch. Used by: dashboard.cc.
#pragma once
#include <string>

#include "supervisor/cli/dashboard/watch.h"
#include "supervisor/http/message.h"

namespace admin {

struct SiteAddress {
  std::string key;   // the first part of every path; empty: the socket's mode protects the page
  std::string host;  // the value that the Host header must have; empty: any value
};

// Serves the page, its style, its script and state.json below /KEY/. `watch` must outlive the handler.
http::Handler site(const Watch& watch, SiteAddress address);

}  // namespace admin

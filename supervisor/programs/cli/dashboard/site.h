// Site: the HTTP answers of the dashboard. Other users of the machine can connect to its port, and a foreign web page
// can make a browser connect. So a request without the key in its path, or with a Host header that does not name this
// server, gets only a 404. An action must be a POST of JSON from this page itself, by its Origin header.
// Source: DashboardRequests. Used by: dashboard.cc.
#pragma once
#include <string>

#include "supervisor/programs/cli/dashboard/requests.h"
#include "supervisor/protocol/http/endpoint.h"

namespace admin {

struct SiteAddress {
  std::string key;   // the first part of every path
  std::string host;  // the value that the Host header must have; empty: a loopback name with any port, or no header
};

// Serves the page and its parts, and the data and actions of `requests`, below /KEY/. `requests` must outlive the
// handler.
http::TaskHandler site(DashboardRequests& requests, SiteAddress address);

}  // namespace admin

// Collector: where spans go, as an administrator names it.
// Source: --traces, or "traces" of the daemon's configuration; headers from a file that only root may read, or the
// credential `warder.traces` (systemd.exec(5)): never from the command line, which everybody sees.
// Errors: invalid, naming what is wrong and what it should be.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/result.h"
#include "supervisor/http/client.h"

namespace traces {

struct Collector {
  std::string shown;         // as it was named
  std::string url;           // to POST to
  std::string socket;        // a Unix socket that is connected to instead of the URL's host; empty: none
  std::string headers_file;  // empty: the credential, if there is one
  std::string authorities;   // PEM file of certificate authorities; empty: the system's
  http::Headers headers;     // of each request
};

// "http://HOST[:PORT][/PATH]", "https://..." or "unix:///SOCKET[#/PATH]"; below it, /v1/traces is posted to.
Result<Collector> parse_collector(const std::string& named);

// Fills `headers`: from its file, or the folder `credentials` (empty: there is none). While there are privileges.
Result<> load_headers(Collector& collector, const std::string& credentials);
// "Name: value", one a line; empty lines and those that begin with # are none.
Result<http::Headers> parse_headers(std::string_view text);

}  // namespace traces

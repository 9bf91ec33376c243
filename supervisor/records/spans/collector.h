// Collector: the OpenTelemetry collector that gets the spans.
// Source: --traces, or "traces" of the daemon's configuration. Headers come from a file that only root may read, or
// from the credential `warder.traces` (systemd.exec(5)), never from the command line, which all users can read.
// Used by: exporter.h. Errors: invalid, naming the wrong part and the expected form.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/result.h"
#include "supervisor/protocol/http/client.h"

namespace spans {

struct Collector {
  std::string displayed;     // the address as it was configured
  std::string url;           // target of the POST requests
  std::string socket;        // a Unix socket that replaces the URL's host; may be empty
  std::string headers_file;  // empty: the credential, if it exists
  std::string authorities;   // PEM file of certificate authorities; empty: the system's
  http::Headers headers;     // of each request
};

// Reads "http://HOST[:PORT][/PATH]", "https://..." or "unix:///SOCKET[#/PATH]". /v1/traces is added, unless the path
// ends with it.
Result<Collector> parse_collector(const std::string& named);

// Fills `headers` from headers_file or from the folder `credentials` (empty: no folder). Must run before the daemon
// drops its privileges.
Result<> load_headers(Collector& collector, const std::string& credentials);
// Reads one "Name: value" a line; empty lines and lines that begin with # are skipped.
Result<http::Headers> parse_headers(std::string_view text);

}  // namespace spans

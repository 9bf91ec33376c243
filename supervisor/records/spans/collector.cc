#include "supervisor/records/spans/collector.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/fd.h"
#include "supervisor/base/path.h"
#include "supervisor/base/text_lines.h"

namespace spans {
namespace {

constexpr std::string_view kSocket = "unix://", kPath = "/v1/traces";
constexpr char kCredential[] = "warder.traces";
constexpr size_t kMaxFile = 64 << 10, kMaxHeaders = 32;

Result<Fd> open_headers(const Collector& collector, const std::string& credentials) {
  const bool named = !collector.headers_file.empty();
  if (!named && credentials.empty()) return Fd();
  const std::string path = named ? collector.headers_file : credentials + "/" + kCredential;
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file || (!named && errno == ENOENT)) return file;
  return fail_errno(errno, path, Code::invalid);
}

}  // namespace

Result<Collector> parse_collector(const std::string& named) {
  Collector collector;
  collector.displayed = collector.url = named;
  if (named.starts_with(kSocket)) {
    const size_t mark = std::min(named.find('#'), named.size());
    collector.socket = named.substr(kSocket.size(), mark - kSocket.size());
    // sockaddr_un(7): 108 bytes with the NUL.
    if (!collector.socket.starts_with('/') || collector.socket.size() > 107)
      return fail(Code::invalid, fmt::format("{}: not the absolute path of a socket, of at most 107 bytes", named),
                  "unix:///run/collector.sock");
    const std::string path = mark < named.size() ? named.substr(mark + 1) : "";
    if (!path.empty() && !path.starts_with('/'))
      return fail(Code::invalid, fmt::format("{}: the text after # is not a path", named),
                  "unix:///run/collector.sock#/PATH");
    collector.url = "http://localhost" + path;
  }
  if (collector.url.find_first_of("?#") != std::string::npos)
    return fail(Code::invalid, fmt::format("{}: a query or a fragment is not supported", named),
                "leave out the part that begins with ? or #");
  auto url = http::parse_url(collector.url);
  if (!url) {
    Error error = std::move(url).error().within(named);
    error.hint += ", or unix:///SOCKET";
    return tl::unexpected<Error>(std::move(error));
  }
  while (collector.url.ends_with('/')) collector.url.pop_back();
  if (!collector.url.ends_with(kPath)) collector.url += kPath;
  return collector;
}

Result<http::Headers> parse_headers(std::string_view text) {
  http::Headers headers;
  for (size_t number = 1; !text.empty(); number++) {
    std::string_view line = *take_line(text);
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    const size_t colon = line.find(':');
    std::string_view value = line.substr(std::min(colon, line.size() - 1) + 1);
    while (value.starts_with(' ') || value.starts_with('\t')) value.remove_prefix(1);
    // The line is secret, so the error does not show it.
    if (colon == line.npos || !http::check_header(line.substr(0, colon), value) || headers.size() == kMaxHeaders)
      return fail(
          Code::invalid,
          fmt::format("line {} is not a header, or it is header number {}, which is too many", number, kMaxHeaders + 1),
          "Authorization: Bearer TOKEN");
    headers.emplace_back(line.substr(0, colon), value);
  }
  return headers;
}

Result<> load_headers(Collector& collector, const std::string& credentials) {
  const std::string context = "headers for " + collector.displayed;
  auto file = open_headers(collector, credentials);
  if (!file) return tl::unexpected<Error>(std::move(file).error().within(context));
  if (!*file) return {};
  auto text = read_complete(file->get(), kMaxFile);
  if (!text) return tl::unexpected<Error>(std::move(text).error().within(context));
  auto headers = parse_headers(*text);
  if (!headers) return tl::unexpected<Error>(std::move(headers).error().within(context));
  collector.headers = *std::move(headers);
  return {};
}

}  // namespace spans

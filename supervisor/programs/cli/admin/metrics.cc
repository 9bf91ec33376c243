// `warder metrics`: prints the text from warderd's socket for metrics unchanged, or its samples as JSON.
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "supervisor/base/fd.h"
#include "supervisor/base/text_lines.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/values.h"
#include "supervisor/programs/cli/socket.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

constexpr size_t kMax = 8 << 20;
constexpr timeval kScrapePatience{10, 0};
constexpr std::string_view kStart = "HTTP/1.0 200 ";
constexpr char kRequest[] = "GET /metrics HTTP/1.0\r\n\r\n";

Result<Fd> connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return fail(Code::invalid, "--from " + path + ": longer than 107 bytes");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno(errno, "make a socket");
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &kScrapePatience, sizeof kScrapePatience);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  const int error = errno;
  auto failed = fail_errno(error, "connect to " + path, Code::unavailable);
  failed.value().hint = error == EACCES
                            ? "join the group that owns it, or call as root"
                            : "start warderd with --metrics PATH, or: systemctl start warder-metrics.socket";
  return failed;
}

// The body of the daemon's HTTP response.
Result<std::string> fetch(const std::string& path) {
  TRY(Fd fd, connect_to(path));
  if (::send(fd.get(), kRequest, sizeof kRequest - 1, MSG_NOSIGNAL) < 0)
    return fail_errno(errno, "ask " + path, Code::unavailable);
  std::string answer;
  char chunk[16384];
  for (;;) {
    const ssize_t got = ::recv(fd.get(), chunk, sizeof chunk, 0);
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "read from " + path, Code::unavailable);
    answer.append(chunk, static_cast<size_t>(got));
    if (answer.size() >= kStart.size() && !answer.starts_with(kStart)) break;  // another program's socket
    if (answer.size() > kMax) return fail(Code::unavailable, path + ": the answer is too long");
  }
  const size_t head = answer.find("\r\n\r\n");
  if (!answer.starts_with(kStart) || head == answer.npos)
    return fail(Code::unavailable, path + " does not answer with metrics",
                "name the socket for metrics of warderd with --from");
  return answer.substr(head + 4);
}

// Reads one sample: name{a="b",c="d"} 1.5. Returns null for any other line.
Json sample_in(std::string_view line) {
  const size_t space = line.rfind(' ');
  if (space == line.npos || line.starts_with('#')) return {};
  double value = 0;
  const std::string_view digits = line.substr(space + 1);
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc()) return {};
  const std::string_view full = line.substr(0, space);
  const size_t brace = full.find('{');
  Json labels = Json::object();
  for (size_t at = brace; at < full.size();) {
    const size_t equals = full.find("=\"", at);
    if (equals == full.npos) break;
    const std::string name(full.substr(at + 1, equals - at - 1));
    std::string text;
    for (at = equals + 2; at < full.size() && full[at] != '"'; at++) {
      if (full[at] == '\\' && at + 1 < full.size()) at++;
      text += full[at];
    }
    labels[name] = text;
    at++;  // to the comma or the closing brace
  }
  return {{"name", full.substr(0, brace)}, {"labels", std::move(labels)}, {"value", value}};
}

}  // namespace

Result<int> run_metrics(const ParsedCommand& command) {
  const auto beside = std::filesystem::path(cli::find_socket(command.socket).path).replace_filename("metrics.sock");
  TRY(const std::string text, fetch(command.value("from", beside.string())));
  if (!command.json) {
    cli::print_text(stdout, text);
    return 0;
  }
  Json samples = Json::array();
  std::string_view rest = text;
  while (const auto line = take_line(rest))
    if (Json sample = sample_in(*line); !sample.is_null()) samples.push_back(std::move(sample));
  print_json(samples);
  return 0;
}
const ProgramOfCommand kRunMetrics{"metrics", run_metrics};

}  // namespace admin

#include "supervisor/daemon/configuration/reload_exchange.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "supervisor/base/fd.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/base/random.h"

namespace configuration {
namespace {

constexpr char kRequest[] = "reload.request";
constexpr char kAnswer[] = "reload/answer";
constexpr char kSockets[] = "reload/sockets";
constexpr size_t kMaxWord = 64, kMaxAnswer = 1 << 20, kMaxLines = 1000;
constexpr std::chrono::milliseconds kCheckInterval{20};

// With O_PATH, because the daemon's user may not list the state folder.
Result<Fd> open_state(const std::string& state, int how = O_PATH) {
  Fd folder(::open(state.c_str(), how | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return fail_errno(errno, "open " + state);
  return folder;
}

// Replaces a file of `folder` in one step, so that no reader sees a part of it.
Result<> replace_file(int folder, const std::string& name, std::string_view text, mode_t mode) {
  TRY(const RelativePath path, RelativePath::parse(name));
  TRY(const RelativePath fresh, RelativePath::parse(name + ".new"));
  (void)unlink_beneath(folder, fresh, Removing::file);
  TRY(Fd file, open_beneath(folder, fresh, O_WRONLY | O_CREAT | O_EXCL, mode));
  if (::fchmod(file.get(), mode) < 0) return fail_errno(errno, "chmod " + name);  // whatever the umask is
  CHECKED(write_all(file.get(), text));
  return rename_beneath(folder, fresh, path, Existing::replace);
}

// The lock of the state folder (main.cc) tells whether a daemon runs.
Result<> expect_daemon(int state, const std::string& text) {
  if (::flock(state, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK) return {};
  (void)::flock(state, LOCK_UN);  // at once: a daemon may start now
  return fail(Code::unavailable, fmt::format("no warderd runs with the state folder {}", text),
              "start it, or name its state folder with --state or --config");
}

Result<pid_t> peer_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return fail(Code::invalid, "socket " + path + ": no path");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
    return fail_errno(errno, "connect to " + path, Code::unavailable);
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return fail_errno(errno, "SO_PEERCRED");
  return peer.pid;
}

Result<pid_t> daemon_process(const std::string& socket) {
  pid_t pid = 0;
  if (const char* named = std::getenv("MAINPID")) {
    const char* end = named + std::strlen(named);
    if (std::from_chars(named, end, pid).ptr != end) pid = 0;
  } else {
    TRY(pid, peer_of(socket));
  }
  if (pid > 1) return pid;
  return fail(Code::unavailable, "the daemon's process is not known, because systemd made its socket",
              "use systemctl reload warder");
}

// Waits until the next look at the answer. False: the process has ended.
bool still_runs(const Fd& process) {
  pollfd ended{process.get(), POLLIN, 0};
  return ::poll(&ended, 1, static_cast<int>(kCheckInterval.count())) == 0;
}

// nullopt: they are missing, or not as the daemon writes them.
std::optional<FilesInForce> parse_files(const Json& answer) {
  const Json files = answer.value("files", Json());
  if (!files.is_object()) return {};
  const Json main = files.value("main", Json()), state = files.value("state", Json());
  const Json policies = files.value("policies", Json());
  if (!main.is_string() || !state.is_string() || !policies.is_array() || policies.size() > kMaxLines) return {};
  FilesInForce parsed{main.get<std::string>(), state.get<std::string>(), {}};
  for (const auto& folder : policies) {
    if (!folder.is_string()) return {};
    parsed.policies.push_back(folder.get<std::string>());
  }
  return parsed;
}

Result<ReloadAnswer> parse_answer(const Json& answer) {
  ReloadAnswer parsed;
  const Json good = answer.value("good", Json()), lines = answer.value("lines", Json());
  if (!good.is_boolean() || !lines.is_array()) return fail(Code::internal, "the daemon's answer is not valid");
  parsed.good = good.get<bool>();
  for (const auto& line : lines) {
    if (!line.is_string() || parsed.lines.size() >= kMaxLines) continue;
    parsed.lines.push_back(printable(line.get_ref<const std::string&>(), 4096));
  }
  parsed.files = parse_files(answer);
  return parsed;
}

}  // namespace

std::string read_reload_request(const std::string& state) {
  const auto folder = open_state(state);
  if (!folder) return {};
  const auto path = RelativePath::parse(kRequest);
  const auto file = open_regular_beneath(folder->get(), *path, O_RDONLY);
  if (!file) return {};
  auto word = read_complete(file->get(), kMaxWord);
  return word ? *std::move(word) : std::string();
}

Result<> write_reload_answer(const std::string& state, const std::string& word, const ReloadAnswer& answer) {
  TRY(const Fd folder, open_state(state));
  Json text = {{"word", word}, {"good", answer.good}, {"lines", answer.lines}};
  if (answer.files)
    text["files"] = {
        {"main", answer.files->main}, {"state", answer.files->state}, {"policies", answer.files->policies}};
  return replace_file(folder.get(), kAnswer, dump_json(text), 0600);
}

Result<> write_held_sockets(const std::string& state, const HeldSockets& sockets) {
  TRY(const Fd folder, open_state(state));
  const Json text = {{"mcp", sockets.mcp_passed},
                     {"http", sockets.http_passed},
                     {"metrics", sockets.metrics_passed},
                     {"node", sockets.node_passed},
                     {"opened", sockets.opened}};
  return replace_file(folder.get(), kSockets, dump_json(text), 0600);
}

Result<HeldSockets> read_held_sockets(const std::string& state) {
  TRY(const Fd folder, open_state(state));
  TRY(const RelativePath path, RelativePath::parse(kSockets));
  TRY(const Fd file, open_regular_beneath(folder.get(), path, O_RDONLY));
  TRY(const std::string text, read_complete(file.get(), kMaxAnswer));
  TRY(const Json object, parse_json(text));
  const auto is_passed = [&object](const char* name) { return member(object, name) == Json(true); };
  HeldSockets sockets{is_passed("mcp"), is_passed("http"), is_passed("metrics"), is_passed("node"), {}};
  const Json& opened = member(object, "opened");
  for (size_t i = 0; opened.is_array() && i < std::min(opened.size(), kMaxLines); i++)
    if (opened[i].is_string()) sockets.opened.insert(opened[i].get<std::string>());
  return sockets;
}

Result<bool> is_daemon_running(const std::string& state) {
  const Fd folder(::open(state.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder && errno == ENOENT) return false;
  if (!folder) return fail_errno(errno, "open " + state);
  return expect_daemon(folder.get(), state).has_value();
}

Result<ReloadAnswer> ask_for_reload(const std::string& state, const std::string& socket, std::chrono::seconds limit) {
  TRY(const Fd folder, open_state(state, O_RDONLY));  // flock(2) takes no O_PATH
  CHECKED(expect_daemon(folder.get(), state));
  TRY(const pid_t pid, daemon_process(socket));
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return fail_errno(errno, fmt::format("open process {}", pid), Code::unavailable);
  const std::string word = random_hex(16);
  CHECKED(replace_file(folder.get(), kRequest, word, 0644));
  if (::syscall(SYS_pidfd_send_signal, process.get(), SIGHUP, nullptr, 0) < 0)
    return fail_errno(errno, fmt::format("send SIGHUP to process {}", pid));
  TRY(const RelativePath path, RelativePath::parse(kAnswer));
  const auto until = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const bool runs = still_runs(process);  // looked at before the answer, which it may have written last
    if (auto file = open_regular_beneath(folder.get(), path, O_RDONLY)) {
      TRY(const std::string text, read_complete(file->get(), kMaxAnswer));
      const auto answer = parse_json(text);
      if (answer && answer->is_object() && answer->value("word", Json()) == word) return parse_answer(*answer);
    }
    if (!runs)
      return fail(Code::unavailable, "the daemon ended before it had reloaded",
                  "the next daemon reads the files at its start; journalctl -u warder says why this one ended");
    if (std::chrono::steady_clock::now() >= until) break;
  }
  return fail(Code::unavailable,
              fmt::format("the daemon has not answered in {} s; it has the request, and reloads when it goes on",
                          limit.count()),
              "journalctl -u warder says when it does; then reload once more, which also stores the last good copy");
}

}  // namespace configuration

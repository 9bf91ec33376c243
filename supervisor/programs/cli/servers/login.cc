// `warder servers login` and `warder servers logout`. The daemon makes the login's URL and gets the tokens; this
// command shows the URL, and takes the redirect of the browser back.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/trimmed.h"
#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/servers/redirect_listener.h"
#include "supervisor/programs/cli/terminal.h"

extern char** environ;

namespace admin {
namespace {

constexpr std::chrono::minutes kLoginPatience{9};  // the daemon waits for 10
constexpr unsigned kPastePort = 47115;             // of the redirect that no browser reaches
constexpr size_t kMaxLine = 16 << 10;

Result<unsigned> port_of(const ParsedCommand& command, unsigned otherwise) {
  const std::string text = command.value("port", "");
  if (text.empty()) return otherwise;
  const bool is_number = text.size() <= 5 && text.find_first_not_of("0123456789") == text.npos;
  if (!is_number || std::stoul(text) < 1 || std::stoul(text) > 65535)
    return fail(Code::invalid, "--port is not a number from 1 to 65535");
  return static_cast<unsigned>(std::stoul(text));
}

// By xdg-open, if there is a screen. Root's browser would be the wrong one.
void open_browser(const std::string& url) {
  if (::geteuid() == 0 || (!std::getenv("DISPLAY") && !std::getenv("WAYLAND_DISPLAY"))) return;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const int fd : {0, 1, 2}) ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  const std::string program = "xdg-open";
  char* const words[] = {const_cast<char*>(program.c_str()), const_cast<char*>(url.c_str()), nullptr};
  pid_t child = 0;
  if (::posix_spawnp(&child, program.c_str(), &actions, nullptr, words, environ) == 0)
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  ::posix_spawn_file_actions_destroy(&actions);
}

struct StartPoint {
  std::string id, url;
};

Result<StartPoint> begin_login(const BusClient& bus, const ParsedCommand& command, const std::string& redirect) {
  const auto scopes = command.values("scope");
  const auto append = [&](sd_bus_message* to) {
    int r = sd_bus_message_append(to, "sss", command.words[0].c_str(), command.value("tenant", "").c_str(),
                                  redirect.c_str());
    if (r >= 0) r = sd_bus_message_open_container(to, 'a', "s");
    for (const auto& list : scopes) {  // 'a b' is two scopes
      std::string_view rest = list;
      while (r >= 0 && !(rest = trimmed(rest)).empty()) {
        const std::string name(rest.substr(0, rest.find(' ')));
        rest.remove_prefix(name.size());
        r = sd_bus_message_append(to, "s", name.c_str());
      }
    }
    return r < 0 ? r : sd_bus_message_close_container(to);
  };
  TRY(const Json started, bus.call_with(kPath, kManager, "BeginLogin", append));
  if (!started.is_array() || started.size() != 2 || !started[0].is_string() || !started[1].is_string())
    return fail(Code::internal, "the daemon's answer has no URL");
  return StartPoint{started[0].get<std::string>(), started[1].get<std::string>()};
}

Result<std::string> pasted(const std::string& redirect) {
  cli::print_text(stderr, fmt::format("At the end the browser shows that it cannot open {}...\n"
                                      "Paste the whole address of that page here, and press Enter:\n",
                                      redirect));
  std::string line;
  if (!std::getline(std::cin, line) || line.size() > kMaxLine) return fail(Code::invalid, "no address was pasted");
  return std::string(trimmed(line, " \t\r\n"));
}

}  // namespace

Result<int> login_to_server(const ParsedCommand& command) {
  if (command.words.size() != 1) return fail(Code::invalid, "name one server");
  const bool pastes = command.has("paste");
  TRY(const unsigned port, port_of(command, pastes ? kPastePort : 0));
  TRY(const BusClient bus, BusClient::connect(command.bus));
  std::optional<RedirectListener> listener;
  std::string redirect = fmt::format("http://127.0.0.1:{}/callback", port);
  if (!pastes) {
    TRY(listener, RedirectListener::open(static_cast<uint16_t>(port)));
    redirect = listener->redirect();
  }
  TRY(const StartPoint started, begin_login(bus, command, redirect));
  cli::print_text(stderr, "Open this URL in a browser, and log in there:\n");
  cli::print_text(stdout, started.url + "\n");
  std::fflush(stdout);
  std::string redirected;
  if (pastes) {
    TRY(redirected, pasted(redirect));
  } else {
    if (!command.has("no-browser")) open_browser(started.url);
    TRY(redirected, listener->wait(state_in(started.url), kLoginPatience));
  }
  CHECKED(bus.call(kPath, kManager, "FinishLogin",
                   {"ssss", {command.words[0], command.value("tenant", ""), started.id, redirected}}));
  cli::print_text(stderr, fmt::format("logged in to {}\n", command.words[0]));
  return 0;
}
const ProgramOfCommand kLoginToServer{"servers login", login_to_server};

Result<int> log_out_of_server(const ParsedCommand& command) {
  TRY(const BusClient bus, BusClient::connect(command.bus));
  for (const auto& server : command.words) {
    TRY(const Json done, bus.call(kPath, kManager, "LogOut", {"ss", {server, command.value("tenant", "")}}));
    if (!done.is_array() || done.size() != 2 || !done[1].is_string())
      return fail(Code::internal, "the daemon's answer does not say whether the tokens are revoked");
    cli::print_text(stdout,
                    fmt::format("{} {}\n", done[0] == true ? "logged out of" : "nobody was logged in to", server));
    if (const auto why = done[1].get<std::string>(); !why.empty())
      cli::print_text(stderr, fmt::format("the tokens are deleted here, but not revoked: {}\n"
                                          "end the login in your account at the authorization server\n",
                                          why));
  }
  return 0;
}
const ProgramOfCommand kLogOutOfServer{"servers logout", log_out_of_server};

}  // namespace admin

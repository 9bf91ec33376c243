// Checks whether a daemon answers, runs a program in a jail with all its walls, and is on D-Bus.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>

#include "supervisor/base/json/json.h"
#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/admin/daemon_state.h"
#include "supervisor/programs/cli/admin/doctor.h"
#include "supervisor/programs/cli/admin/text.h"
#include "supervisor/programs/cli/run.h"
#include "supervisor/programs/cli/socket.h"

namespace admin {
namespace {

using doctor::Finding;
using doctor::Findings;
using doctor::Health;
using std::chrono::steady_clock;

constexpr auto kProbePatience = std::chrono::seconds(30);
constexpr size_t kMaxAnswer = 1 << 20;

Result<> wait_until_ready(int fd, short events, steady_clock::time_point until) {
  for (;;) {
    const auto remaining = std::chrono::duration_cast<std::chrono::milliseconds>(until - steady_clock::now()).count();
    if (remaining <= 0) return fail(Code::unavailable, fmt::format("no answer within {} s", kProbePatience.count()));
    pollfd polled{fd, events, 0};
    const int ready = ::poll(&polled, 1, static_cast<int>(remaining));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return fail_errno(errno, "poll");
  }
}

// Sends one line and reads one line.
Result<std::string> exchange(int fd, std::string line, steady_clock::time_point until) {
  line += '\n';
  while (!line.empty()) {
    CHECKED(wait_until_ready(fd, POLLOUT, until));
    const ssize_t sent = ::write(fd, line.data(), line.size());
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return fail_errno(errno, "write");
    if (sent > 0) line.erase(0, static_cast<size_t>(sent));
  }
  std::string answer;
  char chunk[16384];
  while (answer.find('\n') == answer.npos) {
    CHECKED(wait_until_ready(fd, POLLIN, until));
    const ssize_t got = ::read(fd, chunk, sizeof chunk);
    if (got == 0) return fail(Code::unavailable, "the daemon closed the connection");
    if (got < 0 && errno != EAGAIN && errno != EINTR) return fail_errno(errno, "read");
    if (got > 0) answer.append(chunk, static_cast<size_t>(got));
    if (answer.size() > kMaxAnswer) return fail(Code::unavailable, "the answer is longer than 1 MiB");
  }
  return answer.substr(0, answer.find('\n'));
}

Finding judge_answer(const std::string& line) {
  const std::string subject = "execution";
  const auto message = parse_json(line);
  if (!message)
    return {subject, Health::bad, "the daemon's answer is not JSON", "install warder and warderd of the same version"};
  const Json& result = member(*message, "result");
  const auto body = parse_json(text(element(member(result, "content"), 0), "text"));
  if (!body || !body->is_object()) {
    const std::string why = text(member(*message, "error"), "message");
    return {subject, Health::bad, why.empty() ? "the daemon's answer is not an answer of execute_code" : why,
            "journalctl -u warder says more"};
  }
  std::vector<std::string> weaker;
  const Json& receipt = member(member(result, "_meta"), "org.warder/receipt");
  if (const Json& list = member(receipt, "weaker"); list.is_array())
    for (const auto& item : list) weaker.push_back(text(item));
  return doctor::judge_execution(text(*body, "outcome"), text(*body, "error"), text(*body, "remedy"), weaker);
}

Finding look_at_execution(int fd) {
  cli::RunOptions program;
  program.code = "pass";
  program.language = "python";
  program.receipt = cli::ReceiptPrint::yes;
  const auto answer = exchange(fd, cli::run_request(program, 1), steady_clock::now() + kProbePatience);
  if (!answer) return {"execution", Health::bad, answer.error().what, "see the daemon's log: journalctl -u warder"};
  return judge_answer(*answer);
}

Health health_of(const std::string& name) {
  for (Health health : {Health::good, Health::bad})
    if (name == doctor::health_name(health)) return health;
  return Health::note;
}

// The findings that only the daemon can make: about its pool, its journal's files, its workspaces, the state disk, its
// event loop and its spans. Empty if the user may not call RunDoctor.
Findings look_at_own_findings(BusClient& client) {
  client.without_authentication();
  const auto report = client.call(kPath, kManager, "RunDoctor");
  Findings all;
  if (!report || !report->is_array()) return all;
  for (const Json& item : *report) {
    const std::string subject = text(element(item, 0));
    if (subject != "configuration" && subject != "pool" && subject != "traces" && subject != "journal" &&
        subject != "workspaces" && subject != "staging" && subject != "state disk" && subject != "loop" &&
        subject != "jail network" && subject != "clock")
      continue;
    all.push_back({subject, health_of(text(element(item, 1))), text(element(item, 2)), text(element(item, 3))});
  }
  return all;
}

Findings look_at_bus(const ParsedCommand& command) {
  const std::string subject = "D-Bus";
  auto client = BusClient::connect(command.bus);
  if (!client)
    return {{subject, Health::note,
             client.error().what + ": warder's commands for administration (ps, approvals) need D-Bus, agents do not",
             client.error().hint}};
  const auto properties = client->properties(kPath, kManager);
  if (!properties) return {{subject, Health::note, properties.error().what, properties.error().hint}};
  Findings all = look_at_own_findings(*client);
  all.push_back(
      doctor::judge_bus(text(*properties, "Version"), text(*properties, "State"), text(*properties, "ReloadProblem")));
  return all;
}

}  // namespace

Findings look_at_daemon(const ParsedCommand& command) {
  const cli::SocketPath path = cli::find_socket(command.socket);
  Findings findings;
  if (auto socket = cli::connect_daemon(path)) {
    findings.push_back({"daemon", Health::good, "listens on " + path.path, {}});
    findings.push_back(look_at_execution(socket->get()));
  } else {
    const bool user = path.source == cli::SocketSource::user;
    const bool installed = path.source != cli::SocketSource::requested || path.path == cli::kSystemSocket;
    const auto why = installed ? why_unreachable(user ? "session" : "system") : std::nullopt;
    findings.push_back(
        {"daemon", Health::bad, why ? why->what : socket.error().what, why ? why->hint : socket.error().hint});
  }
  for (Finding& finding : look_at_bus(command)) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace admin

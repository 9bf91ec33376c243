// `warder top`: shows the daemon and its executions again and again. Keys: q ends, up and down choose an execution, k
// kills the chosen execution, c m w a sort by CPU, memory, wall time and age. Without a terminal it prints the text as
// often as --count says, once by default.
#include <poll.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "supervisor/base/fd.h"
#include "supervisor/cli/admin/bus_client.h"
#include "supervisor/cli/admin/command.h"
#include "supervisor/cli/admin/executions.h"

namespace admin {
namespace {

constexpr size_t kUsualWidth = 80, kUsualHeight = 24;
constexpr size_t kHeadLines = 4;  // above the table's titles

// Switches the terminal to its alternate screen, and to reading single keys. The destructor restores the terminal.
class Screen {
 public:
  Screen() {
    ::tcgetattr(STDIN_FILENO, &before_);
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    std::fputs("\x1b[?1049h\x1b[?25l", stdout);
  }
  Screen(const Screen&) = delete;
  ~Screen() {
    std::fputs("\x1b[?25h\x1b[?1049l", stdout);
    std::fflush(stdout);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

 private:
  termios before_{};
};

std::string property_of(const std::string& column) {
  if (column == "cpu") return "CPUUSec";
  if (column == "memory") return "MemoryBytes";
  if (column == "wall") return "WallUSec";
  return column == "age" ? "AskedUSec" : "";
}

struct View {
  std::string sort = "age";
  std::string chosen;  // the id of the chosen execution
  std::string said;    // the message about the last key
};

std::vector<Json> sorted(std::vector<Json> all, const View& view) {
  std::erase_if(all, [](const Json& execution) { return text(execution, "State") == "ended"; });
  const std::string property = property_of(view.sort);
  std::stable_sort(all.begin(), all.end(), [&](const Json& one, const Json& other) {
    const uint64_t first = known_number(one, property.c_str()).value_or(0);
    const uint64_t second = known_number(other, property.c_str()).value_or(0);
    return view.sort == "age" ? first < second : first > second;
  });
  return all;
}

std::vector<std::string> head(const Json& daemon, const View& view, size_t width) {
  const Json& answers = member(daemon, "AnswerUSec");
  auto count = [&daemon](const char* key) { return std::to_string(number(daemon, key)); };
  std::vector<std::string> lines = {
      "warderd " + text(daemon, "Version") + " " + text(daemon, "State") + "   up " +
          usec_text(usec_since(number(daemon, "StartedUSec"))) + "   " + count("Executions") + " ended, " +
          std::to_string(number(member(daemon, "Outcomes"), "ok")) + " ok",
      count("Running") + " running  " + count("Waiting") + " waiting  " + count("Frozen") + " frozen  " +
          count("WaitingJails") + " jails wait   memory " + bytes_text(number(daemon, "MemoryBytes")) + "   CPU " +
          usec_text(number(daemon, "CPUUsageUSec")),
      "answers p50 " + known_usec_text(known_number(answers, "p50")) + "  p90 " +
          known_usec_text(known_number(answers, "p90")) + "  p99 " + known_usec_text(known_number(answers, "p99")) +
          "   sorted by " + view.sort,
      view.said};
  for (auto& line : lines) line = harmless(line.substr(0, width));
  return lines;
}

int place_of(const std::string& id, const std::vector<Json>& executions) {
  for (size_t i = 0; i < executions.size(); i++)
    if (text(executions[i], "Id") == id) return static_cast<int>(i);
  return -1;
}

// Draws the whole screen. If not all executions fit, it shows the executions around the chosen one.
void show(const Json& daemon, const std::vector<Json>& executions, const View& view) {
  const size_t width = terminal_width() > 0 ? terminal_width() : kUsualWidth;
  const size_t height = terminal_height() > 0 ? terminal_height() : kUsualHeight;
  const size_t room = height > kHeadLines + 1 ? height - kHeadLines - 1 : 1;
  const int chosen = place_of(view.chosen, executions);
  const size_t first = chosen >= static_cast<int>(room) ? static_cast<size_t>(chosen) - room + 1 : 0;
  const size_t last = std::min(executions.size(), first + room);
  auto at = [&executions](size_t i) { return executions.begin() + static_cast<std::ptrdiff_t>(i); };
  auto lines = head(daemon, view, width);
  for (auto& line : executions_table({at(first), at(last)}, width)) lines.push_back(std::move(line));
  if (lines.size() > height) lines.resize(height);
  std::string picture = "\x1b[H";
  for (size_t i = 0; i < lines.size(); i++) {
    const bool marked = i == kHeadLines || (chosen >= 0 && i == kHeadLines + 1 + static_cast<size_t>(chosen) - first);
    picture += (i > 0 ? "\r\n" : "") + std::string(marked ? "\x1b[7m" : "") + lines[i] + "\x1b[0m\x1b[K";
  }
  std::fputs((picture + "\x1b[J").c_str(), stdout);
  std::fflush(stdout);
}

void choose(View& view, const std::vector<Json>& executions, int step) {
  if (executions.empty()) return;
  const int last = static_cast<int>(executions.size()) - 1;
  int at = place_of(view.chosen, executions);
  if (at < 0) at = step > 0 ? -1 : last + 1;
  view.chosen = text(executions[static_cast<size_t>(std::clamp(at + step, 0, last))], "Id");
}

void kill_chosen(View& view, const BusClient& warderd) {
  if (view.chosen.empty()) {
    view.said = "choose an execution with the arrow keys first";
    return;
  }
  const auto killed = warderd.call(kPath, kManager, "KillExecution", {"s", {view.chosen}});
  view.said = killed ? "killed " + view.chosen : killed.error().what;
}

enum class After { goes_on, ends };

After take_keys(std::string_view keys, View& view, const std::vector<Json>& executions, const BusClient& warderd) {
  while (!keys.empty()) {
    const bool arrow = keys.size() >= 3 && keys[0] == '\x1b' && (keys[1] == '[' || keys[1] == 'O');
    const char key = keys[arrow ? 2 : 0];
    keys.remove_prefix(arrow ? 3 : 1);
    if (arrow) {
      if (key == 'A') choose(view, executions, -1);
      if (key == 'B') choose(view, executions, 1);
      continue;
    }
    if (key == 'q') return After::ends;
    if (key == 'c') view.sort = "cpu";
    if (key == 'm') view.sort = "memory";
    if (key == 'w') view.sort = "wall";
    if (key == 'a') view.sort = "age";
    if (key == 'k') kill_chosen(view, warderd);
  }
  return After::goes_on;
}

Result<int> watch(const BusClient& warderd, View view, long count, int delay_ms) {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGWINCH}) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  Fd signals(::signalfd(-1, &set, SFD_CLOEXEC));
  if (!signals) return fail_errno(errno, "signalfd");
  Screen screen;
  for (long shown = 0; count == 0 || shown < count; shown++) {
    TRY(Json daemon, warderd.properties(kPath, kManager));
    TRY(auto all, warderd.executions());
    const auto executions = sorted(std::move(all), view);
    show(daemon, executions, view);
    pollfd polled[2] = {{STDIN_FILENO, POLLIN, 0}, {signals.get(), POLLIN, 0}};
    if (::poll(polled, 2, delay_ms) <= 0) continue;
    if (polled[1].revents) {
      signalfd_siginfo info{};
      if (::read(signals.get(), &info, sizeof info) == sizeof info && info.ssi_signo != SIGWINCH) return 0;
    }
    if (!polled[0].revents) continue;
    char keys[64];
    const ssize_t got = ::read(STDIN_FILENO, keys, sizeof keys);
    if (got <= 0) return 0;
    if (take_keys({keys, static_cast<size_t>(got)}, view, executions, warderd) == After::ends) return 0;
  }
  return 0;
}

Result<int> print_pictures(const BusClient& warderd, const View& view, long count, int delay_ms, const Given& given) {
  for (long shown = 0; (count == 0 || shown < count) && !std::ferror(stdout); shown++) {
    if (shown > 0) ::poll(nullptr, 0, delay_ms);
    TRY(Json daemon, warderd.properties(kPath, kManager));
    TRY(auto all, warderd.executions());
    const auto executions = sorted(std::move(all), view);
    if (given.json) {
      print_json({{"daemon", daemon}, {"executions", executions}});
      continue;
    }
    for (const auto& line : head(daemon, view, kUsualWidth)) std::printf("%s\n", line.c_str());
    for (const auto& line : executions_table(executions, kUsualWidth)) std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }
  return 0;
}

Result<double> number_between(const Given& given, const char* flag, const char* otherwise, double least, double most) {
  const std::string value = given.value(flag, otherwise);
  char* end = nullptr;
  const double asked = std::strtod(value.c_str(), &end);
  if (!value.empty() && *end == '\0' && asked >= least && asked <= most) return asked;
  char range[64];
  std::snprintf(range, sizeof range, "a number between %g and %g", least, most);
  return fail(Code::invalid, std::string("--") + flag + ": '" + value + "' is not " + range);
}

}  // namespace

Result<int> run_top(const Given& given) {
  View view;
  view.sort = given.value("sort", "age");
  if (property_of(view.sort).empty())
    return fail(Code::invalid, "--sort: '" + view.sort + "' is not cpu, memory, wall or age");
  const bool terminal = ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO) && !given.json;
  TRY(double delay, number_between(given, "delay", "1", 0.1, 3600));
  TRY(double count, number_between(given, "count", terminal ? "0" : "1", 0, 1e9));  // 0: without end
  const int delay_ms = static_cast<int>(delay * 1000);
  TRY(BusClient warderd, BusClient::connect(given.bus));
  if (terminal) return watch(warderd, view, static_cast<long>(count), delay_ms);
  return print_pictures(warderd, view, static_cast<long>(count), delay_ms, given);
}

}  // namespace admin

// `warder top`: shows the daemon and its executions again and again. On a terminal its keys act on executions; `h`
// shows them. Into a pipe or with --batch it prints the text as often as --count says, once by default.
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "supervisor/base/fd.h"
#include "supervisor/base/system_time.h"
#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/top/top_draw.h"
#include "supervisor/programs/cli/admin/top/top_screen.h"

namespace admin {
namespace {

using namespace std::chrono_literals;

constexpr size_t kPlainWidth = 80;
constexpr auto kAnswerPatience = 5s;  // a daemon that hangs must not take the keys away for long
constexpr auto kHistoryEvery = 5s;
constexpr uint64_t kHistoryUsec = 600'000'000;
constexpr uint32_t kHistoryStep = 10;  // seconds
constexpr uint32_t kOutputRead = 64 << 10;

// TopSource: the daemon, for reading and for acting. Reading never makes polkit ask for a password.
class TopSource {
 public:
  static Result<TopSource> connect(const std::string& bus) {
    TopSource source;
    TRY(source.reader_, BusClient::connect(bus));
    TRY(source.actor_, BusClient::connect(bus));
    source.reader_.wait_at_most(kAnswerPatience);
    source.reader_.without_authentication();
    return source;
  }

  Result<> fill(TopModel& model) {
    TRY(Json manager, reader_.properties(kPath, kManager));
    TRY(Json objects, reader_.call(kPath, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"));
    model.take(std::move(manager), executions_in(objects), tenants_in(objects), system_now_usec());
    if (read_history_ && std::chrono::steady_clock::now() - *read_history_ < kHistoryEvery) return {};
    read_history_ = std::chrono::steady_clock::now();
    const uint64_t from = system_now_usec() - kHistoryUsec;
    if (auto history = reader_.call(kPath, kManager, "ReadTimeline", {"ttu", {from, uint64_t{0}, kHistoryStep}}))
      model.take_timeline(*history);
    model.take_servers(reader_.call(kPath, kManager, "ListServers").value_or(Json()));
    return {};
  }

  TopExecution open(const std::string& id) const {
    TopExecution execution;
    auto position = reader_.call(kPath, kManager, "GetExecution", {"s", {id}});
    if (position && position->is_string()) {
      if (auto properties = reader_.properties(position->get<std::string>(), kExecution))
        execution.properties = std::move(*properties);
    } else if (!position) {
      execution.problem = position.error().what;
    }
    if (!execution.properties.is_object() || text(execution.properties, "State") == "ended") {
      auto record = reader_.call(kPath, kManager, "GetRecord", {"s", {id}});
      if (record && record->is_object()) execution.record = std::move(*record);
    }
    read_output(id, "stdout", execution.out, execution.out_cut, execution.problem);
    read_output(id, "stderr", execution.err, execution.err_cut, execution.problem);
    return execution;
  }

  // Returns what to say about the action.
  std::string act(const TopDeed& deed) const {
    using Kind = TopDeed::Kind;
    if (deed.kind == Kind::kill) {
      const auto killed = actor_.call(kPath, kManager, "KillExecution", {"s", {deed.id}});
      return killed ? "killed " + deed.id : killed.error().what;
    }
    const bool freezes = deed.kind == Kind::freeze;
    const auto position = actor_.call(kPath, kManager, "GetExecution", {"s", {deed.id}});
    if (!position) return position.error().what;
    const auto done = actor_.call(text(*position), kExecution, freezes ? "Freeze" : "Thaw");
    return done ? (freezes ? "froze " : "thawed ") + deed.id : done.error().what;
  }

 private:
  void read_output(const std::string& id, const char* stream, std::string& into, bool& cut,
                   std::string& problem) const {
    auto read = reader_.call(kPath, kManager, "ReadOutput", {"sstu", {id, stream, uint64_t{0}, kOutputRead}});
    if (!read) {
      problem = std::string(stream) + ": " + read.error().what;
      return;
    }
    into = text(element(*read, 0));
    cut = number(element(*read, 1)) > into.size();
  }

  BusClient reader_, actor_;
  std::optional<std::chrono::steady_clock::time_point> read_history_;
};

struct TopOrder {  // the command line
  TopFilter filter;
  long count = 0;  // refreshes; 0: without end
  int delay_ms = 0;
  bool json = false;
};

// Ends at SIGINT and SIGTERM. SIGWINCH stays with ncurses; poll(2) ends with it.
Result<Fd> take_end_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  Fd signals(::signalfd(-1, &set, SFD_CLOEXEC));
  if (!signals) return fail_errno(errno, "signalfd");
  return signals;
}

// Shows the model until the next refresh, and handles the keys of this time. Returns false to quit.
bool show_until_refresh(TopScreen& screen, TopPage& page, const TopModel& model, const TopSource& source, int delay_ms,
                        int signals) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::milliseconds(delay_ms);
  TopExecution execution;
  std::string opened;
  for (;;) {
    if (page.shows == TopPage::Shows::execution && opened != page.chosen) {
      opened = page.chosen;
      execution = source.open(opened);
    }
    screen.show(draw_top(model, page, execution, screen.size()));
    const auto remaining = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (remaining <= 0) return true;
    pollfd polled[2] = {{STDIN_FILENO, POLLIN, 0}, {signals, POLLIN, 0}};
    const int ready = ::poll(polled, 2, static_cast<int>(remaining));
    if (ready > 0 && polled[1].revents) return false;
    if (ready > 0 && (polled[0].revents & (POLLHUP | POLLERR | POLLNVAL))) return false;
    while (const auto key = screen.take_key()) {
      if (*key == 0) continue;
      const TopDeed deed = page.take_key(*key, model.rows(page.filter));
      if (deed.kind == TopDeed::Kind::quit) return false;
      if (deed.kind == TopDeed::Kind::nothing) continue;
      page.reply = source.act(deed);
      return true;  // the list is old now
    }
  }
}

Result<int> watch_screen(TopSource source, const TopOrder& order) {
  TopModel model;
  CHECKED(source.fill(model));
  TRY(Fd signals, take_end_signals());
  TRY(TopScreen screen, TopScreen::open());
  TopPage page;
  page.filter = order.filter;
  for (long shown_count = 0; order.count == 0 || shown_count < order.count; shown_count++) {
    if (shown_count > 0) {
      const auto filled = source.fill(model);
      page.problem = filled ? "" : filled.error().what;
    }
    if (!show_until_refresh(screen, page, model, source, order.delay_ms, signals.get())) break;
  }
  return 0;
}

Result<int> print_plain(TopSource source, const TopOrder& order) {
  TopModel model;
  TopPage page;
  page.filter = order.filter;
  for (long shown_count = 0; (order.count == 0 || shown_count < order.count) && !std::ferror(stdout); shown_count++) {
    if (shown_count > 0) ::poll(nullptr, 0, order.delay_ms);
    CHECKED(source.fill(model));
    if (order.json) {
      Json living = Json::array();
      const auto rows = model.rows(page.filter);
      for (const TopRow& row : rows)
        for (const Json& execution : model.executions())
          if (text(execution, "Id") == row.id) living.push_back(execution);
      print_json({{"daemon", model.manager()}, {"executions", living}});
      continue;
    }
    for (const auto& line : draw_plain_top(model, page, kPlainWidth)) std::printf("%s\n", line.text().c_str());
    std::fflush(stdout);
  }
  return 0;
}

Result<double> number_between(const ParsedCommand& command, const char* flag, const char* otherwise, double least,
                              double max) {
  const std::string value = command.value(flag, otherwise);
  char* end = nullptr;
  const double requested = std::strtod(value.c_str(), &end);
  if (!value.empty() && *end == '\0' && requested >= least && requested <= max) return requested;
  char range[64];
  std::snprintf(range, sizeof range, "a number between %g and %g", least, max);
  return fail(Code::invalid, std::string("--") + flag + ": '" + value + "' is not " + range);
}

}  // namespace

Result<int> run_top(const ParsedCommand& command) {
  TopOrder order;
  const std::string sort = command.value("sort", "age");
  if (const auto parsed = parse_top_sort(sort)) {
    order.filter.sort = *parsed;
  } else {
    return fail(Code::invalid, "--sort: '" + sort + "' is not cpu, memory, wall or age");
  }
  order.filter.tenant = command.value("tenant", "");
  order.json = command.json;
  const bool terminal = ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO) && !command.json && !command.has("batch");
  TRY(double delay, number_between(command, "delay", "1", 0.1, 3600));
  TRY(double count, number_between(command, "count", terminal ? "0" : "1", 0, 1e9));
  order.delay_ms = static_cast<int>(delay * 1000);
  order.count = static_cast<long>(count);
  TRY(TopSource source, TopSource::connect(command.bus));
  return terminal ? watch_screen(std::move(source), order) : print_plain(std::move(source), order);
}
const ProgramOfCommand kRunTop{"top", run_top};

}  // namespace admin

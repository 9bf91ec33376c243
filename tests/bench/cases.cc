#include "tests/bench/cases.h"

#include <sys/socket.h>
#include <unistd.h>

#include "jail/init_report.h"
#include "jail/plan.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace bench {
namespace {

constexpr char kBarePython[] = "bare: python3 -c pass";
constexpr char kBareNode[] = "bare: node -e 0";
constexpr char kBareShell[] = "bare: sh -c :";
constexpr char kEcho[] = "floor: echo over a Unix socket";
constexpr char kNoOutput[] = "end of code to reply, no output";

double us_between(Monotonic::time_point from, Monotonic::time_point to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}

// Python's time.monotonic_ns() in a jail is our clock: jails have no time namespace.
Monotonic::time_point from_monotonic_ns(int64_t ns) { return Monotonic::time_point(std::chrono::nanoseconds(ns)); }

// As near to a jail of ours as its options come: all namespaces, /usr read-only, private /tmp, no network.
std::vector<std::string> in_bubblewrap(const std::vector<std::string>& words) {
  std::vector<std::string> all = {"/usr/bin/bwrap",
                                  "--unshare-all",
                                  "--die-with-parent",
                                  "--ro-bind",
                                  "/usr",
                                  "/usr",
                                  "--symlink",
                                  "usr/bin",
                                  "/bin",
                                  "--symlink",
                                  "usr/lib",
                                  "/lib",
                                  "--symlink",
                                  "usr/lib64",
                                  "/lib64",
                                  "--tmpfs",
                                  "/tmp",
                                  "--proc",
                                  "/proc",
                                  "--dev",
                                  "/dev",
                                  "--chdir",
                                  "/"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

// What two processes and a socket cost on this machine before anybody reads or thinks: our end of a process that sends
// back what it gets. It ends with that end.
Result<Fd> start_echo() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno(errno, "socketpair");
  Fd ours(ends[0]), theirs(ends[1]);
  pid_t pid = ::fork();
  if (pid < 0) return fail_errno(errno, "fork");
  if (pid > 0) return ours;
  ours.reset();
  char part[4096];
  for (;;) {
    ssize_t n = ::read(theirs.get(), part, sizeof part);
    if (n <= 0 || ::write(theirs.get(), part, static_cast<size_t>(n)) != n) ::_exit(0);
  }
}

}  // namespace

void Cases::add(std::string name, std::string baseline, int per_round, Run run) {
  list_.push_back(Case{std::move(name), std::move(baseline), per_round, std::move(run), {}, {}, true});
}

void Cases::add_program(std::string name, std::string baseline, int per_round, std::vector<std::string> words) {
  std::string program = words[0];
  Command command;
  command.words = std::move(words);
  add(std::move(name), std::move(baseline), per_round, [command]() -> Result<Sample> {
    auto started = Monotonic::now();
    TRY(Process process, Process::start(command));
    TRY(Process::End end, process.wait());
    Sample sample{us_between(started, Monotonic::now()), end.cpu_us};
    if (end.status != 0)
      return fail(Code::internal, command.words[0] + " ended with status " + std::to_string(end.status));
    return sample;
  });
  if (::access(program.c_str(), X_OK) != 0) list_.back().absent = program + " is not installed";
}

// The answer's object of one execution that must have gone well, and what it took.
Result<Json> Cases::execute(const std::string& request, Client::Exchange& exchange, Sample& sample) {
  double before = daemon_.cpu_us();
  TRY(exchange, client_->exchange(request));
  double after = daemon_.cpu_us();
  TRY(Json result, result_of(exchange.answer));
  TRY(Json answer, parse_json(result["content"][0]["text"].get<std::string>()));
  if (!answer.value("success", false)) return fail(Code::internal, "an execution failed: " + dump_json(answer));
  if (before > 0) sample.cpu_us = after - before + answer["usage"]["cpu_ms"].get<double>() * 1000;
  sample.us = exchange.us();
  answer["receipt"] = std::move(result["_meta"]["org.warder/receipt"]);
  return answer;
}

void Cases::add_execution(std::string name, std::string baseline, int per_round, const std::string& language,
                          const std::string& code) {
  Json arguments{{"language", language}, {"code", code}};
  std::string request = make_call("execute_code", std::move(arguments));
  add(std::move(name), std::move(baseline), per_round, [this, request]() -> Result<Sample> {
    Client::Exchange exchange;
    Sample sample;
    TRY(Json answer, execute(request, exchange, sample));
    return sample;
  });
}

void Cases::add_request(std::string name, int per_round, std::string line) {
  add(std::move(name), kEcho, per_round, [this, line]() -> Result<Sample> {
    TRY(Client::Exchange exchange, client_->exchange(line));
    if (exchange.answer.find("\"result\"") == std::string_view::npos ||
        exchange.answer.find("\"isError\":true") != std::string_view::npos)
      return fail(Code::internal, "the daemon answered " + std::string(exchange.answer.substr(0, 500)));
    return Sample{exchange.us(), {}};
  });
}

Part& Cases::part(const std::string& name, int depth) {
  for (Part& p : breakdown_) {
    if (p.name == name) return p;
  }
  breakdown_.push_back(Part{name, depth, {}});
  breakdown_.back().series.begin_round();
  return breakdown_.back();
}

Result<Sample> Cases::break_down(const std::string& request) {
  Client::Exchange exchange;
  Sample sample;
  TRY(Json answer, execute(request, exchange, sample));
  auto take = [this](const std::string& name, int depth, double us) { part(name, depth).series.add({us, {}}); };
  const Json& receipt = answer["receipt"];
  auto code_begun = from_monotonic_ns(answer["result"][0].get<int64_t>());
  double to_code = us_between(exchange.sent, code_begun);
  double build = receipt["build_ms"].get<double>() * 1000;
  double steps = 0;
  for (const auto& [name, us] : receipt["steps_us"].items()) steps += us.get<double>();
  take("request to reply", 0, sample.us);
  take("request to the code's first line", 1, to_code);
  take("the jail, to init's report", 2, build);
  take("plan, clone, id maps, exec of init", 3, build - steps);
  for (int i = 1; i < jail::kSteps; i++) {  // in the order in which they happen
    std::string name = jail::step_name(static_cast<jail::Step>(i));
    if (receipt["steps_us"].contains(name)) take("init: " + name, 3, receipt["steps_us"][name].get<double>());
  }
  take("from there to the code's first line", 2, to_code - build);
  take("CPU of the runner until then", 3, answer["result"][1].get<double>() / 1000);
  take("the code's first line to the reply", 1, us_between(code_begun, exchange.received));
  return sample;
}

Result<> Cases::prepare() {
  TRY(Fd echo_end, start_echo());  // first: it must not inherit the connections
  auto echo = std::make_shared<Fd>(std::move(echo_end));
  TRY(client_, Client::connect(daemon_.socket()));
  TRY(handshake_, Client::connect(daemon_.socket()));
  Json hello{{"jsonrpc", "2.0"}, {"id", 1}, {"method", "initialize"}};
  hello["params"] = {{"protocolVersion", "2025-11-25"},
                     {"capabilities", Json::object()},
                     {"clientInfo", {{"name", "warder-bench"}, {"version", "1"}}}};
  TRY(Client::Exchange hello_answer, handshake_->exchange(dump_json(hello) + "\n"));
  CHECKED(result_of(hello_answer.answer));

  add_program(kBarePython, {}, 4, {"/usr/bin/python3", "-c", "pass"});
  add_execution("jailed Python, cold: pass", kBarePython, 4, "python", "pass");
  add_program("bubblewrap: python3 -c pass", kBarePython, 4, in_bubblewrap({"/usr/bin/python3", "-c", "pass"}));
  list_.back().cpu_is_whole = false;  // it does not wait for what it starts in its pid namespace
  add_program(kBareShell, {}, 4, {"/bin/sh", "-c", ":"});
  add_execution("jailed shell, cold: true", kBareShell, 4, "shell", "true");
  add_program(kBareNode, {}, 1, {"/usr/bin/node", "-e", "0"});
  add_execution("jailed JavaScript, cold: 0", kBareNode, 1, "javascript", "0");
  if (!list_[list_.size() - 2].absent.empty()) list_.back().absent = list_[list_.size() - 2].absent;

  // The code tells when it began: the same clock as ours.
  std::string stamped =
      make_call("execute_code", {{"code", "import time\nresult = [time.monotonic_ns(), time.process_time_ns()]"}});
  add("jailed Python, cold: broken down", kBarePython, 2, [this, stamped] { return break_down(stamped); });
  auto from_stamp = [this](std::string name, std::string baseline, const std::string& code) {
    std::string request = make_call("execute_code", {{"code", code}});
    add(std::move(name), std::move(baseline), 3, [this, request]() -> Result<Sample> {
      Client::Exchange exchange;
      Sample sample;
      TRY(Json answer, execute(request, exchange, sample));
      return Sample{us_between(from_monotonic_ns(answer["result"].get<int64_t>()), exchange.received), {}};
    });
  };
  from_stamp(kNoOutput, {}, "import time\nresult = time.monotonic_ns()");
  from_stamp("write of 1 MiB to reply", kNoOutput,
             "import sys, time\ntext = 'x' * 1048576\nresult = "
             "time.monotonic_ns()\nsys.stdout.write(text)\nsys.stdout.flush()");

  add(kEcho, {}, 100, [echo]() -> Result<Sample> {
    char part[64] = "as long as a short request";
    auto started = Monotonic::now();
    if (::write(echo->get(), part, sizeof part) != sizeof part || ::read(echo->get(), part, sizeof part) != sizeof part)
      return fail(Code::internal, "the echo process is gone");
    return Sample{us_between(started, Monotonic::now()), {}};
  });
  add("ping", kEcho, 100, [this]() -> Result<Sample> {
    TRY(Client::Exchange exchange, handshake_->exchange("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n"));
    return Sample{exchange.us(), {}};
  });
  add_request("server/discover", 50, make_request("server/discover", Json::object()));
  add_request("tools/call list_workspace_files, empty", 50, make_call("list_workspace_files", Json::object()));

  for (Case& c : list_) {  // once unmeasured: the first finds cold caches
    if (!c.absent.empty()) continue;
    auto warm = c.run();
    if (!warm) return tl::unexpected<Error>(std::move(warm).error().within(c.name));
  }
  breakdown_.clear();
  return {};
}

void Cases::begin_round() {
  for (Case& c : list_) c.series.begin_round();
}

}  // namespace bench

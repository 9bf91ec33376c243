// Each outcome, by a real program in a real jail.
#include "tests/catch.h"
#include "tests/jail/shared_jails.h"

using namespace std::chrono_literals;
using jail::Language;
using jail::Outcome;

namespace {

jail::Report run(const char* code, const std::function<void(policies::Limits&)>& change = {}) {
  auto request = jails().request(Language::python, code);
  if (change) change(request.spec.limits);
  auto report = jails().run(std::move(request));
  REQUIRE(report);
  return *std::move(report);
}

std::string outcome_of(const jail::Report& report) {
  return std::string(jail::outcome_name(report.outcome)) + " " + report.message + report.traceback;
}

}  // namespace

TEST_CASE("a program that ends well is ok, with value, output and usage", "[real]") {
  auto report = run("import sys\nprint('out')\nprint('err', file=sys.stderr)\nresult = {'n': [1, 2.5, None, 'é']}");
  CHECK(outcome_of(report) == "ok ");
  REQUIRE(report.value);
  CHECK(report.value->dump() == R"({"n":[1,2.5,null,"é"]})");
  CHECK(report.out.text == "out\n");
  CHECK(report.err.text == "err\n");
  CHECK(report.exit_status == 0);
  CHECK(report.usage.wall_ms > 0);
  CHECK(report.usage.cpu_ms > 0);
  CHECK(report.usage.memory_peak_bytes > 1 << 20);
}

TEST_CASE("an uncaught exception is an error with the agent's own lines", "[real]") {
  auto report = run("def f(x):\n  return 1 / x\nf(0)");
  CHECK(report.outcome == Outcome::error);
  CHECK(report.error == "ZeroDivisionError: division by zero");
  CHECK_THAT(report.traceback, Catch::Matchers::Contains("return 1 / x"));
  CHECK_THAT(report.traceback, !Catch::Matchers::Contains("/warder/"));
}

TEST_CASE("an exit status is an exit", "[real]") {
  auto report = run("import sys; sys.exit(3)");
  CHECK(report.outcome == Outcome::exit);
  CHECK(report.exit_status == 3);
  CHECK(run("import os; os._exit(4)").exit_status == 4);
  CHECK(run("import sys; sys.exit(0)").outcome == Outcome::ok);
}

TEST_CASE("a signal is a signal, an answer given before does not hide it", "[real]") {
  auto report = run("import os; os.kill(os.getpid(), 11)");
  CHECK(report.outcome == Outcome::signal);
  CHECK_THAT(report.message, Catch::Matchers::Contains("signal 11"));
  auto killed = run("import os\nos.write(3, b'F{\"type\":\"result\",\"value\":1}')\nos.kill(os.getpid(), 9)");
  CHECK(killed.outcome == Outcome::signal);
}

TEST_CASE("the deadline ends a program, whatever it does about signals", "[real]") {
  auto limit = [](policies::Limits& limits) { limits.wall = 300ms; };
  auto code = GENERATE("while True: pass", "import time; time.sleep(60)",
                       "import signal, time\nfor s in range(1, 65):\n  try: signal.signal(s, signal.SIG_IGN)\n"
                       "  except (OSError, ValueError): pass\nprint('deaf')\nwhile True: time.sleep(1)",
                       "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)");
  CAPTURE(code);
  auto report = run(code, limit);
  CHECK(report.outcome == Outcome::timeout);
  CHECK_THAT(report.message, Catch::Matchers::Contains("0.3 seconds"));
  CHECK(report.usage.wall_ms >= 300);
  CHECK(report.usage.wall_ms < 30'000);  // a hundred times the limit, and half of what a program sleeps
}

TEST_CASE("CPU time is limited apart from the wall clock", "[real]") {
  auto report = run("while True: pass", [](policies::Limits& limits) {
    limits.cpu = 1s;
    limits.wall = 120s;  // a second of CPU may take long on a busy machine
  });
  CHECK(report.outcome == Outcome::cpu_time);
  CHECK_THAT(report.message, Catch::Matchers::Contains("1 seconds of CPU time"));
}

TEST_CASE("memory beyond the limit is outcome memory, and the limit is named", "[real]") {
  auto report = run("x = bytearray(1 << 30)");
  CHECK(report.outcome == Outcome::memory);
  CHECK_THAT(report.message, Catch::Matchers::Contains("300 MB"));
}

TEST_CASE("memory of many processes together is watched", "[real]") {
  auto report = run(R"(
import os, time
for i in range(8):
    if os.fork() == 0:
        x = bytearray(100 << 20)
        for at in range(0, len(x), 4096): x[at] = 1
        time.sleep(30)
time.sleep(30)
)");
  CHECK(report.outcome == Outcome::memory);
}

TEST_CASE("processes beyond the limit are outcome pids", "[real]") {
  auto report = run("import os, time\nwhile True:\n  if os.fork() == 0: time.sleep(60)");
  CHECK(report.outcome == Outcome::pids);
  CHECK_THAT(report.message, Catch::Matchers::Contains("32"));
}

TEST_CASE("output beyond what the policy allows ends the program", "[real]") {
  auto stream = GENERATE("stdout", "stderr");
  auto request =
      jails().request(Language::python, std::string("import sys\nwhile True: sys.") + stream + ".write('y' * 100000)");
  size_t saved_count = 0;
  auto keep = [&saved_count](std::string_view part) {
    saved_count += part.size();
    return true;
  };
  request.keep_out = request.keep_err = keep;
  auto report = jails().run(std::move(request));
  REQUIRE(report);
  CHECK(report->outcome == Outcome::output);
  const auto& reported = stream == std::string("stdout") ? report->out : report->err;
  CHECK(reported.truncated);
  CHECK(reported.text.size() < 21'000);
  CHECK(saved_count == 4 << 20);
}

TEST_CASE("a full disk and a file over its limit are outcome disk", "[real]") {
  auto report = run("open('/tmp/full', 'wb').write(b'x' * (20 << 20))");
  CHECK(report.outcome == Outcome::disk);
  auto file = run("f = open('/workspace/large', 'wb', buffering=0)\nwhile True: f.write(b'x' * (1 << 20))",
                  [](policies::Limits& limits) { limits.file_bytes = 2 << 20; });
  CHECK(file.outcome == Outcome::disk);
}

TEST_CASE("the quota watch ends a program", "[real]") {
  auto request = jails().request(Language::python, "import time; time.sleep(60)");
  int requested = 0;
  request.over_quota = [&requested] { return ++requested == 3; };
  auto report = jails().run(std::move(request));
  REQUIRE(report);
  CHECK(report->outcome == Outcome::disk);
}

TEST_CASE("a system call of the kill list is outcome forbidden_call", "[real]") {
  auto report = run("import ctypes; ctypes.CDLL(None).mount(0, 0, 0, 0, 0)");
  CHECK(report.outcome == Outcome::forbidden_call);
}

TEST_CASE("a result over its limit is told as such, not truncated in silence", "[real]") {
  auto report = run("result = 'x' * (3 << 20)");
  CHECK(report.outcome != Outcome::internal);
  CHECK(report.outcome != Outcome::protocol);
  INFO(outcome_of(report) << report.error << report.value_type);
  bool full = report.value && report.value->is_string() && report.value->get<std::string>().size() == 3 << 20;
  CHECK_FALSE(full);
  CHECK((!report.error.empty() || !report.value_type.empty() || !report.err.text.empty()));
}

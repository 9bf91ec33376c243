// Nothing outlives an answer, and nothing delays one.
#include "tests/catch.h"
#include "tests/jail/shared_jails.h"

using namespace std::chrono_literals;
using jail::Language;
using jail::Outcome;

namespace {

// Runs it and looks: every process of the jail's ids is gone, or killed.
jail::Report run_and_look(const char* code, std::chrono::milliseconds wall = 20s) {
  auto request = jails().request(Language::python, code);
  request.spec.limits.wall = wall;
  auto report = jails().run(std::move(request));
  REQUIRE(report);
  auto processes = processes_of_runners(jails());
  if (processes) CHECK(*processes == 0);
  return *std::move(report);
}

}  // namespace

TEST_CASE("a grandchild that holds stdout open does not delay the answer", "[real]") {
  auto report = run_and_look("import subprocess; subprocess.Popen(['sleep', '600']); print('started')", 200s);
  CHECK(report.outcome == Outcome::ok);
  CHECK(report.out.text == "started\n");
  CHECK(report.usage.wall_ms < 100'000);  // it neither waited for the grandchild, nor for the limit
  CHECK(report.left_running == 1u);
}

TEST_CASE("the processes that a program leaves are counted, and none is said where none is left", "[real]") {
  CHECK(run_and_look("import subprocess\nfor _ in range(3): subprocess.Popen(['sleep', '60'])").left_running == 3u);
  CHECK_FALSE(run_and_look("import subprocess; subprocess.run(['sleep', '0'])").left_running);
  auto request = jails().request(Language::shell, "sleep 60 & sleep 60 & sleep 0");
  auto report = jails().run(std::move(request));
  REQUIRE(report);
  CHECK(report->left_running == 2u);
}

TEST_CASE("a daemon with a session and parents of its own is gone when the answer comes", "[real]") {
  auto report = run_and_look(R"(
import os, signal, time
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(s, signal.SIG_IGN)
        os.chdir('/')
        os.write(write, b'x')
        time.sleep(600)
    os._exit(0)
os.wait()
os.read(read, 1)
result = 'daemon runs'
)");
  CHECK(report.outcome == Outcome::ok);
  REQUIRE(report.value);
  CHECK(*report.value == "daemon runs");
}

TEST_CASE("dozens of processes end with the deadline, stopped ones too", "[real]") {
  auto request = jails().request(Language::python, R"(
import os, signal, time
for i in range(64):
    if os.fork() == 0:
        if i % 3 == 0: os.kill(os.getpid(), signal.SIGSTOP)
        if i % 3 == 1: os.setsid()
        time.sleep(600)
print('64')
time.sleep(600)
)");
  request.spec.limits.tasks = 70;
  request.spec.limits.wall = 4s;
  request.spec.limits.memory_bytes = 2ull << 30;
  auto report = jails().run(std::move(request));
  REQUIRE(report);
  CHECK(report->outcome == Outcome::timeout);
  CHECK(report->out.text == "64\n");
  CHECK(report->usage.processes_peak >= 64);
  auto processes = processes_of_runners(jails());
  if (processes) CHECK(*processes == 0);
}

TEST_CASE("a program that stops itself, and wakes nobody, meets the deadline", "[real]") {
  auto report = run_and_look(
      "import os, signal\nif os.fork() == 0: os.kill(os.getppid(), signal.SIGSTOP)\n"
      "import time; time.sleep(600)",
      500ms);
  CHECK(report.outcome == Outcome::timeout);
}

TEST_CASE("twenty executions at once all answer their own", "[real]") {
  auto before = census_at_rest(jails());
  {
    SideBySide many(jails());
    for (int i = 0; i < 20; i++) {
      auto request = jails().request(i % 4 == 0 ? Language::shell : Language::python,
                                     i % 4 == 0 ? "echo " + std::to_string(i) : "print(" + std::to_string(i) + ")");
      many.start(std::move(request));
    }
    for (size_t i = 0; i < 20; i++) {
      auto& report = many.answer(i);
      CHECK(report.outcome == Outcome::ok);
      CHECK(report.out.text == std::to_string(i) + "\n");
    }
  }
  CHECK(settle(jails(), before) == before);
}

TEST_CASE("descriptors, processes and mounts are the same after a hundred executions", "[real]") {
  jails().run(Language::shell, "true");
  auto before = census_at_rest(jails());
  for (int i = 0; i < 100; i++) {
    auto report = jails().run(Language::shell, i % 2 ? "echo x; exit 1" : "sleep 60 & echo y");
    REQUIRE(report.outcome == (i % 2 ? Outcome::exit : Outcome::ok));
  }
  auto after = settle(jails(), before);
  CHECK(after == before);
}

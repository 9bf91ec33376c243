// The guest's socket in hostile hands: descriptor 3, written to from Python.
#include "tests/catch.h"
#include "tests/jail/shared_jails.h"

using jail::Language;
using jail::Outcome;

namespace {

// `abuse` finds send(bytes); afterwards the program waits to be ended.
jail::Report abuse(const std::string& lines) {
  std::string code =
      "import os, socket, struct, array, time\n"
      "def send(data):\n  os.write(3, data)\n" +
      lines + "\ntime.sleep(60)\n";
  auto request = jails().request(Language::python, code);
  request.spec.limits.wall = std::chrono::seconds(15);
  auto report = jails().run(std::move(request));
  REQUIRE(report);
  return *std::move(report);
}

}  // namespace

TEST_CASE("what breaks the guest protocol ends the execution, and says how", "[real]") {
  auto [lines, what] = GENERATE(table<std::string, std::string>({
      {"send(b'garbage')", "no part mark"},
      {"send(b'F{\"type\":')", "JSON"},
      {"send(b'F[]')", "not an object"},
      {"send(b'F{\"type\":\"unheard\"}')", "unexpected message"},
      {"send(b'F{}')", "unexpected message"},
      {"send(b'F{\"type\":7}')", "unexpected message"},
      {"send(b'F{\"type\":\"ready\"}')", "unexpected message"},
      {"send(b'F{\"type\":\"result\"}')\nsend(b'F{\"type\":\"result\"}')", "unexpected message"},
      {"send(b'F{\"type\":\"call\"}')", "without an id or a name"},
      {"send(b'F{\"type\":\"call\",\"id\":\"x\",\"name\":\"y\"}')", "without an id or a name"},
      {"send(b'F{\"type\":\"call\",\"id\":{},\"name\":[]}')", "without an id or a name"},
      {"send(b'M')", "empty part"},
      {"send(b'F' + b' ' * 65536)", "64 KiB"},
      {"while True: send(b'M' + b' ' * 60000)", "over 1114112 bytes"},
      {"send(b'F' + b'{\"a\":' * 5000 + b'1' + b'}' * 5000)", "deep"},
      {"send(b'F{\"type\":\"result\",\"images\":[{\"mime\":\"text/html\",\"data\":\"AA==\"}]}')", "image"},
      {"send(b'F{\"type\":\"result\",\"images\":[{\"mime\":\"image/png\",\"data\":\"<script>\"}]}')", "image"},
      {"s = socket.socket(fileno=3)\ns.sendmsg([b'F{}'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', "
       "[0]))])",
       "descriptors"},
  }));
  CAPTURE(lines);
  auto report = abuse(lines);
  CHECK(jail::outcome_name(report.outcome) == "protocol");
  CHECK_THAT(report.message, Catch::Matchers::Contains(what));
}

TEST_CASE("calls of unknown names are answered, and too many unanswered ones end the execution", "[real]") {
  auto report = jails().run(
      Language::python, "import warder\ntry: warder.call('unheard')\nexcept warder.CallError as e: result = e.code");
  REQUIRE(report.value);
  CHECK(*report.value == "not_found");

  auto request = jails().request(Language::python, R"(
import os, time
for i in range(300): os.write(3, b'F{"type":"call","id":%d,"name":"slow"}' % i)
time.sleep(60)
)");
  request.call = [](std::string, Json) -> Task<Result<jail::CallReply>> {
    co_await sleep_for(jails().loop(), std::chrono::seconds(60));
    co_return Json();
  };
  auto flooded = jails().run(std::move(request));
  REQUIRE(flooded);
  CHECK(flooded->outcome == Outcome::protocol);
  CHECK_THAT(flooded->message, Catch::Matchers::Contains("too many calls"));
}

TEST_CASE("a guest that asks and never reads the answers is ended, however long they are", "[real]") {
  const size_t length = GENERATE(size_t{1}, size_t{100'000});
  CAPTURE(length);
  auto request = jails().request(Language::python, R"(
import os
i = 0
while True:
    i += 1
    os.write(3, b'F{"type":"call","id":%d,"name":"n"}' % i)
)");
  request.call = [length](std::string, Json) -> Task<Result<jail::CallReply>> {
    co_return Json(std::string(length, 'x'));
  };
  auto report = jails().run(std::move(request));
  REQUIRE(report);
  CHECK(report->outcome == Outcome::protocol);
  CHECK_THAT(report->message, Catch::Matchers::Contains("too many calls"));
}

TEST_CASE("a guest that closes its socket answers nothing, and is no error of ours", "[real]") {
  auto report = jails().run(Language::python, "import os\nos.close(3)\nos._exit(0)");
  CHECK(report.outcome == Outcome::ok);
  CHECK_FALSE(report.value);
}

TEST_CASE("an empty packet is no message, and no end of the guest", "[real]") {
  auto report = jails().run(Language::python, "import os, time\nos.write(3, b'')\ntime.sleep(600)");
  CHECK(report.outcome == Outcome::protocol);
}

// What an interpreter finds in its jail.
#include "tests/catch.h"
#include "tests/jail/shared_jails.h"

using jail::Language;
using jail::Outcome;

TEST_CASE("JavaScript runs: value, output, error, exit", "[real]") {
  auto ok = jails().run(Language::javascript, "console.log('out'); return {n: [1, 2]}");
  INFO(ok.message << ok.error << ok.err.text);
  CHECK(ok.outcome == Outcome::ok);
  REQUIRE(ok.value);
  CHECK(ok.value->dump() == R"({"n":[1,2]})");
  CHECK(ok.out.text == "out\n");
  auto error = jails().run(Language::javascript, "throw new Error('boom')");
  CHECK(error.outcome == Outcome::error);
  CHECK_THAT(error.error, Catch::Matchers::Contains("boom"));
  CHECK(jails().run(Language::javascript, "process.exit(3)").exit_status == 3);
}

TEST_CASE("the shell runs: output, pipes, exit, signal", "[real]") {
  auto ok = jails().run(Language::shell, "echo out; echo err >&2; seq 3 | wc -l");
  CHECK(ok.outcome == Outcome::ok);
  CHECK(ok.out.text == "out\n3\n");
  CHECK(ok.err.text == "err\n");
  CHECK(jails().run(Language::shell, "exit 7").exit_status == 7);
  CHECK(jails().run(Language::shell, "kill -SEGV $$").outcome == Outcome::signal);
}

TEST_CASE("the names of the standard streams can be written to, though nothing else below /proc can", "[real]") {
  auto report = jails().run(Language::shell,
                            "echo out > /dev/stdout; echo err > /dev/stderr; echo fd > /dev/fd/1; : > /dev/null\n"
                            "echo x > /workspace/file; exec 5<> /workspace/file; echo again > /proc/self/fd/5\n"
                            "cat /workspace/file; (echo name > /proc/self/comm) 2> /dev/null || echo refused");
  CHECK(report.err.text == "err\n");
  CHECK(report.out.text == (jails().host().landlock_abi > 0 ? "out\nfd\nagain\nrefused\n" : "out\nfd\nagain\n"));
}

TEST_CASE("context variables reach every language", "[real]") {
  auto [language, code] = GENERATE(table<Language, std::string>({
      {Language::python, "print(who, count + 1)"},
      {Language::javascript, "console.log(who, count + 1)"},
      {Language::shell, "echo \"$who\" $((count + 1))"},
  }));
  auto request = jails().request(language, code);
  request.context_vars = R"j({"who":"a 'quoted' \"name\"; $(x)","count":41})j";
  auto report = jails().run(std::move(request));
  REQUIRE(report);
  INFO(report->error << report->err.text);
  CHECK(report->out.text == "a 'quoted' \"name\"; $(x) 42\n");
}

TEST_CASE("images come back with their type", "[real]") {
  auto report = jails().run(Language::python, R"(
import zlib, struct
def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
png = (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 1, 1, 8, 2, 0, 0, 0)) +
       chunk(b'IDAT', zlib.compress(b'\0\xff\0\0')) + chunk(b'IEND', b''))
result = png
)");
  INFO(report.error << report.err.text);
  REQUIRE(report.images.size() == 1);
  CHECK(report.images[0].mime == "image/png");
  CHECK(report.images[0].base64.starts_with("iVBORw0KGgo"));
}

TEST_CASE("the workspace is shared by executions, everything else is private to one", "[real]") {
  auto write = jails().run(Language::python, R"(
open('/workspace/kept', 'w').write('kept')
for name in ('/tmp/gone', '/home/agent/gone', '/dev/shm/gone'): open(name, 'w').write('x')
)");
  REQUIRE(write.outcome == Outcome::ok);
  auto read = jails().run(Language::python, R"(
import os
result = [open('kept').read(), [n for n in ('/tmp/gone', '/home/agent/gone', '/dev/shm/gone') if os.path.exists(n)]]
)");
  REQUIRE(read.value);
  CHECK(read.value->dump() == R"(["kept",[]])");
}

TEST_CASE("time before the interpreter gets its code is not the program's", "[real]") {
  auto request = jails().request(Language::shell, "echo done");
  bool prepared = false;
  auto prepare = [](bool& done) -> Task<> {
    co_await sleep_for(jails().loop(), std::chrono::milliseconds(50));
    done = true;
  };
  request.before_code = [&] { return prepare(prepared); };
  auto report = jails().run(std::move(request));
  REQUIRE(report);
  CHECK(prepared);
  CHECK(report->out.text == "done\n");
}

TEST_CASE("progress is told while a program runs", "[real]") {
  auto request = jails().request(Language::shell, "echo one; read -t 20 line < /dev/zero; sleep 20");
  std::string line;
  request.progressed = [&](uint64_t, std::string_view last) { line = last; };
  SideBySide side(jails());
  side.start(std::move(request));
  CHECK(run_until(jails().loop(), [&] { return line == "one"; }));
}

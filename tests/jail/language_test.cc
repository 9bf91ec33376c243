#include "jail/language.h"

#include <sys/resource.h>

#include <algorithm>

#include "jail/plan.h"
#include "tests/catch.h"

using namespace jail;

namespace {

policies::Limits limits() {
  policies::Limits limits;
  limits.memory_bytes = 64 << 20;
  limits.tasks = 8;
  limits.open_files = 128;
  limits.file_bytes = 1 << 20;
  return limits;
}

const ResourceLimit* find(const std::vector<ResourceLimit>& list, uint32_t resource) {
  auto it = std::find_if(list.begin(), list.end(), [&](const auto& limit) { return limit.resource == resource; });
  return it == list.end() ? nullptr : &*it;
}

}  // namespace

TEST_CASE("languages are found by name and by common alias, exactly", "[jail]") {
  for (Language language : kLanguages) CHECK(find_language(language_name(language)) == language);
  CHECK(find_language("py") == Language::python);
  CHECK(find_language("js") == Language::javascript);
  CHECK(find_language("ts") == Language::typescript);
  CHECK(find_language("bash") == Language::shell);
  for (const char* unknown : {"", "Python", "python2", "python ", "ruby"}) CHECK_FALSE(find_language(unknown));
}

TEST_CASE("every command begins with an absolute program below what a jail shows", "[jail]") {
  for (Language language : kLanguages) {
    auto command = command_of(language, limits());
    REQUIRE_FALSE(command.empty());
    CAPTURE(command[0]);
    CHECK((command[0].starts_with("/usr/bin/") || command[0].starts_with("/warder/")));
    CHECK(command.size() <= static_cast<size_t>(kMaxArguments));
  }
}

TEST_CASE("Python is isolated from its environment and user site", "[jail]") {
  auto command = command_of(Language::python, limits());
  CHECK(std::count(command.begin(), command.end(), "-I") == 1);
  CHECK(std::count(command.begin(), command.end(), "-S") == 1);
  CHECK(std::count(command.begin(), command.end(), "-B") == 1);
}

TEST_CASE("V8 is told the jail's memory, not left to guess from the machine's", "[jail]") {
  auto command = command_of(Language::javascript, limits());
  CHECK(std::count(command.begin(), command.end(), "--max-old-space-size=64") == 1);
}

TEST_CASE("the environment is built from nothing, and a policy may add to it", "[jail]") {
  ::setenv("WARDER_TEST_SECRET", "of the daemon", 1);
  auto plain = environment_of({}, Network::none);
  for (const auto& entry : plain) CHECK(entry.find("SECRET") == std::string::npos);
  CHECK(std::count(plain.begin(), plain.end(), "HOME=/home/agent") == 1);
  auto changed = environment_of({{"HOME", "/tmp"}, {"EXTRA", "1"}}, Network::none);
  CHECK(changed.size() == plain.size() + 1);
  CHECK(std::count(changed.begin(), changed.end(), "HOME=/tmp") == 1);
  CHECK(std::count(changed.begin(), changed.end(), "EXTRA=1") == 1);
  ::unsetenv("WARDER_TEST_SECRET");
}

TEST_CASE("installers are offline only where there is no network", "[jail]") {
  const char* const kOffline[] = {"PIP_NO_INDEX=1", "NPM_CONFIG_OFFLINE=true", "UV_OFFLINE=1", "CARGO_NET_OFFLINE=true",
                                  "GOPROXY=off"};
  const auto none = environment_of({}, Network::none), by_proxy = environment_of({}, Network::by_proxy);
  for (const char* setting : kOffline) {
    CHECK(std::count(none.begin(), none.end(), setting) == 1);
    CHECK(std::count(by_proxy.begin(), by_proxy.end(), setting) == 0);
  }
  CHECK(std::count(by_proxy.begin(), by_proxy.end(), "NPM_CONFIG_AUDIT=false") == 1);
}

TEST_CASE("process limits bound what cgroups do not count", "[jail]") {
  auto list = resource_limits_of(Language::python, limits(), Enforcement::with_cgroup);
  CHECK(list.size() <= static_cast<size_t>(kMaxResourceLimits));
  for (auto [resource, hard] : {std::pair<uint32_t, uint64_t>{RLIMIT_CORE, 1},  // 0 does not stop a piped pattern
                                {RLIMIT_NOFILE, 128},
                                {RLIMIT_FSIZE, 1 << 20},
                                {RLIMIT_MSGQUEUE, 0},
                                {RLIMIT_NICE, 0},
                                {RLIMIT_RTPRIO, 0},
                                {RLIMIT_NPROC, 9}}) {  // one more than pids.max grants
    CAPTURE(resource);
    auto* limit = find(list, resource);
    REQUIRE(limit);
    CHECK(limit->hard == hard);
    CHECK(limit->soft == hard);
  }
  CHECK_FALSE(find(list, RLIMIT_DATA));
  CHECK_FALSE(find(list, RLIMIT_CPU));
}

TEST_CASE("without cgroups a limit of data memory stands in, except for V8", "[jail]") {
  auto python = resource_limits_of(Language::python, limits(), Enforcement::alone);
  REQUIRE(find(python, RLIMIT_DATA));
  CHECK(find(python, RLIMIT_DATA)->hard == 64 << 20);
  CHECK_FALSE(find(resource_limits_of(Language::javascript, limits(), Enforcement::alone), RLIMIT_DATA));
}

TEST_CASE("a CPU limit is rounded up to whole seconds, and a second later it kills", "[jail]") {
  auto with_cpu = limits();
  with_cpu.cpu = std::chrono::milliseconds(1500);
  auto list = resource_limits_of(Language::python, with_cpu, Enforcement::alone);
  auto* cpu = find(list, RLIMIT_CPU);
  REQUIRE(cpu);
  CHECK(cpu->soft == 2);
  CHECK(cpu->hard == 3);
}

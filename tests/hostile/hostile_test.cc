// Programs that attack the jail they run in; README.md says how they are written.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"
#include "tests/jail/shared_jails.h"

namespace fs = std::filesystem;
using jail::Language;
using jail::Outcome;

namespace {

enum class Expect {
  reserved,     // the program says so
  ended_there,  // the attack is of the kill list: outcome forbidden_call, or a signal where the kernel has no such call
};

struct Attack {
  const char* program;
  Expect expect = Expect::reserved;
};

constexpr Attack kAttacks[] = {
    {"attributes_and_leases"},
    {"change_identity"},
    {"change_network"},
    {"change_root"},
    {"core_dumps"},
    {"descriptors_at_start"},
    {"environment"},
    {"exhaust_descriptors"},
    {"fill_temporary"},
    {"fork_bomb"},
    {"guest_socket"},
    {"i386_calls", Expect::ended_there},
    {"io_uring"},
    {"kernel_code"},
    {"kernel_interfaces"},
    {"keyrings"},
    {"leave_workspace"},
    {"load_bpf", Expect::ended_there},
    {"make_devices"},
    {"message_queues"},
    {"mount_api"},
    {"network_out"},
    {"new_namespaces"},
    {"oom_score"},
    {"personality"},
    {"priorities"},
    {"raise_limits"},
    {"read_host"},
    {"read_init_memory"},
    {"read_kernel"},
    {"run_from_memory"},
    {"see_processes"},
    {"set_id_files"},
    {"signal_init"},
    {"socket_families"},
    {"steal_descriptors"},
    {"terminal_input"},
    {"trace_init"},
    {"trace_others"},
    {"uncounted_memory"},
    {"write_system"},
    {"x32_calls", Expect::ended_there},
};

// The first holds something until the second, in another jail, has looked for it.
struct Pair {
  const char* holds;
  const char* looks;
};
constexpr Pair kPairs[] = {{"abstract_socket_hold", "abstract_socket_find"},
                           {"shared_files_hold", "shared_files_touch"}};

std::string read(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// All entries of this machine's /proc but those of processes.
std::vector<std::string> kernel_entries() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator("/proc"))
    if (const auto name = entry.path().filename().string(); name.find_first_not_of("0123456789") != std::string::npos)
      names.push_back(name);
  return names;
}

jail::Request request_of(const std::string& program) {
  fs::path folder = HOSTILE_PROGRAMS;
  std::string text = read(folder / "programs" / (program + ".py"));
  REQUIRE_FALSE(text.empty());
  auto request = jails().request(Language::python, read(folder / "attack.py") + text + "\nresult = verdict()\n");
  const Json variables = {{"host_paths", {HOSTILE_PROGRAMS, WARDER_BUILD, jails().workspace()}},
                          {"secret", "WARDER_HOSTILE_SECRET"},
                          {"memory_bytes", request.spec.limits.memory_bytes},
                          {"kernel_entries", kernel_entries()},
                          {"counted", jails().host().cgroups != nullptr},
                          {"init_is_another", jails().host().identity == jail::Identity::separated}};
  request.context_vars = dump_json(variables);
  return request;
}

void check_held(const jail::Report& report) {
  INFO("outcome " << jail::outcome_name(report.outcome) << ' ' << report.message);
  INFO(report.error << '\n' << report.traceback << '\n' << report.err.text);
  REQUIRE(report.value);
  CHECK(*report.value == "held");
}

}  // namespace

TEST_CASE("jailed programs do not escape", "[hostile]") {
  ::setenv("WARDER_HOSTILE_SECRET", "of-the-daemon", 1);
  auto before = census_at_rest(jails());
  for (const Attack& attack : kAttacks) {
    DYNAMIC_SECTION(attack.program) {
      auto report = jails().run(request_of(attack.program));
      REQUIRE(report);
      if (attack.expect == Expect::reserved) {
        check_held(*report);
      } else {
        INFO(report->message << (report->value ? report->value->dump() : ""));
        bool ended = report->outcome == Outcome::forbidden_call || report->outcome == Outcome::signal;
        CHECK(ended);
        CHECK_FALSE(report->value);
      }
    }
  }
  auto after = settle(jails(), before);
  CHECK(after == before);
  auto processes = processes_of_runners(jails());
  if (processes) CHECK(*processes == 0);
}

TEST_CASE("jails that run at the same time do not meet", "[hostile]") {
  for (const Pair& pair : kPairs) {
    DYNAMIC_SECTION(pair.holds) {
      if (std::string(pair.holds) == "shared_files_hold" && jails().host().root != jail::RootMode::overlay) {
        WARN("read-only bind mounts share locks and watches: " << jails().host().bind_root_why);
        return;
      }
      SideBySide both(jails());
      auto holder = request_of(pair.holds);
      bool holds = false;
      holder.progressed = [&holds](uint64_t, std::string_view) { holds = true; };
      size_t first = both.start(std::move(holder));
      REQUIRE(run_until(jails().loop(), [&] { return holds || both.answered(first); }));
      if (!both.answered(first)) {
        size_t second = both.start(request_of(pair.looks));
        check_held(both.answer(second));
      }
      check_held(both.answer(first));
    }
  }
}

TEST_CASE("every hostile program is run, and says first what it tries", "[hostile]") {
  std::set<std::string> listed, found;
  for (const Attack& attack : kAttacks) listed.insert(attack.program);
  for (const Pair& pair : kPairs) listed.insert({pair.holds, pair.looks});
  for (const auto& entry : fs::directory_iterator(HOSTILE_PROGRAMS "/programs")) {
    if (entry.path().extension() != ".py") continue;
    CAPTURE(entry.path().string());
    CHECK(read(entry.path()).starts_with("# "));
    found.insert(entry.path().stem());
  }
  CHECK(listed == found);
}

// What was applied is told; what cannot be applied is refused.

#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"
#include "tests/jail/shared_jails.h"

using jail::Language;
using policies::Need;

TEST_CASE("a receipt names what was applied to this jail", "[real]") {
  auto report = jails().run(Language::python, "pass");
  const auto receipt = Json::parse(report.receipt_json);
  INFO(receipt.dump(2));
  CHECK(receipt["namespaces"].dump() == R"(["user","pid","mount","net","ipc","uts","cgroup"])");
  CHECK(receipt["capabilities"] == "none");
  CHECK(receipt["no_new_privileges"] == true);
  CHECK(receipt["network"] == "none");
  CHECK(receipt["seccomp"]["profile"] == "default");
  CHECK(receipt["seccomp"]["instructions"] > 100);
  CHECK(receipt["cgroup"] == false);
  CHECK(receipt["workspace"]["nosuid"] == true);
  CHECK(receipt["workspace"]["nodev"] == true);
  CHECK_FALSE(receipt["workspace"].contains("quota"));  // nobody counts here
  CHECK(receipt["build_ms"] > 0);
  CHECK(receipt["steps_us"].contains("pivot"));
  CHECK(receipt["steps_us"].contains("proc"));
  if (jails().host().identity == jail::Identity::separated) {
    CHECK(receipt["identity"]["init"] != receipt["identity"]["daemon"]);
    CHECK(receipt["identity"]["init"] != receipt["identity"]["runner"]);
  }
}

TEST_CASE("a receipt says what a stronger host would add", "[real]") {
  auto report = jails().run(Language::python, "pass");
  CHECK_THAT(Json::parse(report.receipt_json)["weaker"].dump(),
             Catch::Matchers::Contains("unit tests run without cgroups"));
}

TEST_CASE("what a policy requires and the host lacks is refused, with the rule", "[real]") {
  auto request = jails().request(Language::python, "pass");
  request.spec.isolation.cgroups = Need::required;
  auto report = jails().run(std::move(request));
  REQUIRE_FALSE(report);
  CHECK(report.error().code == Code::denied);
  CHECK(report.error().rule == "isolation.cgroups");
  CHECK_THAT(report.error().what, Catch::Matchers::Contains("unit tests run without cgroups"));
  CHECK_THAT(report.error().hint, Catch::Matchers::Contains("preferred"));
}

TEST_CASE("what a policy requires and the host has is given", "[real]") {
  const auto& host = jails().host();
  auto request = jails().request(Language::python, "pass");
  if (host.landlock_abi > 0) request.spec.isolation.landlock = Need::required;
  if (host.root == jail::RootMode::overlay) request.spec.isolation.overlay = Need::required;
  if (host.identity == jail::Identity::separated) request.spec.isolation.identity = Need::required;
  CHECK(jails().run(std::move(request)));
}

TEST_CASE("a missing interpreter is an error that names the step and the remedy", "[real]") {
  auto before = census_at_rest(jails());
  auto request = jails().request(Language::python, "pass");
  request.spec.command = {"/usr/bin/an-interpreter-that-is-not-there"};
  auto report = jails().run(std::move(request));
  REQUIRE_FALSE(report);
  CHECK(report.error().code == Code::unavailable);
  CHECK_THAT(report.error().what, Catch::Matchers::Contains("runner_exec"));
  CHECK_THAT(report.error().hint, Catch::Matchers::Contains("/usr/bin/python3"));
  CHECK(settle(jails(), before) == before);
}

TEST_CASE("an interpreter that never speaks is an error with its last words", "[real]") {
  auto request = jails().request(Language::python, "pass");
  request.spec.command = {"/usr/bin/sh", "-c", "echo the library is missing >&2; exit 127"};
  auto report = jails().run(std::move(request));
  REQUIRE_FALSE(report);
  CHECK(report.error().code == Code::unavailable);
  CHECK_THAT(report.error().what, Catch::Matchers::Contains("did not start"));
  CHECK_THAT(report.error().what, Catch::Matchers::Contains("the library is missing"));
}

TEST_CASE("a step that fails in a jail is named", "[real]") {
  auto request = jails().request(Language::python, "pass");
  request.spec.limits.open_files = uint32_t{1} << 31;  // above fs.nr_open: setrlimit(2) says EPERM
  auto report = jails().run(std::move(request));
  REQUIRE_FALSE(report);
  CHECK(report.error().code == Code::unavailable);
  CHECK_THAT(report.error().what, Catch::Matchers::Contains("jail step runner_limits"));
}

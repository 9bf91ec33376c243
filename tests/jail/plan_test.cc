#include "jail/plan.h"

#include <set>
#include <string>

#include "jail/init_report.h"
#include "tests/catch.h"

using namespace jail;

TEST_CASE("every step has a name of its own", "[jail]") {
  std::set<std::string> names;
  for (int i = 0; i < kSteps; i++) {
    const char* name = step_name(static_cast<Step>(i));
    REQUIRE(name != nullptr);
    CHECK(std::string(name).size() > 2);
    names.insert(name);
  }
  CHECK(names.size() == static_cast<size_t>(kSteps));
}

TEST_CASE("the names stand beside the steps they name", "[jail]") {
  CHECK(std::string(step_name(Step::none)) == "none");
  CHECK(std::string(step_name(Step::exec_init)) == "exec_init");
  CHECK(std::string(step_name(Step::pivot)) == "pivot");
  CHECK(std::string(step_name(Step::runner_seccomp)) == "runner_seccomp");
  CHECK(std::string(step_name(Step::init_lock)) == "init_lock");
  CHECK(std::string(step_name(Step::attach_workspace)) == "attach_workspace");
}

TEST_CASE("a step that a jail made up has no name", "[jail]") {
  CHECK(std::string(step_name(Step::count)) == "unknown");
  CHECK(std::string(step_name(static_cast<Step>(60'000))) == "unknown");
}

// Errors of failed steps: code chooses by their step, not by their text.
#include "jail/failed_step.h"

#include <cerrno>

#include "tests/catch.h"

using jail::Step;

TEST_CASE("an error of a failed step names the step for code, too", "[failed_step]") {
  CHECK(jail::failed_step(Step::root_overlay, EPERM).step == "root_overlay");
  CHECK(jail::failed_step(Step::proc, EPERM).step == "proc");
  CHECK(jail::failed_order({0, EPERM, Step::wait_for_ids, 0}).step == "wait_for_ids");
  CHECK(jail::failed_order({0, EPERM, Step::attach_workspace, 0}).step == "attach_workspace");
}

TEST_CASE("an error of no step names no step", "[failed_step]") {
  CHECK(jail::failed_order({0, EPERM, Step::none, 0}).step.empty());
  CHECK(jail::failed_order({0, ESRCH, Step::root_overlay, 0}).step.empty());  // the jail was ended from outside
  CHECK(jail::ended_before_program().step.empty());
}

TEST_CASE("a host that can stage no workspace denies it by name, with the remedy", "[failed_step]") {
  for (const int error : {EINVAL, EPERM, ENODEV, EROFS, ENOTSUP}) {
    const Error refused = jail::failed_order({0, error, Step::stage_workspace, 0});
    CHECK(refused.code == Code::denied);
    CHECK(refused.rule == "workspace.mode");
    CHECK(refused.what.starts_with("the workspace cannot be staged"));
    CHECK(refused.hint.find("direct executions work") != std::string::npos);
    CHECK(jail::failed_order({0, error, Step::attach_workspace, 0}).code == Code::unavailable);
  }
  CHECK(jail::failed_order({0, ENOMEM, Step::stage_workspace, 0}).code == Code::unavailable);
}

TEST_CASE("an error keeps its step when a place is added to it", "[failed_step]") {
  const Error error = jail::failed_step(Step::pivot, EINVAL).within("tenant 'a'");
  CHECK(error.step == "pivot");
  CHECK(error.what.starts_with("tenant 'a': jail step pivot"));
}

#include "supervisor/programs/cli/admin/daemon_state.h"

#include "tests/catch.h"

using namespace admin;
using Catch::Matchers::Contains;

namespace {

Error reported(const char* active, const char* sub, int code = 0, int status = 0, const std::string& last = {}) {
  const UnitState unit{"loaded", active, sub, "exit-code", code, status};
  return unreachable_error(unit, ManagerScope::system, last);
}

}  // namespace

TEST_CASE("a unit that fails is told with its status, its last error and where the cause is named", "[daemon_state]") {
  const Error error = reported("failed", "failed", 1, 64, "policy 'a': unknown key");
  CHECK(error.code == Code::unavailable);
  CHECK(error.what == "warderd fails to start (exit status 64): policy 'a': unknown key");
  CHECK_THAT(error.hint, Contains("warderd --check") && Contains("journalctl -u warder"));
  CHECK_THAT(reported("activating", "auto-restart", 2, 9).what, Contains("ended by signal 9"));
  CHECK(reported("failed", "failed").what == "warderd fails to start (exit-code)");
}

TEST_CASE("only a unit that is merely stopped is to be started", "[daemon_state]") {
  CHECK_THAT(reported("inactive", "dead").hint, Contains("sudo systemctl start warder.socket"));
  CHECK_THAT(reported("activating", "start").hint, !Contains("systemctl start"));
  CHECK_THAT(reported("active", "running").what, Contains("not on this bus"));
  CHECK_THAT(reported("deactivating", "stop-sigterm").what, Contains("ending"));
}

TEST_CASE("a user's own service has the commands of the user's manager", "[daemon_state]") {
  const UnitState unit{"loaded", "inactive", "dead", "success", 0, 0};
  CHECK_THAT(unreachable_error(unit, ManagerScope::user, "").hint,
             Contains("systemctl --user start warder.socket") && !Contains("sudo"));
}

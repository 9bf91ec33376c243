// JailScene: a RunsScene with real jails. As root, its files belong to the daemon's user of these jails, as after the
// start of the daemon: the jails map this user.
#pragma once
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/jail/shared_jails.h"
#include "tests/supervisor/executions/runs/scene.h"

namespace runs_test {

// DaemonUser: while it exists, this process has the daemon's user as its effective one. No effect for ordinary users.
class DaemonUser {
 public:
  explicit DaemonUser(const std::filesystem::path& tenants) {
    if (::geteuid() != 0) return;
    const jail::Host& host = jails().host();
    REQUIRE(::chown(tenants.c_str(), host.daemon_uid, host.daemon_gid) == 0);
    REQUIRE(::setegid(host.daemon_gid) == 0);
    REQUIRE(::seteuid(host.daemon_uid) == 0);
    is_changed_ = true;
  }
  ~DaemonUser() {
    if (!is_changed_) return;
    if (::seteuid(0) < 0 || ::setegid(0) < 0) std::abort();
    ::prctl(PR_SET_DUMPABLE, 1);  // a change of the user forbids the leak check at the end of the program
  }
  DaemonUser(const DaemonUser&) = delete;
  DaemonUser& operator=(const DaemonUser&) = delete;

 private:
  bool is_changed_ = false;
};

struct JailScene : private DaemonUser, RunsScene {
  JailScene()
      : DaemonUser(tenants_folder()), RunsScene(jails().loop(), jails().host(), tenants_folder().parent_path()) {}

 private:
  static std::filesystem::path tenants_folder() { return std::filesystem::path(jails().workspace()).parent_path(); }
};

}  // namespace runs_test

// JailerClient: the daemon's side of the jailer, or of a zygote. It sends orders and receives answers, matched by
// token.
// Source: the socket of start_jailer() (jail/jailer_client/jailer_start.h), or of a zygote. Used by: jail/jail.cc,
// jail/zygote.h, jail/execution/self_test.cc, supervisor/tenants/kernel_quota.h.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "jail/held_files.h"
#include "jail/orders.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/base/project_quota.h"

namespace jail {

// Why a jail is made.
enum class JailPurpose {
  stock,               // the jail will wait for an execution; a fork warms up first
  execution,           // an execution waits for the jail; a fork does not warm up
  execution_in_crowd,  // likewise, and executions keep every processor busy: a fork does nothing ahead
};

class JailerClient {
 public:
  // `socket`: the daemon's end of the jailer's SOCK_SEQPACKET pair. `lost` is called once, from the loop, when the
  // jailer is gone: no jail can be built any more, and all existing jails are dead.
  static Result<std::unique_ptr<JailerClient>> start(Loop& loop, Fd socket, std::function<void()> lost);

  struct BuildFds {
    int plan, guest, control, out, err;
    int cgroup = -1;  // leaf directory; -1: none
  };
  struct Ids {
    Identity identity = Identity::shared;
    uint32_t init = 0, runner = 0;
  };
  // The pidfd of the new jail's init, which is still building the jail. Errors: unavailable, naming the Step.
  Task<Result<Fd>> build(BuildFds fds, Ids ids);

  // The client of a zygote, which takes fork orders; the loop knows its socket already.
  static std::unique_ptr<JailerClient> start_of_zygote(Loop& loop, AsyncFd socket, std::function<void()> lost);

  struct ForkFds {  // borrowed during the call; all required
    int plan, guest, control, out, err, go;
  };
  // Asks a zygote for a fork. The child waits for a byte on `go`. Errors: unavailable.
  Task<Result<Fd>> fork(ForkFds fds, Identity identity, JailPurpose purpose);

  struct Workspace {
    int directory = -1;  // borrowed during the call
    uint32_t owner_uid = 0, owner_gid = 0;
    bool map_ids = false;
    bool read_only = false;
    int staging = -1;  // folder of the overlay over the workspace, borrowed during the call; -1: no overlay
    bool listens = false;
  };
  // Mounts the directory on the jail's /workspace, or an overlay over it: nosuid, nodev, verified. Returns the jail's
  // listener (jail/jailer/listener.h) if the jail listens. Errors: unavailable.
  Task<Result<Fd>> attach(int pidfd, Workspace workspace, uint32_t runner_id);
  // Checks that the directory's file system can be mounted with mapped ids (mount_setattr(2)). Errors: unavailable.
  Task<Result<>> probe_idmap(int directory, uint32_t owner_uid, uint32_t owner_gid, uint32_t runner_id);
  // Sets the limits of one of the daemon's projects, on the file system of `directory`, which is open for reading.
  // Errors: unavailable.
  Task<Result<>> limit_project(int directory, uint32_t project, ProjectLimits limits);
  // Counts the files without a name that a jail with a workspace holds. Errors: unavailable, also while the jailer
  // counts for many others.
  Task<Result<HeldFiles>> count_files(int pidfd);
  // Sends SIGKILL to a jail's init: the whole jail ends. Returns at once; the pidfd becomes readable at the end. False
  // when the order could not be sent now.
  bool end(int pidfd);
  // Lowers the priority of a jail's code, whose host id is not the daemon's: the nice value of all its processes (0:
  // unchanged), and that of the autogroups of up to kMaxNamed processes, named by pidfds. Returns at once. False when
  // the order could not be sent now.
  bool lower_priority(int pidfd, int nice, int session_nice, const std::vector<int>& processes);
  // True if the process at the other end has ended, even if the loop does not know it yet.
  bool is_gone() const;

 private:
  struct Answer {
    JailerAnswer message{};
    Fd descriptor;  // a pidfd, or a listener
  };
  JailerClient(Loop& loop, AsyncFd socket, std::function<void()> lost, Error (*exited)());
  static std::unique_ptr<JailerClient> start(Loop& loop, AsyncFd socket, std::function<void()> lost, Error (*exited)());
  Task<Result<Answer>> ask(Order order, std::vector<int> fds);
  Task<> read_answers();

  Loop& loop_;
  AsyncFd socket_;
  std::function<void()> lost_;
  Error (*exit_reason_)();
  bool exited_ = false;
  uint64_t next_token_ = 1;
  std::unordered_map<uint64_t, OneShot<Result<Answer>>::Resolver> waiting_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace jail

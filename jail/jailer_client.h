// The daemon's side of the jailer: orders out, answers in, matched by token.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "jail/orders.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/project_quota.h"

namespace jail {

class JailerClient {
 public:
  // `socket`: our end of the jailer's SOCK_SEQPACKET pair. `lost` is called once, from the loop, when the jailer is
  // gone: no jail can be built any more, and all existing ones are dead.
  static Result<std::unique_ptr<JailerClient>> start(Loop& loop, Fd socket, std::function<void()> lost);

  struct BuildFds {
    int plan, guest, control, out, err;
    int cgroup = -1;  // leaf directory; -1: none
  };
  struct Ids {
    Identity identity = Identity::shared;
    uint32_t init = 0, runner = 0;
  };
  // A pidfd of the new jail's init, which is still building itself. Errors: unavailable, naming the Step.
  Task<Result<Fd>> build(BuildFds fds, Ids ids);

  // A zygote's, which takes orders to fork; of a socket that the loop knows already.
  static std::unique_ptr<JailerClient> start_of_zygote(Loop& loop, AsyncFd socket, std::function<void()> lost);

  struct ForkFds {  // borrowed during the call; all required
    int plan, guest, control, out, err, go;
  };
  // Of a zygote at the other end: the child waits for a byte on `go`. `wanted`: an execution waits for it, so it need
  // not get warm. Errors: unavailable.
  Task<Result<Fd>> fork(ForkFds fds, Identity identity, bool wanted);

  struct Workspace {
    int directory = -1;  // borrowed during the call
    uint32_t owner_uid = 0, owner_gid = 0;
    bool map_ids = false;
    bool read_only = false;
  };
  // The directory is mounted on /workspace of the jail: nosuid, nodev, verified. Errors: unavailable.
  Task<Result<>> attach(int pidfd, Workspace workspace, uint32_t runner_id);
  // Can the directory's file system be mounted with mapped ids (mount_setattr(2))?
  Task<Result<>> probe_idmap(int directory, uint32_t owner_uid, uint32_t owner_gid, uint32_t runner_id);
  // Limits of a project of ours on the file system of a directory that is open for reading. Errors: unavailable.
  Task<Result<>> limit_project(int directory, uint32_t project, ProjectLimits limits);
  // SIGKILL to a jail's init: the whole jail ends. Returns at once; the pidfd becomes readable when it is done. False
  // when the order could not be sent now.
  bool end(int pidfd);
  // The process at the other end has ended, whether or not the loop has heard of it.
  bool is_gone() const;

 private:
  struct Waiting {
    Event done;
    Error (*gone)() = nullptr;  // instead of an answer: whoever had the order has ended
    JailerAnswer answer{};
    Fd pidfd;
  };
  JailerClient(Loop& loop, AsyncFd socket, std::function<void()> lost, Error (*gone)());
  static std::unique_ptr<JailerClient> start(Loop& loop, AsyncFd socket, std::function<void()> lost, Error (*gone)());
  Task<Result<std::shared_ptr<Waiting>>> ask(Order order, std::vector<int> fds);
  Task<> read_answers();
  void fire_later(std::shared_ptr<Waiting> waiting);

  Loop& loop_;
  AsyncFd socket_;
  std::function<void()> lost_;
  Error (*why_gone_)();
  bool gone_ = false;
  uint64_t next_token_ = 1;
  std::unordered_map<uint64_t, std::shared_ptr<Waiting>> waiting_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace jail

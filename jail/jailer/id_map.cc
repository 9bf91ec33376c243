#include "jail/jailer/id_map.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/plan.h"
#include "jail/short_text.h"

namespace jail {
namespace {

// oom_score_adj(5) of every jail: when memory is short, the kernel ends jails before the daemon. It is written with
// CAP_SYS_RESOURCE if the jailer has it; then jailed code cannot lower it again.
constexpr char kOomScore[] = "500";

Result<> write_at(int directory, const char* name, std::string_view text) {
  Fd fd(::openat(directory, name, O_WRONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, std::string("open a new jail's ") + name);
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail_errno(errno, std::string("write a new jail's ") + name);
  return {};
}

Result<Fd> open_process(int pid, int pidfd) {
  ShortText<32> path;
  path << "/proc/" << static_cast<uint64_t>(pid);
  Fd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return fail_errno(errno, "open a new jail below /proc");
  // The process still exists after the open(): so its number was not reused, and the directory is the child's.
  if (::syscall(SYS_pidfd_send_signal, pidfd, 0, nullptr, 0) < 0) return fail_errno(errno, "a new jail");
  return directory;
}

// The lines of uid_map and gid_map, each for one id (user_namespaces(7)).
using MapText = ShortText<64>;
void add_line(MapText& map, uint32_t inside, uint32_t outside) {
  map << static_cast<uint64_t>(inside) << " " << static_cast<uint64_t>(outside) << " 1\n";
}

}  // namespace

Result<> map_ids(int pid, int pidfd, Identity identity, const HostIds& ids) {
  TRY(Fd directory, open_process(pid, pidfd));
  auto write_map = [&](const char* name, uint32_t init, uint32_t runner) {
    MapText map;
    add_line(map, kInitId, init);
    if (identity == Identity::separated) add_line(map, kRunnerId, runner);
    return write_at(directory.get(), name, map.view());
  };
  CHECKED(write_at(directory.get(), "oom_score_adj", kOomScore));
  CHECKED(write_at(directory.get(), "setgroups", "deny"));
  CHECKED(write_map("uid_map", ids.init_uid, ids.runner_uid));
  return write_map("gid_map", ids.init_gid, ids.runner_gid);
}

Result<int> MountMappings::find_or_make(uint32_t owner_uid, uint32_t owner_gid, uint32_t runner_id) {
  auto key = std::tuple(owner_uid, owner_gid, runner_id);
  if (auto it = created_.find(key); it != created_.end()) return it->second.get();

  // A child process that only waits, until its user namespace has been opened.
  int raw_pidfd = -1;
  clone_args args{};
  args.flags = CLONE_NEWUSER | CLONE_PIDFD;
  args.pidfd = reinterpret_cast<uint64_t>(&raw_pidfd);
  args.exit_signal = SIGCHLD;
  long pid = ::syscall(SYS_clone3, &args, sizeof args);
  if (pid < 0) return fail_errno(errno, "clone3 for a mount's id map");
  if (pid == 0) {
    for (;;) ::syscall(SYS_pause);
  }
  Fd pidfd(raw_pidfd);
  auto created = [&]() -> Result<Fd> {
    TRY(Fd directory, open_process(static_cast<int>(pid), pidfd.get()));
    MapText uids, gids;
    add_line(uids, owner_uid, runner_id);
    add_line(gids, owner_gid, runner_id);
    CHECKED(write_at(directory.get(), "setgroups", "deny"));
    CHECKED(write_at(directory.get(), "uid_map", uids.view()));
    CHECKED(write_at(directory.get(), "gid_map", gids.view()));
    Fd space(::openat(directory.get(), "ns/user", O_RDONLY | O_CLOEXEC));
    if (!space) return fail_errno(errno, "open the user namespace of a mount's id map");
    return space;
  }();
  ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
  if (!created) return tl::unexpected(std::move(created).error());
  if (created_.size() >= kMax) created_.clear();
  int fd = created->get();
  created_.emplace(key, *std::move(created));
  return fd;
}

}  // namespace jail

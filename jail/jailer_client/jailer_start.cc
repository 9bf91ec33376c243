#include "jail/jailer_client/jailer_start.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "jail/fd_message.h"
#include "jail/jailer_client/jailer_exec.h"
#include "jail/jailer_message.h"
#include "jail/slice.h"

namespace jail {
namespace {

Result<> send_start(int socket, const JailerConfig& config) {
  JailerStart start{};
  start.version = kJailerVersion;
  start.privileged = config.privileged;
  start.first_id = config.ids.first;
  start.id_count = config.ids.count;
  start.daemon_uid = config.daemon_uid;
  start.daemon_gid = config.daemon_gid;
  start.folder_count = static_cast<uint32_t>(config.workspace_parents.size() + config.single_folders.size());
  start.for_journal = std::getenv("JOURNAL_STREAM") != nullptr;
  std::vector<int> fds{config.template_dir.get(), config.init.get()};
  start.has_cgroup = static_cast<bool>(config.jails_cgroup);
  if (config.jails_cgroup) fds.push_back(config.jails_cgroup.get());
  CHECKED(send_message(socket, &start, sizeof start, fds));
  auto send_folders = [socket](const std::vector<Fd>& folders, FolderUse use) -> Result<> {
    for (const Fd& folder : folders) {
      const JailerFolder message{use};
      CHECKED(send_message(socket, &message, sizeof message, {folder.get()}));
    }
    return {};
  };
  CHECKED(send_folders(config.workspace_parents, FolderUse::workspace_parent));
  return send_folders(config.single_folders, FolderUse::single);
}

}  // namespace

Result<Fd> open_jailer(const std::string& program) {
  Fd fd(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd) return fd;
  auto error = fail_errno(errno, fmt::format("open the jailer {}", program), Code::unavailable);
  error.value().hint = "install the package warder again, or build the target warder-jailer";
  return error;
}

Result<Fd> start_jailer(JailerConfig config) {
  if (config.workspace_parents.size() + config.single_folders.size() > kMaxJailerFolders)
    return fail(Code::invalid, fmt::format("more than {} folders for workspaces and servers", kMaxJailerFolders),
                "configure fewer servers with a folder");
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno(errno, "socketpair");
  Fd daemon_end(ends[0]), jailer_end(ends[1]);
  void* stack =
      ::mmap(nullptr, kJailerStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return fail_errno(errno, "memory for the start of the jailer");
  set_slice(kShortSliceNs);  // the daemon's, and so that of all that it starts
  const int failed = exec_jailer({config.program.get(), jailer_end.get(), !config.privileged, 0}, stack);
  ::munmap(stack, kJailerStackBytes);
  if (failed) {
    auto error = fail_errno(failed, "execute the jailer (warder-jailer)", Code::unavailable);
    error.value().hint = "its file system must not be mounted with noexec; install the package warder again";
    return error;
  }
  jailer_end.reset();
  if (auto sent = send_start(daemon_end.get(), config); !sent)
    return tl::unexpected<Error>(std::move(sent).error().within("start the jailer"));
  return daemon_end;
}

}  // namespace jail

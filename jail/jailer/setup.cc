#include "jail/jailer/setup.h"

#include <sys/stat.h>

#include "jail/fd_message.h"
#include "jail/jailer_message.h"

namespace jail {
namespace {

bool is_directory(const Fd& fd) {
  struct stat info {};
  return ::fstat(fd.get(), &info) == 0 && S_ISDIR(info.st_mode);
}

template <class Message>
Result<std::vector<Fd>> receive(int socket, Message& message) {
  TRY(Received received, receive_message(socket, &message, sizeof message, kMaxFdsOfMessage));
  if (!received.open) return fail(Code::internal, "the daemon ended before the jailer was started");
  return std::move(received.fds);
}

Result<> check(const JailerStart& start) {
  if (start.version != kJailerVersion)
    return fail(Code::invalid, "warderd and warder-jailer are of different versions", "install the package again");
  if (start.privileged > 1 || start.has_cgroup > 1 || start.for_journal > 1)
    return fail(Code::invalid, "a flag of the start is neither 0 nor 1");
  if (start.folder_count > kMaxJailerFolders)
    return fail(Code::invalid, "more than 4096 folders for workspaces and servers");
  if (!start.privileged) return {};
  if (start.id_count < IdRange::kMin || start.first_id == 0 || start.first_id > UINT32_MAX - start.id_count)
    return fail(Code::invalid, "the range of the jails' ids");
  return start.daemon_uid == 0 ? fail(Code::invalid, "the daemon's id is root's") : Result<>();
}

}  // namespace

Result<JailerSetup> receive_setup(int socket) {
  JailerStart start{};
  TRY(std::vector<Fd> fds, receive(socket, start));
  CHECKED(check(start));
  if (fds.size() != (start.has_cgroup ? 3u : 2u)) return fail(Code::invalid, "the number of the start's descriptors");
  JailerSetup setup;
  setup.privileged = start.privileged != 0;
  setup.for_journal = start.for_journal != 0;
  setup.ids = {start.first_id, start.id_count};
  setup.daemon_uid = start.daemon_uid;
  setup.daemon_gid = start.daemon_gid;
  setup.template_dir = std::move(fds[0]);
  setup.init = std::move(fds[1]);
  if (start.has_cgroup) setup.jails_cgroup = std::move(fds[2]);
  if (!is_directory(setup.template_dir)) return fail(Code::invalid, "the template is not a directory");
  for (uint32_t i = 0; i < start.folder_count; i++) {
    JailerFolder folder{};
    TRY(std::vector<Fd> sent, receive(socket, folder));
    const bool is_parent = folder.use == FolderUse::workspace_parent;
    if ((!is_parent && folder.use != FolderUse::single) || sent.size() != 1 || !is_directory(sent[0]))
      return fail(Code::invalid, "a folder for workspaces or servers is not a directory of a known use");
    (is_parent ? setup.workspace_parents : setup.single_folders).push_back(std::move(sent[0]));
  }
  return setup;
}

}  // namespace jail

#include "jail/failed_step.h"

#include <fmt/format.h>

namespace jail {
namespace {

std::string hint_for(Step step, int error, std::string_view interpreter) {
  if (error == EMFILE || error == ENFILE)
    return "a limit of open files is reached: ask the administrator to raise LimitNOFILE= of warder.service (ulimit "
           "-n)";
  switch (step) {
    case Step::wait_for_ids:
      if (error != EPERM) return {};
      return "the kernel refuses user namespaces: check kernel.unprivileged_userns_clone, user.max_user_namespaces "
             "and AppArmor's restriction of unprivileged user namespaces";
    case Step::usr_overlay:
    case Step::root_overlay:
      return "the kernel must allow overlayfs in user namespaces, and no file system may be mounted below /usr";
    case Step::stage_workspace:
      return "the state folder must lie on a file system that overlayfs takes as its upper layer (ext4, xfs, btrfs or "
             "tmpfs, not overlayfs or NFS), and the kernel must allow overlayfs in user namespaces; direct executions "
             "work";
    case Step::proc:
      return "a fully visible /proc is needed: a container or ProtectKernelTunables= masks it";
    case Step::runner_limits:
      if (error != EPERM) return {};
      return "the policy gives programs more open files than the daemon may have: raise LimitNOFILE= of warder.service "
             "(ulimit -n), or lower limits.open_files in the policy";
    case Step::runner_exec:
      return interpreter.empty() ? "install the interpreter of the language below /usr"
                                 : fmt::format("install {}", interpreter);
    default:
      return {};
  }
}

// An errno by which this host says that it can stage no workspace of this folder, today and later.
bool cannot_stage(const JailerAnswer& answer) {
  if (answer.step != Step::stage_workspace) return false;
  return answer.error == EINVAL || answer.error == EPERM || answer.error == ENODEV || answer.error == EROFS ||
         answer.error == ENOTSUP;
}

}  // namespace

Error failed_step(Step step, int error, std::string_view interpreter) {
  Error failed = fail_errno(error, fmt::format("jail step {}", step_name(step)), Code::unavailable).value();
  failed.hint = hint_for(step, error, interpreter);
  failed.step = step_name(step);
  return failed;
}

Error failed_order(const JailerAnswer& answer) {
  if (answer.error == ESRCH) return ended_before_program();
  if (answer.step != Step::attach_workspace && answer.step != Step::stage_workspace && answer.step != Step::listen &&
      answer.step != Step::none)
    return failed_step(answer.step, answer.error);
  const char* kind = answer.step == Step::none              ? "the jailer did not execute its order"
                     : answer.step == Step::stage_workspace ? "the workspace cannot be staged: no overlay over it"
                     : answer.step == Step::listen          ? "the jail's listener for the network cannot be made"
                                                            : "the workspace cannot be mounted in the jail";
  Error failed = fail_errno(answer.error, kind, cannot_stage(answer) ? Code::denied : Code::unavailable).value();
  if (cannot_stage(answer)) failed.rule = "workspace.mode";
  failed.hint = hint_for(answer.step, answer.error, {});
  if (failed.hint.empty())
    failed.hint = "call again; if the call fails again, tell the administrator: journalctl -u warder";
  if (answer.step != Step::none) failed.step = step_name(answer.step);
  return failed;
}

Error ended_before_program() {
  return {Code::unavailable, 0, "the jail was ended from outside before the program began", "call again", {}};
}

Error not_built_within(std::chrono::seconds limit) {
  return {Code::unavailable,
          0,
          fmt::format("the jail was not built within {} s", limit.count()),
          "the machine is overloaded, or a part of it does not respond: call again later",
          {}};
}

Error jailer_exited() {
  return {Code::unavailable,
          0,
          "warderd's jailer, the process that builds jails, has ended: a fault of the daemon, not of the call",
          "call again in some seconds: the service restarts by itself. If it does not, tell the administrator: "
          "systemctl restart warder; journalctl -u warder says why it ended",
          {}};
}

Error zygote_exited() {
  return {Code::unavailable, 0, "the zygote, the interpreter that is forked, has ended", "call again", {}};
}

}  // namespace jail

#include "jail/jailer/priority.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "jail/init/capabilities.h"
#include "jail/pidfd.h"
#include "jail/short_text.h"

namespace jail {
namespace {

constexpr uint32_t kUnchanged = ~0u;

// The effective user of this process, until the destructor. Raw calls: this process has one thread.
class EffectiveUser {
 public:
  explicit EffectiveUser(uint32_t uid) {
    became_ = ::syscall(SYS_setresuid, kUnchanged, uid, kUnchanged) == 0;
    if (became_) keep_administration();
  }
  // Effective id 0 brings the permitted capabilities back (capabilities(7)). A change of ids clears the two settings.
  ~EffectiveUser() {
    if (::syscall(SYS_setresuid, kUnchanged, 0u, kUnchanged) < 0 || ::prctl(PR_SET_DUMPABLE, 1) < 0 ||
        ::prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
      ::_exit(1);
  }
  EffectiveUser(const EffectiveUser&) = delete;
  explicit operator bool() const { return became_; }

 private:
  // With this capability the kernel does not limit how often autogroups are written.
  static void keep_administration() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct words[2]{};
    if (::syscall(SYS_capget, &header, words) < 0) return;
    words[0].effective = words[0].permitted & static_cast<uint32_t>(init::bit_of(CAP_SYS_ADMIN));
    words[1].effective = 0;
    (void)::syscall(SYS_capset, &header, words);
  }
  bool became_ = false;
};

bool lower_autogroup(int pid, int nice) {
  ShortText<48> path, text;
  path << "/proc/" << static_cast<uint64_t>(pid) << "/autogroup";
  text << static_cast<uint64_t>(nice);
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return errno != EACCES;
  const auto value = text.view();
  return ::write(file.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
}

}  // namespace

void lower_priority(CodeIds ids, int nice, int session_nice, const std::vector<Fd>& fds) {
  const int of_init = ::getsid(pid_of(fds.front().get())), ours = ::getsid(0);
  std::vector<int> named;
  for (size_t i = 1; i < fds.size() && session_nice > 0; i++) {
    const int pid = pid_of(fds[i].get());
    const int session = pid > 0 ? ::getsid(pid) : -1;
    if (session > 0 && session != of_init && session != ours) named.push_back(pid);
  }
  std::vector<int> not_dumpable;
  {
    const EffectiveUser code(ids.runner);
    if (!code) return;
    // EACCES: some have a lower priority already.
    if (nice > 0) (void)::setpriority(PRIO_USER, ids.runner, nice);
    for (const int pid : named)
      if (!lower_autogroup(pid, session_nice)) not_dumpable.push_back(pid);
  }
  if (not_dumpable.empty()) return;
  const EffectiveUser owner(ids.init);
  if (!owner) return;
  for (const int pid : not_dumpable) (void)lower_autogroup(pid, session_nice);
}

}  // namespace jail

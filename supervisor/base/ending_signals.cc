#include "supervisor/base/ending_signals.h"

#include <signal.h>
#include <sys/signalfd.h>

#include <cerrno>

Result<AsyncFd> catch_ending_signals(Loop& loop) {
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&ends, signal);
  if (::sigprocmask(SIG_BLOCK, &ends, nullptr) < 0) return fail_errno(errno, "sigprocmask");
  ::signal(SIGPIPE, SIG_IGN);
  Fd signals(::signalfd(-1, &ends, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!signals) return fail_errno(errno, "signalfd");
  return AsyncFd::adopt(loop, std::move(signals));
}

// warder-jailer: the program of the jailer. warderd starts it (jail/jailer_client/jailer_start.h).
#include <fcntl.h>
#include <sys/prctl.h>

#include "jail/jailer/jailer.h"
#include "jail/jailer_message.h"

namespace {

constexpr int kExitUsage = 64;  // sysexits.h EX_USAGE

int report(jail::JailerLog& log, const Error& error) {
  log.write({error.what, error.hint.empty() ? "" : "; ", error.hint});
  return 1;
}

}  // namespace

int main() {
  jail::JailerLog log;
  if (::fcntl(jail::kJailerSocketFd, F_SETFD, FD_CLOEXEC) < 0) {
    log.write({"warderd starts this program; it does nothing by itself"});
    return kExitUsage;
  }
  Fd orders(jail::kJailerSocketFd);
  ::prctl(PR_SET_NAME, "warder-jailer");  // execveat(2) names a process after the number of its descriptor
  auto setup = jail::receive_setup(orders.get());
  if (!setup) return report(log, setup.error());
  log.set_for_journal(setup->for_journal);
  jail::Jailer jailer(*std::move(setup), std::move(orders), log);
  if (auto ready = jailer.prepare(); !ready) return report(log, ready.error());
  return jailer.serve();
}

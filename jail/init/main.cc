// warder-jail-init: the program of process 1 in a jail.
#include <sys/prctl.h>
#include <unistd.h>

#include "jail/init/steps.h"

namespace jail::init {

void run() {
  prctl(PR_SET_NAME, "warder-jail-init");  // else it has the number of the descriptor that it was started from
  take(Step::read_plan, read_plan);
  close(kPlanFd);
  build();
}

}  // namespace jail::init

int main() { jail::init::run(); }

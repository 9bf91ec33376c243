// warder-jail-init: the program of process 1 in a jail.
#include <sys/prctl.h>
#include <unistd.h>

#include "jail/init/steps.h"

int main() {
  using namespace jail;
  prctl(PR_SET_NAME, "warder-jail-init");  // else it has the number of the descriptor that it was started from
  init::take(Step::read_plan, init::read_plan);
  close(kPlanFd);
  init::build();
}

// warder-jail-init: the program of process 1 in a jail, if the jail's runner execs its interpreter.
#include "jail/init/steps.h"

int main() {
  using namespace jail;
  init::take(Step::read_plan, init::read_plan);
  init::build();
}

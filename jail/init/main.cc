// warder-jail-init: process 1 of every jail whose runner execs its interpreter.
#include "jail/init/steps.h"

int main() {
  using namespace jail;
  init::take(Step::read_plan, init::read_plan);
  init::build();
}

// Conclusion: completes the Report of an ended execution: from the evidence to the outcome, its sentence with advice,
// the exit status and the output.
// Source: jail/execution/running_execution.cc, once its jail tells no more. Pure. No errors.
#pragma once
#include <string>

#include "jail/execution/execution.h"
#include "jail/execution/outcome.h"
#include "jail/talk/capture.h"

namespace jail {

// What an ended program leaves besides the evidence. References are borrowed during the call.
struct EndedProgram {
  const Request& request;
  const Capture& out;
  const Capture& err;
  std::string violation;  // of the guest protocol; empty: absent
  bool has_cgroup = false;
};

// `report` has the runner's result, and the usage. Fills in all other members but the receipt.
void conclude(Report& report, const Evidence& evidence, const EndedProgram& program);
// Fills in the processes that the program left, from init's report of its end. `tasks`: the program's limit.
void count_left_running(Report& report, const InitReport& exited, uint32_t tasks);

}  // namespace jail

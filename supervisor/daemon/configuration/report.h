// Report: the result of a check as text for people, for `warderd --check` and `warder config check`: problems and
// warnings, one a line, or the files and policies that are good.
#pragma once
#include <string>

#include "supervisor/daemon/configuration/load.h"

namespace configuration {

struct CheckReport {
  std::string good;  // for standard output; empty if there is a problem or a shortfall
  std::string bad;   // for standard error: problems, shortfalls, then warnings
};
CheckReport report_of(const LoadedConfiguration& loaded);
// The same as an object: good, problems, shortfalls, warnings, files, policies.
Json report_json(const LoadedConfiguration& loaded);

}  // namespace configuration

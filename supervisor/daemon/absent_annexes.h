// Absent annexes: those that this warderd was built without (supervisor/annexes.h). Used by: the start, the doctor, and
// --version.
#pragma once
#include <optional>
#include <string>

#include "supervisor/base/result.h"
#include "supervisor/daemon/configuration/options.h"
#include "supervisor/operations/doctor/doctor.h"

// "cluster, egress"; empty: it has all.
std::string absent_annexes_text();
// Errors: invalid: the configuration has the key of an absent annex. A daemon that does not do what its files say does
// not start.
Result<> check_annexes(const Options& options);
// nullopt: it has all.
std::optional<doctor::Finding> judge_annexes();

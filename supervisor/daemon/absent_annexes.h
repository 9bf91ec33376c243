// Absent annexes: those that this warderd was built without (supervisor/annexes.h). Used by: the start, --check, a
// reload, the doctor, and --version.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/daemon/configuration/load.h"
#include "supervisor/operations/doctor/doctor.h"

bool is_annex_absent(std::string_view name);
// "cluster, egress"; empty: this warderd has all.
std::string absent_annexes_text();
// Adds a problem for each key of `loaded` that only an absent annex could serve.
void note_absent_annexes(configuration::LoadedConfiguration& loaded);
// nullopt: this warderd has all.
std::optional<doctor::Finding> judge_annexes();

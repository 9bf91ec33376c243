// A bundle: a skill as one text, to be signed for all nodes of a cluster (supervisor/cluster/trust/signed_rule.h):
//   {"files": {"SKILL.md": "---\nname: fleet-report\n...", "scripts/fleet_report.py": "def fleet_report(): ..."}}
// Used by: supervisor/cluster/link/rule_files.h, `warder cluster sign`. Errors: those of skill.h; invalid: another
// form, or a file that is not UTF-8 text.
#pragma once
#include "skills/skill.h"

namespace skills {

// The skill in `directory` (O_PATH suffices) as a bundle. Its name must be `slug`.
Result<std::string> write_bundle(int directory, std::string_view slug);
// Reads a bundle that may be untrusted, as the skill `slug`.
Result<WholeSkill> read_bundle(std::string_view text, std::string_view slug);

}  // namespace skills

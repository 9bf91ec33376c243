// Search: the skills that fit the words of a query, in name or description, as a whole word or its beginning; best
// first. The work grows with the query times the number of skills, and with their texts, so it is a job of Work
// (base/work.h). Source: Library::all(). Used by: supervisor/tools. Errors: those of the meter. Only the first 1,000
// bytes of a query count; without words, all skills fit.
#pragma once
#include <string_view>
#include <vector>

#include "skills/library.h"
#include "supervisor/base/work_meter.h"

namespace skills {

// Skills that have a word of the query.
Result<std::vector<SkillMatch>> search(const std::vector<SkillMatch>& among, std::string_view query, WorkMeter& meter);
// Like search(), but a skill must have more than a third of the query's words, and both of two, or two of three: for
// use in a list of tools.
Result<std::vector<SkillMatch>> fitting(const std::vector<SkillMatch>& among, std::string_view query, WorkMeter& meter);

}  // namespace skills

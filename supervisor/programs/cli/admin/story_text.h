// Story text: past executions for people: a table, and all that is stored of one execution. Used by: history.cc,
// top_draw.cc. Source: ListHistory and GetRecord, of any form. A member that is missing is shown as "-".
#pragma once
#include <string>
#include <vector>

#include "supervisor/programs/cli/admin/values.h"

namespace admin {

// A line of titles, then one line for each execution.
std::vector<std::string> history_table(const std::vector<Json>& rows, size_t width);
// Lines of "name  value", and one line for each file and call. Texts of programs are printable ASCII.
std::string story_text(const Json& record);
// The lines of story_text() about changed files and calls.
std::string changes_text(const Json& record);
// The record with its receipt, and the details of its calls, as JSON in the place of their text.
Json with_parsed_receipt(Json record);

}  // namespace admin

// Answer advice: the next step for the author of a program that uses a name or a file of /tmp of an earlier call,
// leaves its value in a variable, or asks a person. The searched texts come from the agent and may be hostile: a word
// in a text only chooses a sentence. Each search is linear in a bounded text. Pure; no errors; an empty text: no
// advice. Used by: code_execution.cc.
#pragma once
#include <string>
#include <string_view>

#include "jail/language.h"
#include "supervisor/executions/recent_code.h"

namespace jail {
struct Report;
}

namespace runs {

// Which execution of the tenant a sentence is about.
struct AdvisedExecution {
  const std::string& tenant;  // TenantId::text()
  const std::string& id;
  const std::string& session;  // empty: no session
  jail::Language language;
};

// The program failed at a name, or at a file of /tmp, which an earlier execution has in its code.
std::string earlier_name_advice(const executions::RecentCode& recent, const AdvisedExecution& execution,
                                const jail::Report& report);
// A shell program reads variables that an earlier shell program exported, and that are empty in this one.
std::string earlier_export_advice(const executions::RecentCode& recent, const AdvisedExecution& execution,
                                  std::string_view code);
// The program succeeded, and its result is null although it ends with an assignment; or it asks a person.
std::string null_result_advice(std::string_view code, jail::Language language, const jail::Report& report);

}  // namespace runs

#include "supervisor/tools/execution/execution_code.h"

#include "supervisor/base/json/json.h"
#include "supervisor/tenants/executions.h"

namespace tools {
Result<std::string> read_code(const executions::RecentCode& recent, const std::string& tenant,
                              const std::string& execution) {
  CHECKED(tenants::check_execution_id(execution));
  const auto it = recent.find(tenant, execution);
  if (!it)
    return fail(Code::not_found, "the code of execution '" + execution + "' is not known",
                "the daemon holds the code of the newest executions, until it ends: run the program again");
  if (!it->text)
    return fail(Code::not_found,
                "the code of execution '" + execution + "' is not held: it was too long, or newer code took its place",
                "run the program again; code of at most 256 KiB is held");
  return dump_json(Json{{"execution_id", execution},
                        {"language", it->language},
                        {"code_hash", it->hash},
                        {"code", valid_utf8(*it->text)}});
}

}  // namespace tools

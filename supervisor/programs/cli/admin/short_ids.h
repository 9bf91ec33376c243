// Short ids: the beginning of an id is enough wherever a command takes one, if only one id begins so.
// Source: the words of the command line, the ids that warderd lists. Used by: all commands with EXECUTION or APPROVAL,
// executions.cc (what `warder ps` prints). Errors: not_found; invalid: several ids begin so, with those ids.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/programs/cli/admin/bus_client.h"

namespace admin {

// The id in `ids` that begins with `typed`, or is equal to it. `kind`: "execution", "call"; `list`: the command that
// lists the ids.
Result<std::string> match_id(std::string_view typed, const std::vector<std::string>& ids, std::string_view kind,
                             std::string_view list);
// The number of characters that tells all `ids` apart, at least 6.
size_t short_length(const std::vector<std::string>& ids);

// The execution that `typed` means. A whole id that warderd does not list is returned unchanged: output is kept longer
// than that. Errors: as above, and those of BusClient.
Result<std::string> find_execution(const BusClient& warderd, const std::string& typed);
// The waiting call that `typed` means.
Result<std::string> find_approval(const BusClient& warderd, const std::string& typed);

}  // namespace admin

// The stored form of a background execution that a later daemon may start again: its client and its
// arguments. Source: execute.cc, supervisor/daemon/. Errors: invalid, a stored text has another form.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/protocol/mcp/principal.h"
#include "supervisor/records/workflows/workflow.h"

namespace tenants {
struct Member;
}

namespace runs {

// The run of this execution, if a policy lets it be started again, and it can be: its arguments are not large
// (is_large(); they are written and read on the loop), it has no session and no branches, and its client has no
// credentials that expire by themselves (a JWT). Otherwise nullptr.
std::shared_ptr<const workflows::StoredRun> resumable_run(const tenants::Member& member, const std::string& execution,
                                                          const Json& arguments);

// StoredCaller: the client of a stored run, as the rules of tenants.json judge clients.
struct StoredCaller {
  mcp::Principal principal;
  std::optional<std::string> unit;  // see policies::Peer
};
Result<StoredCaller> read_stored_caller(std::string_view text);

}  // namespace runs

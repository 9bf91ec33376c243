// The answers of other nodes in the form that this node's client gets. Used by: request_router.cc.
#pragma once
#include <string>

#include "supervisor/base/json/json_value.h"
#include "supervisor/protocol/mcp/answers.h"
#include "supervisor/protocol/mcp/method.h"
#include "supervisor/protocol/mcp/protocol.h"

namespace cluster {

// The keys of _meta and of errors.
inline constexpr char kNodeKey[] = "org.warder/node";

// The client's form of a result.
struct ResultForm {
  mcp::Method method;
  mcp::Version version;
  std::string server;  // the name of this server as JSON (mcp::Server::identity())
  std::string node;    // the node that answered
};
// The members of a result that another node sent in the newest version; its _meta says which node that was. Uses only
// its arguments, so it may run on any thread. Errors of the answer: the other node's result has another form.
mcp::Answer write_far_result(const Json& result, const ResultForm& form);

// The error code for this node's client: the other node answered in the newest version, in which some codes are others.
mcp::ErrorCode far_error_code(int64_t code, const Json& data, const ResultForm& form);

// Whether an answer of another node says that no part of the request ran: the result of a tool, or the data of an
// error. "org.warder/not-run" in it is the word of the other daemon about itself, so it is never passed to a client.
bool denies_run(const Json& answer);

// Whether an answer of another node says that it is not the home any more. No part of the request ran there.
bool says_moved(const Json& answer);

// The answer to a request that another node did not answer. For tools it is a result that says so.
struct FarFailure {
  std::string code, why, remedy, node;
  bool may_have_run = false;
  bool has_moved = false;  // for another node: says_moved()
};
mcp::Answer write_far_failure(const FarFailure& failure, const ResultForm& form);

}  // namespace cluster

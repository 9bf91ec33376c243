#include "supervisor/executions/runs/resumed_execution.h"

#include "policies/policy.h"
#include "policies/tenant_rules.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/large_value.h"
#include "supervisor/tenants/tenant.h"

namespace runs {
namespace {

// Empty: credentials that a later daemon cannot check.
std::string write_caller(const policies::CallerCredentials& credentials) {
  if (const auto* bearer = std::get_if<policies::TokenBearer>(&credentials))
    return dump_json(Json{{"token", bearer->token}});
  const auto* peer = std::get_if<policies::Peer>(&credentials);
  if (!peer) return {};
  Json report = {{"uid", peer->uid}, {"gid", peer->gid}, {"groups", peer->groups}};
  if (peer->unit) report["unit"] = *peer->unit;
  return dump_json(report);
}

}  // namespace

std::shared_ptr<const workflows::StoredRun> resumable_run(const tenants::Member& member, const std::string& execution,
                                                          const Json& arguments) {
  if (member.policy->workflows.resume == 0 || arguments.contains("fork") || arguments.contains("session") ||
      is_large(arguments))
    return nullptr;
  workflows::StoredRun run;
  run.execution = execution;
  run.caller = write_caller(member.credentials);
  run.arguments = dump_json(arguments);
  if (run.caller.empty()) return nullptr;
  return std::make_shared<const workflows::StoredRun>(std::move(run));
}

Result<StoredCaller> read_stored_caller(std::string_view text) {
  TRY(const Json stored, parse_json(text));
  Fields in(stored, "caller");
  StoredCaller caller;
  if (in.has("token")) {
    TRY(const std::string token, in.string("token"));
    CHECKED(in.done());
    caller.principal = mcp::Principal::of_token(token);
    return caller;
  }
  mcp::PeerProcess peer;
  TRY(const int64_t uid, in.integer("uid", 0, UINT32_MAX));
  TRY(const int64_t gid, in.integer("gid", 0, UINT32_MAX));
  peer.uid = static_cast<uid_t>(uid), peer.gid = static_cast<gid_t>(gid);
  const Json* groups = in.find("groups");
  if (!groups || !groups->is_array()) return fail(Code::invalid, "caller.groups: not a list");
  for (const Json& group : *groups) {
    if (!group.is_number_unsigned() || group.get<uint64_t>() > UINT32_MAX)
      return fail(Code::invalid, "caller.groups: not the id of a group");
    peer.groups.push_back(group.get<gid_t>());
  }
  if (in.has("unit")) {
    TRY(caller.unit, in.string("unit"));
  }
  CHECKED(in.done());
  caller.principal = mcp::Principal(std::move(peer));
  return caller;
}

}  // namespace runs

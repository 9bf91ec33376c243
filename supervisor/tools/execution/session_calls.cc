#include "supervisor/tools/execution/session_calls.h"

#include "supervisor/base/clock.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/tenants/sessions.h"
#include "supervisor/tenants/tenant.h"

namespace tools {
namespace {

constexpr size_t kMaxContextBytes = 16 << 10;

Result<Json> set_checkpoint(const calls::GuestCaller& caller, const Json& arguments) {
  if (caller.session.empty())
    return fail(Code::invalid, "a checkpoint belongs to a session, and this execution has no session",
                "call execute_code with a `session`");
  Fields in(arguments, "checkpoint");
  tenants::SessionCheckpoint checkpoint;
  TRY(checkpoint.step, in.integer("step", -1'000'000'000, 1'000'000'000));
  TRY(checkpoint.context, in.string_or("context", "", kMaxContextBytes));
  TRY(checkpoint.session_description, in.string_or("description", "", kMaxContextBytes));
  CHECKED(in.done());
  checkpoint.last_task = caller.execution;
  checkpoint.timestamp = iso_time_now();
  CHECKED(caller.tenant->sessions().checkpoint(caller.session, checkpoint));
  return Json{{"step", checkpoint.step}, {"timestamp", checkpoint.timestamp}};
}

Result<Json> read_log(const calls::GuestCaller& caller, const Json& arguments) {
  Fields in(arguments, "session_log");
  TRY(std::string session, in.string_or("session", caller.session, 65));
  CHECKED(in.done());
  TRY(std::string text, caller.tenant->sessions().read(session));
  return parse_json(text);
}

}  // namespace

void add_session_calls(calls::GuestCalls& calls) {
  calls.add("checkpoint", [](const calls::GuestCaller& caller, Json arguments) -> Task<Result<jail::CallReply>> {
    co_return set_checkpoint(caller, arguments);
  });
  calls.add("session_log", [](const calls::GuestCaller& caller, Json arguments) -> Task<Result<jail::CallReply>> {
    co_return read_log(caller, arguments);
  });
}

}  // namespace tools

// ListCodeUse over D-Bus: the programs that ran repeatedly and the skills that were used, with counts and hashes and
// without any code. A caller sees what it sees of past executions (history.cc).
#include <algorithm>

#include "policies/names.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/operations/bus/bus_objects.h"
#include "supervisor/operations/bus/json_values.h"

namespace bus {
namespace {

constexpr uint32_t kMaxUses = 500;  // of each list in an answer

Json to_json(const executions::UseCounts& counts) {
  Json told = {{"Runs", counts.runs},
               {"Succeeded", counts.succeeded},
               {"LastUSec", static_cast<uint64_t>(std::max<int64_t>(counts.last_ms, 0)) * 1000},
               {"LastExecution", counts.last_execution}};
  if (counts.ended > 0) told["MeanWallUSec"] = counts.wall_us / counts.ended;
  return told;
}

Json to_json(const executions::ProgramUse& program) {
  Json told = to_json(program.counts);
  told["Tenant"] = program.tenant;
  told["Hash"] = program.hash;
  told["Language"] = program.language;
  told["Bytes"] = program.bytes;
  told["IsReadable"] = program.is_readable;
  return told;
}

Json to_json(const executions::SkillUse& skill) {
  Json told = to_json(skill.counts);
  told["Tenant"] = skill.tenant;
  told["Skill"] = skill.skill;
  told["IsShared"] = skill.is_shared;
  return told;
}

template <class Use>
Json list_of(const std::vector<Use>& uses) {
  Json list = Json::array();
  for (const Use& use : uses) list.push_back(to_json(use));
  return list;
}

}  // namespace

Task<Result<MessagePtr>> BusObjects::list_code_use(MessagePtr call) {
  const char* text = nullptr;
  uint32_t most = 0;
  if (int r = sd_bus_message_read(call.get(), "su", &text, &most); r < 0)
    co_return fail_errno(-r, "read the arguments", Code::invalid);
  std::optional<std::string> asked;
  if (*text != '\0') asked = text;
  if (asked && !policies::valid_name(*asked))
    co_return fail(Code::invalid, "tenant: not the name of a tenant", "warder tenants lists them");
  most = std::min(most == 0 ? kMaxUses : most, kMaxUses);
  MessagePtr asking = share(call.get());
  CO_TRY(const std::string account, co_await readable_records(std::move(asking), std::move(asked)));
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  int r = append_objects(reply.get(), list_of(services_.recent_code.programs(account, 2, most)));
  if (r >= 0) r = append_objects(reply.get(), list_of(services_.recent_code.skills(account, most)));
  if (r < 0) co_return fail_errno(-r, "list the use of code");
  co_return reply;
}

}  // namespace bus

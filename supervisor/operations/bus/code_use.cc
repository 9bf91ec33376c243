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
  Json report = {{"Runs", counts.runs},
                 {"Succeeded", counts.succeeded},
                 {"LastUSec", static_cast<uint64_t>(std::max<int64_t>(counts.last_ms, 0)) * 1000},
                 {"LastExecution", counts.last_execution}};
  if (counts.ended > 0) report["MeanWallUSec"] = counts.wall_us / counts.ended;
  return report;
}

Json to_json(const executions::ProgramUse& program) {
  Json report = to_json(program.counts);
  report["Tenant"] = program.tenant;
  report["Hash"] = program.hash;
  report["Language"] = program.language;
  report["Bytes"] = program.bytes;
  report["IsReadable"] = program.is_readable;
  return report;
}

Json to_json(const executions::SkillUse& skill) {
  Json report = to_json(skill.counts);
  report["Tenant"] = skill.tenant;
  report["Skill"] = skill.skill;
  report["IsShared"] = skill.is_shared;
  return report;
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
  uint32_t max = 0;
  if (int r = sd_bus_message_read(call.get(), "su", &text, &max); r < 0)
    co_return fail_errno(-r, "read the arguments", Code::invalid);
  std::optional<std::string> request;
  if (*text != '\0') request = text;
  if (request && !policies::valid_name(*request))
    co_return fail(Code::invalid, "tenant: not the name of a tenant", "warder tenants lists them");
  max = std::min(max == 0 ? kMaxUses : max, kMaxUses);
  MessagePtr asking = share(call.get());
  CO_TRY(const std::string account, co_await readable_records(std::move(asking), std::move(request)));
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  int r = append_objects(reply.get(), list_of(services_.recent_code.programs(account, 2, max)));
  if (r >= 0) r = append_objects(reply.get(), list_of(services_.recent_code.skills(account, max)));
  if (r < 0) co_return fail_errno(-r, "list the use of code");
  co_return reply;
}

}  // namespace bus

// org.warder.Warder1.Manager.RunDoctor: the daemon checks itself and its machine (../../daemon/self_examination.cc).
#include "supervisor/base/log.h"
#include "supervisor/base/version.h"
#include "supervisor/operations/bus/bus_objects.h"

namespace bus {
namespace {

int append_finding(sd_bus_message* to, const doctor::Finding& finding) {
  int r = sd_bus_message_open_container(to, 'r', "ssss");
  for (const std::string& text :
       {finding.what, std::string(doctor::health_name(finding.health)), finding.found, finding.remedy})
    if (r >= 0) r = append(to, text);
  return r < 0 ? r : sd_bus_message_close_container(to);
}

}  // namespace

Task<Result<MessagePtr>> BusObjects::run_doctor(MessagePtr call) {
  CO_TRY(auto caller, co_await authority_.allow(share(call.get()), Right::configure, std::string()));
  log_notice("D-Bus: user {} runs the doctor", caller.uid);
  CO_TRY(doctor::Findings findings, co_await services_.health.examine());
  findings.push_back(doctor::judge_bus(kWarderVersion, properties().state, reload_problem_));
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  int r = sd_bus_message_open_container(reply.get(), 'a', "(ssss)");
  for (const auto& finding : findings)
    if (r >= 0) r = append_finding(reply.get(), finding);
  if (r >= 0) r = sd_bus_message_close_container(reply.get());
  if (r < 0) co_return fail_errno(-r, "answer with the findings");
  co_return reply;
}

}  // namespace bus

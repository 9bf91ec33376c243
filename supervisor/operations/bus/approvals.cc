// Approvals over D-Bus: ListApprovals, Approve, Deny and their signals. A caller sees an approval only if the caller
// may decide it or is its tenant. Owners of approvals and the policy's rules: supervisor/upstream/calls/approvals.h.
#include <fmt/format.h>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/operations/bus/bus_objects.h"

namespace bus {
namespace {

using By = policies::ApprovalRules::By;
constexpr size_t kMaxReason = 500;

int append_entry(sd_bus_message* to, const char* name, const char* type, const auto& value) {
  int r = sd_bus_message_open_container(to, 'e', "sv");
  if (r >= 0) r = sd_bus_message_append(to, "s", name);
  if (r >= 0) r = sd_bus_message_append(to, "v", type, value);
  if (r >= 0) r = sd_bus_message_close_container(to);
  return r;
}

int append_approval(sd_bus_message* to, const calls::Approval& approval) {
  const std::pair<const char*, const std::string&> texts[] = {{"Id", approval.id},
                                                              {"Tenant", approval.tenant},
                                                              {"Execution", approval.execution},
                                                              {"Tool", approval.tool},
                                                              {"Rule", approval.rule},
                                                              {"Why", approval.why},
                                                              {"Arguments", approval.arguments},
                                                              {"Principal", approval.principal}};
  int r = sd_bus_message_open_container(to, 'a', "{sv}");
  for (const auto& [name, value] : texts)
    if (r >= 0) r = append_entry(to, name, "s", value.c_str());
  if (r >= 0) r = append_entry(to, "By", "s", approval.by == By::tenant ? "tenant" : "administrator");
  if (r >= 0) r = append_entry(to, "UID", "u", approval.uid);
  if (r >= 0) r = append_entry(to, "PID", "u", static_cast<uint32_t>(approval.pid));
  if (r >= 0) r = append_entry(to, "AskedUSec", "t", static_cast<uint64_t>(approval.requested_ms) * 1000);
  if (r >= 0) r = append_entry(to, "ExpiresUSec", "t", static_cast<uint64_t>(approval.expires_ms) * 1000);
  if (r >= 0) r = sd_bus_message_close_container(to);
  return r;
}

}  // namespace

void BusObjects::approval(const calls::Approval& approval, calls::Approvals::RequestChange subject,
                          std::string_view how) {
  if (subscribers_.empty() || connection_.congested()) return;
  const bool request = subject == calls::Approvals::RequestChange::requested;
  const std::string outcome(how);
  // Signals hold no arguments of the call. ListApprovals gives the details.
  notify(approval.tenant, kPath, kManager, request ? "ApprovalRequested" : "ApprovalSettled", [&](sd_bus_message* to) {
    const int r =
        sd_bus_message_append(to, "sss", approval.id.c_str(), approval.execution.c_str(), approval.tenant.c_str());
    if (r < 0 || !request) return r < 0 ? r : append(to, outcome);
    return append(to, static_cast<uint64_t>(approval.expires_ms) * 1000);
  });
}

Task<Result<MessagePtr>> BusObjects::list_approvals(MessagePtr call) {
  CO_TRY(policies::Peer caller, co_await authority_.identify(share(call.get())));
  const std::string own = authority_.tenant_of(caller);
  bool all = authority_.is_master(caller);
  if (!all) {
    auto admin = co_await authority_.allow(share(call.get()), Right::approve_calls, std::string());
    all = admin.has_value();
    if (!all && own.empty()) co_return tl::unexpected<Error>(std::move(admin).error());
  }
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  int r = sd_bus_message_open_container(reply.get(), 'a', "a{sv}");
  for (const calls::Approval* approval : services_.approvals.all()) {
    if (r >= 0 && (all || approval->tenant == own)) r = append_approval(reply.get(), *approval);
  }
  if (r >= 0) r = sd_bus_message_close_container(reply.get());
  if (r < 0) co_return fail_errno(-r, "list the calls that wait for an approval");
  co_return reply;
}

// Shows the arguments with personal data. The look is in the audit chain before the answer is made: without that entry
// there is no answer.
Task<Result<MessagePtr>> BusObjects::reveal_approval(MessagePtr call) {
  const char* text = nullptr;
  if (int r = sd_bus_message_read(call.get(), "s", &text); r < 0)
    co_return fail_errno(-r, "read the argument", Code::invalid);
  const std::string id(text);
  CO_TRY(policies::Peer caller,
         co_await authority_.allow(share(call.get()), Right::reveal_personal_data, std::string()));
  const calls::Approval* waiting = services_.approvals.find(id);
  if (!waiting)
    co_return fail(Code::not_found, "no call of this id waits for an approval", "list them: warder approvals");
  journal::AuditEntry entry;
  entry.at_ms = journal::now_ms();
  entry.tenant = waiting->tenant;
  entry.uid = caller.uid;
  entry.action = "reveal";
  entry.subject = waiting->tool;
  entry.kind = journal::AuditKind::approval;
  CO_TRY(const calls::Approvals::ApprovalView scan, services_.approvals.inspect(id));
  Json shape{{"approval", id}, {"values", scan.values}, {"look", scan.number}};
  if (!waiting->execution.empty()) shape["execution"] = waiting->execution;
  entry.shape = dump_json(shape);
  log_notice("D-Bus: user {} looks at the personal data in the arguments of call {} ({} values)", caller.uid, id,
             scan.values);
  auto recorded = co_await services_.journal.audit_first(std::move(entry));
  if (!recorded)
    co_return tl::unexpected<Error>(
        std::move(recorded).error().within("the data are not shown, because the look cannot be "
                                           "recorded in the audit chain"));
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  sd_bus_message_sensitive(reply.get());
  if (int r = append(reply.get(), scan.arguments); r < 0) co_return fail_errno(-r, "answer with the arguments");
  co_return reply;
}

Task<Result<MessagePtr>> BusObjects::settle(MessagePtr call, std::string id, calls::ApprovalVerdict verdict) {
  const calls::Approval* waiting = services_.approvals.find(id);
  const auto here = execution_at(sd_bus_message_get_path(call.get()));
  const bool elsewhere = here && waiting && waiting->execution != here->id;
  if (!waiting || elsewhere)
    co_return fail(Code::not_found, "no call of this id waits for an approval",
                   "list the waiting calls: warder approvals");
  const std::string tenant = waiting->by == By::tenant ? waiting->tenant : std::string();
  CO_TRY(policies::Peer caller, co_await authority_.allow(share(call.get()), Right::approve_calls, tenant));
  verdict.by = fmt::format("user {} over D-Bus", caller.uid);
  CO_CHECKED(services_.approvals.settle(id, std::move(verdict)));  // fails if it was settled meanwhile
  co_return reply_to(call.get());
}

Task<Result<MessagePtr>> BusObjects::approve(MessagePtr call) {
  const char* id = nullptr;
  if (int r = sd_bus_message_read(call.get(), "s", &id); r < 0)
    co_return fail_errno(-r, "read the argument", Code::invalid);
  calls::ApprovalVerdict verdict;
  verdict.kind = calls::ApprovalVerdict::Kind::approved;
  auto done = co_await settle(share(call.get()), id, std::move(verdict));
  co_return done;
}

Task<Result<MessagePtr>> BusObjects::deny(MessagePtr call) {
  const char *id = nullptr, *reason = nullptr;
  if (int r = sd_bus_message_read(call.get(), "ss", &id, &reason); r < 0)
    co_return fail_errno(-r, "read the arguments", Code::invalid);
  calls::ApprovalVerdict verdict;
  verdict.kind = calls::ApprovalVerdict::Kind::denied;
  verdict.reason = reason;
  if (verdict.reason.size() > kMaxReason)
    co_return fail(Code::invalid, "the reason has more than 500 bytes", "give a shorter reason");
  auto done = co_await settle(share(call.get()), id, std::move(verdict));
  co_return done;
}

}  // namespace bus

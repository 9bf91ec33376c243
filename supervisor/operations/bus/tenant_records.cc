// Tenants over D-Bus: ListTenantRecords, with tenants that have not connected since the start, and RemoveTenant.
#include <algorithm>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/operations/bus/bus_objects.h"
#include "supervisor/operations/bus/json_values.h"
#include "supervisor/tenants/tenant.h"

namespace bus {
namespace {

using AccountSums = journal::Journal::AccountSums;

Json record_of_tenant(const DaemonServices& services, const std::string& name, const AccountSums& sums) {
  Json record = {{"Name", name},
                 {"Executions", sums.executions},
                 {"Running", uint64_t{services.executions.count(name, executions::Stage::running)}},
                 {"Waiting", uint64_t{services.executions.count(name, executions::Stage::waiting)}},
                 {"Sessions", uint64_t{services.tenants.sessions_of(name)}},
                 {"Connected", uint64_t{services.members.of(name).count}}};
  if (sums.uid) record["UID"] = uint64_t{*sums.uid};
  if (!sums.principal.empty()) record["Principal"] = sums.principal;
  if (sums.last_ms) record["LastUSec"] = static_cast<uint64_t>(std::max<int64_t>(*sums.last_ms, 0)) * 1000;
  const auto open = services.registry.of_account(name);
  if (open.empty()) return record;
  uint64_t bytes = 0, files = 0, proposals = 0, proposal_bytes = 0;
  for (const auto& item : open) {
    if (const auto store = services.proposals.find(item->id())) {
      proposals += store->open_proposals();
      proposal_bytes += store->usage().bytes;
    }
    const auto& usage = item->workspace().quota().usage();
    bytes += usage.bytes, files += usage.files;
  }
  record["WorkspaceBytes"] = bytes, record["WorkspaceFiles"] = files;
  record["OpenProposals"] = proposals, record["ProposalBytes"] = proposal_bytes;
  return record;
}

}  // namespace

Task<Result<MessagePtr>> BusObjects::list_tenant_records(MessagePtr call) {
  const std::optional<std::string> own;
  MessagePtr asking = share(call.get());
  CO_TRY(const std::string only, co_await readable_records(std::move(asking), own));
  CO_TRY(auto sums, co_await services_.journal.accounts());
  if (only.empty()) {  // the folders of all tenants are listed for administrators only
    CO_TRY(const auto folders, services_.registry.all_tenants());
    for (const std::string& name : folders) sums.try_emplace(name);
  } else {
    sums.try_emplace(only);
  }
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  int r = sd_bus_message_open_container(reply.get(), 'a', "a{sv}");
  for (const auto& [name, of_tenant] : sums)
    if (r >= 0 && (only.empty() || only == name))
      r = append_object(reply.get(), record_of_tenant(services_, name, of_tenant));
  if (r >= 0) r = sd_bus_message_close_container(reply.get());
  if (r < 0) co_return fail_errno(-r, "list the tenants");
  co_return reply;
}

Task<Result<MessagePtr>> BusObjects::remove_tenant(MessagePtr call) {
  const char* text = nullptr;
  int forced = 0;
  if (int r = sd_bus_message_read(call.get(), "sb", &text, &forced); r < 0)
    co_return fail_errno(-r, "read the arguments", Code::invalid);
  std::string name(text);
  CO_TRY(auto caller, co_await authority_.allow(call.get(), Right::configure));
  log_notice("D-Bus: user {} removes the tenant {}", caller.uid, printable(name, 64));
  const auto force = forced != 0 ? tenants::RemovalForce::yes : tenants::RemovalForce::no;
  auto removed = co_await services_.tenants.remove(std::move(name), force, caller.uid);
  if (!removed) co_return tl::unexpected<Error>(std::move(removed).error());
  co_return reply_to(call.get());
}

}  // namespace bus

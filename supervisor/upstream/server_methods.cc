// Upstream servers over D-Bus: ListServers, TestServer. Problems of servers may quote their standard error, and names
// of tools tell what a machine is used for: who sees all tenants sees them, and administrators test a server.
#include "policies/names.h"
#include "supervisor/base/log.h"
#include "supervisor/upstream/bus_methods.h"

namespace upstream {
namespace {

using namespace bus;

int append_member(sd_bus_message* to, const char* name, const char* type, const auto& value) {
  int r = sd_bus_message_open_container(to, 'e', "sv");
  if (r >= 0) r = sd_bus_message_append(to, "s", name);
  if (r >= 0) r = sd_bus_message_open_container(to, 'v', type);
  if (r >= 0) r = append(to, value);
  if (r >= 0) r = sd_bus_message_close_container(to);
  return r < 0 ? r : sd_bus_message_close_container(to);
}

int append_server(sd_bus_message* to, const ServerStatus& status) {
  const std::pair<const char*, std::string> texts[] = {{"Name", status.name},
                                                       {"Kind", status.kind},
                                                       {"Place", status.location},
                                                       {"State", std::string(state_name(status.state))},
                                                       {"Problem", status.problem},
                                                       {"ImportedFrom", status.imported_from},
                                                       {"Login", std::string(login_name(status.login))}};
  int r = sd_bus_message_open_container(to, 'a', "{sv}");
  for (const auto& [name, value] : texts)
    if (r >= 0) r = append_member(to, name, "s", value);
  if (r >= 0) r = append_member(to, "Tools", "as", status.tools);
  if (r >= 0) r = append_member(to, "Connections", "u", status.connections);
  if (r >= 0) r = append_member(to, "Logins", "u", status.logins);
  if (r >= 0) r = append_member(to, "LoginUntilUSec", "t", status.login_until_s * 1'000'000);
  return r < 0 ? r : sd_bus_message_close_container(to);
}

Task<Result<MessagePtr>> list_servers(UpstreamServers& servers, MessagePtr call, Authority& authority) {
  CO_TRY(const Viewer viewer, co_await authority.view(share(call.get())));
  if (!viewer.sees_all)
    co_return fail(Code::denied, "upstream servers are shown to users that see all tenants",
                   "call as root, the daemon's user, or a member of warder-operator");
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  int r = sd_bus_message_open_container(reply.get(), 'a', "a{sv}");
  for (const auto& status : servers.statuses())
    if (r >= 0) r = append_server(reply.get(), status);
  if (r >= 0) r = sd_bus_message_close_container(reply.get());
  if (r < 0) co_return fail_errno(-r, "list the upstream servers");
  co_return reply;
}

Task<Result<MessagePtr>> test_server(UpstreamServers& servers, MessagePtr call, Authority& authority) {
  const char *name_text = nullptr, *tenant_text = nullptr;
  if (int r = sd_bus_message_read(call.get(), "ss", &name_text, &tenant_text); r < 0)
    co_return fail_errno(-r, "read the arguments", Code::invalid);
  const std::string name = name_text, tenant = tenant_text;
  if (!tenant.empty() && !policies::valid_name(tenant))
    co_return fail(Code::invalid, "this is not the name of a tenant");
  CO_TRY(auto caller, co_await authority.allow(share(call.get()), Right::configure, std::string()));
  log_notice("D-Bus: user {} tests the upstream server {}", caller.uid, printable(name, 64));
  CO_CHECKED(co_await servers.test(name, tenant));
  co_return reply_to(call.get());
}

}  // namespace

void offer_server_methods(OfferedMembers& members, UpstreamServers& servers) {
  members.add_method("ListServers", {}, {{"aa{sv}", "servers"}}, [&servers](MessagePtr call, Authority& authority) {
    return list_servers(servers, std::move(call), authority);
  });
  members.add_method(
      "TestServer", {{"s", "name"}, {"s", "tenant"}}, {},
      [&servers](MessagePtr call, Authority& authority) { return test_server(servers, std::move(call), authority); });
}

}  // namespace upstream

// Logins at upstream servers over D-Bus: BeginLogin, FinishLogin, LogOut. A login that all tenants share is changed by
// those who may configure the daemon; the login of a tenant also by that tenant. No answer has a token; the redirected
// URL of FinishLogin has a code, which is used up by that call.
#include "policies/names.h"
#include "supervisor/base/log.h"
#include "supervisor/upstream/bus_methods.h"

namespace upstream {
namespace {

using namespace bus;

constexpr size_t kMaxLoginScopes = 64;

Result<std::vector<std::string>> read_scopes(sd_bus_message* call) {
  std::vector<std::string> scopes;
  int r = sd_bus_message_enter_container(call, 'a', "s");
  for (const char* value = nullptr; r >= 0 && (r = sd_bus_message_read(call, "s", &value)) > 0;)
    if (scopes.size() <= kMaxLoginScopes) scopes.emplace_back(value);
  if (r >= 0) r = sd_bus_message_exit_container(call);
  if (r < 0) return fail_errno(-r, "read the scopes", Code::invalid);
  if (scopes.size() > kMaxLoginScopes) return fail(Code::invalid, "more than 64 scopes");
  return scopes;
}

std::string shown_owner(const std::string& owner) { return owner.empty() ? "all tenants" : "tenant " + owner; }

// The owner of the login that a caller names: `tenant`; empty: its own, or all tenants if the login is shared.
// Errors: denied: the caller may not act on that login.
Task<Result<std::string>> login_owner(UpstreamServers& servers, MessagePtr call, Authority& authority,
                                      std::string server, std::string tenant) {
  CO_TRY(const policies::Peer caller, co_await authority.identify(share(call.get())));
  const auto sharing = servers.is_login_shared(server);
  const bool names_tenant_of_shared = sharing && *sharing && !tenant.empty();
  if (!sharing || names_tenant_of_shared) {  // only those who may change the configuration learn which names exist
    const std::string other = tenant == authority.tenant_of(caller) ? "" : tenant;
    CO_TRY(const auto administrator, co_await authority.allow(std::move(call), Right::configure, other));
    (void)administrator;
    if (!sharing) co_return tl::unexpected<Error>(sharing.error());
    co_return fail(Code::invalid, "the login at this server is one for all tenants: name no tenant");
  }
  const bool is_shared = *sharing;
  if (!tenant.empty() && !policies::valid_name(tenant))
    co_return fail(Code::invalid, "this is not the name of a tenant");
  if (!is_shared && tenant.empty()) tenant = authority.tenant_of(caller);
  if (!is_shared && tenant.empty())
    co_return fail(Code::invalid, "each tenant has its own login at this server, and you are no tenant",
                   "name the tenant: --tenant TENANT");
  CO_TRY(const auto allowed, co_await authority.allow(std::move(call), Right::configure, tenant));
  (void)allowed;
  co_return tenant;
}

Task<Result<MessagePtr>> begin_login(UpstreamServers& servers, MessagePtr call, Authority& authority) {
  const char *server_text = nullptr, *tenant_text = nullptr, *redirect_text = nullptr;
  if (int r = sd_bus_message_read(call.get(), "sss", &server_text, &tenant_text, &redirect_text); r < 0)
    co_return fail_errno(-r, "read the arguments", Code::invalid);
  const std::string server = server_text, tenant = tenant_text, redirect = redirect_text;
  CO_TRY(std::vector<std::string> scopes, read_scopes(call.get()));
  CO_TRY(const std::string owner, co_await login_owner(servers, share(call.get()), authority, server, tenant));
  log_notice("D-Bus: a login at the upstream server {} begins, for {}", printable(server, 64), shown_owner(owner));
  CO_TRY(const auto started, co_await servers.begin_login(server, owner, redirect, std::move(scopes)));
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  if (int r = sd_bus_message_append(reply.get(), "ss", started.first.c_str(), started.second.c_str()); r < 0)
    co_return fail_errno(-r, "answer with the URL");
  co_return reply;
}

Task<Result<MessagePtr>> finish_login(UpstreamServers& servers, MessagePtr call, Authority& authority) {
  const char *server_text = nullptr, *tenant_text = nullptr, *id_text = nullptr, *redirected_text = nullptr;
  int r = sd_bus_message_read(call.get(), "ssss", &server_text, &tenant_text, &id_text, &redirected_text);
  if (r < 0) co_return fail_errno(-r, "read the arguments", Code::invalid);
  const std::string server = server_text, tenant = tenant_text, id = id_text, redirected = redirected_text;
  CO_TRY(const std::string owner, co_await login_owner(servers, share(call.get()), authority, server, tenant));
  CO_CHECKED(co_await servers.finish_login(server, owner, id, redirected));
  log_notice("D-Bus: logged in at the upstream server {}, for {}", printable(server, 64), shown_owner(owner));
  co_return reply_to(call.get());
}

Task<Result<MessagePtr>> log_out(UpstreamServers& servers, MessagePtr call, Authority& authority) {
  const char *server_text = nullptr, *tenant_text = nullptr;
  int r = sd_bus_message_read(call.get(), "ss", &server_text, &tenant_text);
  if (r < 0) co_return fail_errno(-r, "read the arguments", Code::invalid);
  const std::string server = server_text, tenant = tenant_text;
  CO_TRY(const std::string owner, co_await login_owner(servers, share(call.get()), authority, server, tenant));
  CO_TRY(const auto done, co_await servers.log_out(server, owner));
  log_notice("D-Bus: logged out at the upstream server {}, for {}{}{}", printable(server, 64), shown_owner(owner),
             done.second.empty() ? "" : "; its tokens are not revoked there: ", done.second);
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  r = sd_bus_message_append(reply.get(), "bs", static_cast<int>(done.first), done.second.c_str());
  if (r < 0) co_return fail_errno(-r, "answer");
  co_return reply;
}

}  // namespace

void offer_login_methods(OfferedMembers& members, UpstreamServers& servers) {
  const auto offer = [&members, &servers](std::string name, OfferedMembers::Parameters arguments,
                                          OfferedMembers::Parameters results, auto method,
                                          OfferedMembers::Secrecy secrecy = OfferedMembers::Secrecy::open) {
    const auto handler = [&servers, method](MessagePtr call, Authority& authority) {
      return method(servers, std::move(call), authority);
    };
    members.add_method(std::move(name), std::move(arguments), std::move(results), handler, secrecy);
  };
  offer("BeginLogin", {{"s", "server"}, {"s", "tenant"}, {"s", "redirect"}, {"as", "scopes"}},
        {{"s", "id"}, {"s", "url"}}, begin_login);
  offer("FinishLogin", {{"s", "server"}, {"s", "tenant"}, {"s", "id"}, {"s", "redirected"}}, {}, finish_login,
        OfferedMembers::Secrecy::secret);
  offer("LogOut", {{"s", "server"}, {"s", "tenant"}}, {{"b", "was_there"}, {"s", "not_revoked"}}, log_out);
}

}  // namespace upstream

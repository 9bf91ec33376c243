// Methods of the Manager on D-Bus for upstream servers: ListServers, TestServer, BeginLogin, FinishLogin, LogOut. Used
// by: part.cc. Errors of the methods: those of UpstreamServers, and of the Authority (denied).
#pragma once
#include "supervisor/operations/bus/offered_members.h"
#include "supervisor/upstream/upstream_servers.h"

namespace upstream {

// `servers` must outlive `members`.
void offer_server_methods(bus::OfferedMembers& members, UpstreamServers& servers);
void offer_login_methods(bus::OfferedMembers& members, UpstreamServers& servers);

}  // namespace upstream

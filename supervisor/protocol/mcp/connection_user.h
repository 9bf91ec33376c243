// ConnectionUser: the data that the program attaches to one connection. Base class: this library only stores the data
// and passes it back, and the program derives its own type (supervisor/tenants/tenant.h: Member).
// Source: Listener::Admit. Used by: Connection, RequestContext, Subscriptions. No errors.
#pragma once

namespace mcp {

class ConnectionUser {
 public:
  virtual ~ConnectionUser() = default;
  ConnectionUser(const ConnectionUser&) = delete;
  ConnectionUser& operator=(const ConnectionUser&) = delete;

 protected:
  ConnectionUser() = default;
};

}  // namespace mcp

// DaemonParts: logins at upstream servers, as D-Bus offers them.
#include "supervisor/daemon/daemon_parts.h"

void DaemonParts::offer_logins(bus::DaemonServices& services) {
  services.is_login_shared = [this](const std::string& server) { return upstream_.is_login_shared(server); };
  services.begin_login = [this](std::string server, std::string owner, std::string redirect,
                                std::vector<std::string> scopes) {
    return upstream_.begin_login(std::move(server), std::move(owner), std::move(redirect), std::move(scopes));
  };
  services.finish_login = [this](std::string server, std::string owner, std::string id, std::string redirected) {
    return upstream_.finish_login(std::move(server), std::move(owner), std::move(id), std::move(redirected));
  };
  services.log_out = [this](std::string server, std::string owner) {
    return upstream_.log_out(std::move(server), std::move(owner));
  };
}

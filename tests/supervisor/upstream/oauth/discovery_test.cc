// Discovery: which hosts a server may lead the daemon to.
#include "supervisor/upstream/oauth/discovery.h"

#include "tests/catch.h"

namespace {

bool is_public(const std::string& server, const std::string& url, const std::string& issuer = "") {
  oauth::TokenTarget target;
  target.url = server;
  target.settings.issuer = issuer;
  return oauth::request_to(target, url).is_public;
}

}  // namespace

TEST_CASE("a server leads to public hosts only, unless it is a private one itself", "[oauth]") {
  const std::string metadata = "https://login.example/.well-known/oauth-authorization-server";
  CHECK(is_public("https://mcp.example/mcp", metadata));
  CHECK_FALSE(is_public("https://mcp.example/mcp", "https://mcp.example/.well-known/oauth-protected-resource"));
  CHECK_FALSE(is_public("https://mcp.example/mcp", metadata, "https://login.example"));  // the administrator named it
  for (const char* server : {"http://127.0.0.1:9000/mcp", "https://localhost/mcp", "https://10.1.2.3:8443/mcp",
                             "https://[fd00::1]/mcp", "https://[::1]:4430/"}) {
    INFO(server);
    CHECK_FALSE(is_public(server, metadata));
  }
}

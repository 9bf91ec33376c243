#include "supervisor/upstream/server_config.h"

#include "supervisor/base/json/json_value.h"
#include "supervisor/upstream/secrets.h"
#include "tests/catch.h"

TEST_CASE("a server is a command, or an address", "[upstream]") {
  const Json document = {{"near", {{"command", "/bin/near"}, {"args", {"-v"}}}},
                         {"far", {{"type", "http"}, {"url", "https://example.org/mcp"}, {"headers", {{"X-A", "1"}}}}},
                         {"local", {{"url", "unix:///run/s.sock#/mcp"}, {"share", "everybody"}}}};
  auto servers = upstream::read_servers(document, "servers");
  REQUIRE(servers);
  const auto &near = servers->at(0), &far = servers->at(1), &local = servers->at(2);
  CHECK((!near.remote() && near.command == std::vector<std::string>{"/bin/near", "-v"}));
  CHECK((far.remote() && far.url == "https://example.org/mcp" && far.headers.at("X-A") == "1"));
  CHECK((local.remote() && local.socket == "/run/s.sock" && local.url == "http://localhost/mcp"));
}

TEST_CASE("a server in a jail has limits of its own", "[upstream]") {
  auto read = [](const char* text) { return upstream::read_servers({{"a", Json::parse(text)}}, "servers"); };
  CHECK(read(R"({"command": "/bin/x"})")->at(0).processes == 0);
  CHECK(read(R"({"command": "/bin/x"})")->at(0).memory_bytes == 0);
  const auto large = read(R"({"command": "/bin/x", "processes": 2000, "memory_mb": 1500})");
  CHECK((large->at(0).processes == 2000 && large->at(0).memory_bytes == uint64_t{1500} << 20));
  CHECK(read(R"({"command": "/bin/x", "processes": 0})").error().what == "servers.a.processes: 0 is outside 1..32768");
  CHECK(read(R"({"command": "/bin/x", "jail": "none", "memory_mb": 100})").error().what ==
        "servers.a.memory_mb: a server outside of jails has no limits");
}

TEST_CASE("what is wrong with an address is named", "[upstream]") {
  const std::string name =
      "unknown key; known keys: authorities, headers, idle_s, oauth, observe, secrets, share, start_s, timeout_s, "
      "type, url";
  auto [text, message] = GENERATE_COPY(table<std::string, std::string>({
      {R"({"url": "ftp://x/"})", "servers.a.url: the URL begins neither with http:// nor with https://"},
      {R"({"url": "http://user:pw@x/"})", "servers.a.url: the URL contains a user; write the password into a header"},
      {R"({"url": "unix://x"})", "servers.a.url: not the absolute path of a socket, of at most 107 bytes"},
      {R"({"url": "http://x/", "type": "sse"})",
       "servers.a.type: \"sse\" is not one of: http, streamable-http, streamableHttp"},
      {R"({"url": "http://x/", "headers": {"A B": "1"}})", "servers.a.headers: 'A B' is not a header name"},
      {R"({"url": "http://x/", "headers": {"A": "1\n2"}})", "servers.a.headers: the header A is not one line"},
      {R"({"url": "http://x/", "secrets": {"A": "token"}})", "servers.a.secrets.A: not the absolute path of a file"},
      {R"({"url": "http://x/", "secrets": {"A:": "/token"}})", "servers.a.secrets: 'A:' is not a header name"},
      {R"({"url": "http://x/", "jail": "none"})", "servers.a.jail: " + name},
      {R"({"url": "http://x/", "command": "/bin/x"})", "servers.a.command: " + name},
  }));
  CAPTURE(text);
  auto servers = upstream::read_servers({{"a", Json::parse(text)}}, "servers");
  REQUIRE_FALSE(servers);
  CHECK(servers.error().what == message);
}

TEST_CASE("a server's tokens", "[upstream]") {
  auto servers = upstream::read_servers(
      {{"a", Json::parse(R"({"url": "https://x/", "oauth": {"grant": "authorization_code", "scopes": ["a", "b"]}})")}},
      "servers");
  REQUIRE(servers);
  REQUIRE(servers->at(0).oauth);
  CHECK(servers->at(0).oauth->scopes.size() == 2);
  CHECK_FALSE(servers->at(0).oauth->has_client_document());
  auto [text, message] = GENERATE(table<std::string, std::string>({
      {R"({"url": "https://x/", "oauth": {}})", "servers.a.oauth.grant: missing"},
      {R"({"url": "https://x/", "oauth": {"grant": "password"}})", "servers.a.oauth.grant: \"password\" is not one of"},
      {R"({"url": "https://x/", "oauth": {"grant": "authorization_code", "token": "x"}})",
       "servers.a.oauth.token: unknown"},
      {R"({"url": "https://x/", "oauth": {"grant": "authorization_code", "scopes": ["a b"]}})",
       "servers.a.oauth.scopes: "},
      {R"({"url": "https://x/", "oauth": {"grant": "authorization_code", "issuer": "http://y"}})",
       "servers.a.oauth.issuer: the URL is not https"},
      {R"({"url": "https://x/", "oauth": {"grant": "authorization_code", "client_id": "https://y"}})",
       "servers.a.oauth.client_id: the URL of a client's metadata needs a path, without . and .."},
      {R"({"url": "https://x/", "oauth": {"grant": "authorization_code", "client_id": "https://y/a/../b"}})",
       "servers.a.oauth.client_id: the URL of a client's metadata needs a path, without . and .."},
      {R"({"url": "https://x/", "oauth": {"grant": "authorization_code", "client_id": "https://y/a#b"}})",
       "servers.a.oauth.client_id: the URL has a fragment"},
      {R"({"url": "https://x/", "oauth": {"grant": "client_credentials", "client_id": "c"}})",
       "servers.a.oauth.grant: client_credentials needs"},
      {R"({"url": "https://x/", "oauth": {"grant": "client_credentials", "client_id": "c", "client_secret": "/f"}})",
       "servers.a.oauth.client_secret: needs an issuer"},
      {R"({"url": "https://x/", "oauth": {"grant": "client_credentials", "client_id": "c", "client_secret": "text"}})",
       "servers.a.oauth.client_secret: not the absolute path of a file"},
      {R"({"url": "http://x/", "oauth": {"grant": "authorization_code"}})",
       "servers.a.oauth: a token is not sent over http"},
      {R"({"url": "unix:///s", "oauth": {"grant": "authorization_code"}})", "servers.a.oauth: a token is for a URL"},
      {R"({"url": "https://x/", "oauth": {"grant": "authorization_code"}, "secrets": {"authorization": "/f"}})",
       "servers.a.secrets: has Authorization"},
      {R"({"url": "https://x/", "oauth": {"grant": "authorization_code"}, "headers": {"Authorization": "x"}})",
       "servers.a.headers: has Authorization"},
      {R"({"command": "/bin/x", "oauth": {"grant": "authorization_code"}})", "servers.a.oauth: unknown key"},
  }));
  CAPTURE(text);
  servers = upstream::read_servers({{"a", Json::parse(text)}}, "servers");
  REQUIRE_FALSE(servers);
  CAPTURE(servers.error().what);
  CHECK(servers.error().what.starts_with(message));
}

TEST_CASE("a server that starts where code may write has no secrets, unless it is said that code may take them",
          "[upstream]") {
  const Json unsafe = Json::parse(R"({"command": "/bin/x", "folder": "workspace", "secrets": {"A": "/token"}})");
  auto refused = upstream::read_servers({{"a", unsafe}}, "servers");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.starts_with("servers.a.secrets: the server starts in the tenant's workspace"));
  CHECK(refused.error().hint.find("secrets_open_to_code") != std::string::npos);
  Json open = unsafe, elsewhere = unsafe, without = unsafe;
  open["secrets_open_to_code"] = true;
  elsewhere["folder"] = "/srv/x";
  without.erase("secrets");
  for (const Json& server : {open, elsewhere, without}) CHECK(upstream::read_servers({{"a", server}}, "servers"));
}

TEST_CASE("secrets are hidden as they are and as JSON writes them, headers by what follows their scheme",
          "[upstream]") {
  upstream::ServerConfig config;
  config.headers = {{"X-Api-Key", "abcdef-1"}, {"X-Region", "region-1"}};
  const auto hidden = upstream::secret_headers(config, {{"Authorization", "Bearer abc\"def"}, {"X-Short", "abc"}});
  CHECK(upstream::hide_secrets(hidden, R"(Bearer abc"def, "abc\"def", abcdef-1, region-1, abc)") ==
        R"(Bearer [secret Authorization], "[secret Authorization]", [secret X-Api-Key], region-1, abc)");
}

#include "supervisor/upstream/oauth/metadata.h"

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

using oauth::PlainHttp;

TEST_CASE("a protected resource is the server, or a path above it", "[oauth]") {
  auto [resource, fits] = GENERATE(table<std::string, bool>({
      {"https://a.example/public/mcp", true},
      {"https://a.example/public", true},
      {"https://a.example/", true},
      {"https://a.example", true},
      {"https://A.example:443/public/mcp", true},
      {"https://a.example/pub", false},
      {"https://a.example/public/mcp/more", false},
      {"https://b.example/public/mcp", false},
      {"http://a.example/public/mcp", false},
      {"https://a.example:444/public/mcp", false},
      {"", false},
  }));
  CAPTURE(resource);
  const Json document{{"resource", resource}, {"authorization_servers", {"https://auth.example"}}};
  CHECK(oauth::read_protected_resource(dump_json(document), "https://a.example/public/mcp").has_value() == fits);
}

TEST_CASE("a remote server names no authorization server at this machine", "[oauth]") {
  const Json document{{"resource", "https://a.example"},
                      {"authorization_servers", {"http://127.0.0.1:1", 7, "https://good.example/x"}}};
  const auto read = oauth::read_protected_resource(dump_json(document), "https://a.example/mcp");
  REQUIRE(read);
  CHECK(read->authorization_servers == std::vector<std::string>{"https://good.example/x"});
}

TEST_CASE("an authorization server says who it is, and has a token endpoint", "[oauth]") {
  Json document{{"issuer", "https://a.example"}, {"token_endpoint", "https://b.example/token"}};
  const auto read = [&document](const char* issuer) {
    return oauth::read_authorization_server(dump_json(document), issuer, PlainHttp::never, oauth::NamedBy::server);
  };
  auto server = read("https://a.example");
  REQUIRE(server);
  CHECK_FALSE(server->has_s256);
  CHECK(server->token_auth_methods == std::vector<std::string>{"client_secret_basic"});
  CHECK(read("https://a.example/")->issuer == "https://a.example");  // a slash at the end, as Google has it
  for (const char* other : {"https://a.example//", "https://a.example/x", "https://A.example", "http://a.example"})
    CHECK_FALSE(read(other));
  document["code_challenge_methods_supported"] = {"plain", "S256"};
  document["authorization_response_iss_parameter_supported"] = true;
  server = read("https://a.example");
  REQUIRE(server);
  CHECK((server->has_s256 && server->says_iss));
  CHECK((!server->reads_client_documents && !server->has_offline_access));
  document["client_id_metadata_document_supported"] = true;
  document["scopes_supported"] = {"a", 7};
  server = read("https://a.example");
  REQUIRE(server);
  CHECK((server->reads_client_documents && server->has_offline_access == false));
  document["scopes_supported"] = {"a", "offline_access"};
  server = read("https://a.example");
  REQUIRE(server);
  CHECK(server->has_offline_access == true);
  document["registration_endpoint"] = "http://127.0.0.1/register";
  CHECK_FALSE(read("https://a.example"));
  document.erase("registration_endpoint");
  for (const char* key : {"authorization_endpoint", "registration_endpoint"}) {  // of an honest server
    document[key] = "https://b.example/x";
    CHECK_FALSE(read("https://a.example"));
    CHECK(oauth::read_authorization_server(dump_json(document), "https://a.example", PlainHttp::never,
                                           oauth::NamedBy::administrator));
    document[key] = "https://a.example/x";
    CHECK(read("https://a.example"));
  }
  document["token_endpoint"] = 7;
  CHECK_FALSE(read("https://a.example"));
  for (const char* text : {"", "[]", "null", "{", "\"x\""})
    CHECK_FALSE(oauth::read_authorization_server(text, "https://a.example", PlainHttp::never, oauth::NamedBy::server));
}

// The client that the official conformance suite drives in its client scenarios: upstream::UpstreamServers, as the
// daemon has it, and a person beside it, who logs in with a browser and fills in forms.
//   mcp_conformance_client URL     with MCP_CONFORMANCE_SCENARIO, and for some scenarios MCP_CONFORMANCE_CONTEXT
// Connects to the server at URL, and calls each tool that the server offers, or those that the context names. The suite
// judges what the server received. Exit status: 1 if a call was not answered; the error is on standard error.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "policies/policy.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/path.h"
#include "supervisor/base/random.h"
#include "supervisor/upstream/authorization/challenge.h"
#include "supervisor/upstream/oauth/logins.h"
#include "supervisor/upstream/upstream_servers.h"
#include "tests/fresh_meter.h"
#include "tests/jail/await.h"

using namespace std::chrono_literals;

namespace {

using upstream::UpstreamServers;

constexpr const char* kServer = "judged";  // its name in the configuration
constexpr const char* kRedirect = "http://127.0.0.1:47115/callback";
constexpr const char* kClientDocument = "https://conformance-test.local/client-metadata.json";  // the suite's
constexpr auto kCallLimit = 10s;
constexpr int kMaxLogins = 2;  // a person gives up who is asked for a third one

struct Scenario {
  std::string name;
  Json context = Json::object();
};

Scenario read_scenario() {
  const auto variable = [](const char* name) { return std::string(std::getenv(name) ? std::getenv(name) : ""); };
  Scenario scenario{variable("MCP_CONFORMANCE_SCENARIO")};
  if (auto context = parse_json(variable("MCP_CONFORMANCE_CONTEXT"))) scenario.context = *std::move(context);
  return scenario;
}

// The server as an administrator configures it. `folder`: for the file with a client's secret.
Json configuration(const Scenario& scenario, const std::string& url, const std::string& folder) {
  Json server{{"url", url}, {"share", "everybody"}};
  if (!scenario.name.starts_with("auth/")) return server;
  Json oauth{{"grant", "authorization_code"}};
  if (scenario.name == "auth/basic-cimd") oauth["client_id"] = kClientDocument;
  for (const char* key : {"client_id", "issuer"})
    if (scenario.context.contains(key)) oauth[key] = scenario.context[key];
  if (scenario.context.contains("client_secret")) {
    oauth["client_secret"] = folder + "/secret";
    std::ofstream(folder + "/secret") << scenario.context["client_secret"].get<std::string>();
  }
  server["oauth"] = std::move(oauth);
  return server;
}

// A value of the type that a property of `schema` has. `$ref` is followed within the schema.
Json sample_of(const Json& schema, Json property) {
  static const Json kSamples{{"string", "x"},   {"integer", 1},           {"number", 1.5},
                             {"boolean", true}, {"array", Json::array()}, {"null", nullptr}};
  if (const auto at = property.value("$ref", std::string()); at.starts_with("#/"))
    property = schema.value(Json::json_pointer(at.substr(1)), Json::object());
  const Json type = property.value("type", Json());
  return type.is_string() ? kSamples.value(type.get<std::string>(), Json::object()) : Json::object();
}

// An object with the properties that the schema requires, and with all that have a default.
Json filled_in(const Json& schema) {
  Json object = Json::object();
  const Json properties = schema.value("properties", Json::object()),
             required = schema.value("required", Json::array());
  for (const auto& [name, property] : properties.items()) {
    const bool is_required = std::find(required.begin(), required.end(), name) != required.end();
    if (property.contains("default")) {
      object[name] = property["default"];
    } else if (is_required) {
      object[name] = sample_of(schema, property);
    }
  }
  return object;
}

// The person accepts each form as it is shown: clients show the defaults as the first values.
Task<upstream::Reply> fill_in(upstream::Question question) {
  co_return upstream::Reply{upstream::Reply::Action::accept, filled_in(question.schema)};
}

struct Call {
  std::string tool;
  Json arguments;
};

std::vector<Call> calls_of(const Scenario& scenario, const UpstreamServers& servers) {
  std::vector<Call> calls;
  if (scenario.context.contains("toolCalls")) {
    for (const Json& item : scenario.context["toolCalls"]) calls.push_back({item["name"], item["arguments"]});
    // The schemas of these tools forbid null. Warder refuses such a call, and so the argument is left out.
    for (Call& call : calls)
      for (auto it = call.arguments.begin(); it != call.arguments.end();)
        it = it->is_null() ? call.arguments.erase(it) : std::next(it);
    return calls;
  }
  std::map<std::string, Json> schemas;
  for (const auto& [name, reading] : servers.readings())
    for (const auto& tool : reading->tools) schemas[tool.name] = parse_json(tool.rest)->value("inputSchema", Json());
  // This tool wants to see the schema that is known of the other one.
  if (schemas.contains("json_schema_echo"))
    return {{"json_schema_echo", {{"schema", schemas["json_schema_2020_12_tool"]}}}};
  for (const auto& [tool, schema] : schemas) calls.push_back({tool, filled_in(schema)});
  return calls;
}

Task<Result<>> call_tools(UpstreamServers& servers, const upstream::Caller& caller, const Scenario& scenario) {
  CO_CHECKED(co_await servers.test(kServer, ""));
  for (auto& call : calls_of(scenario, servers)) {
    upstream::Asking asking{"the person", true, fill_in};
    CO_TRY(auto arguments, servers.known_tool({}, kServer, call.tool)->write(call.arguments, FreshMeter()));
    CO_TRY(const auto answer,
           co_await servers.call(caller, kServer, call.tool, std::move(arguments), kCallLimit, {}, std::move(asking)));
    std::cout << call.tool << ": " << (answer.is_error ? answer.message : dump_json(answer.result)) << "\n";
  }
  co_return Result<>{};
}

// What a browser does with the page of a login whose person agrees at once.
Task<Result<std::string>> browse(Loop& loop, std::string url) {
  CO_TRY(const std::shared_ptr<http::HttpClient> client, http::HttpClient::open(loop));
  http::ClientRequest page;
  page.url = std::move(url);
  CO_TRY(const auto reply, co_await client->fetch(std::move(page)));
  if (reply.head.status != 302)
    co_return fail(Code::unavailable, fmt::format("the login's page: {}", reply.head.status));
  co_return std::string(reply.head.header("location"));
}

// Runs the command that an error's hint names: warder servers login judged --scope 'a b'
Task<Result<>> log_in(Loop& loop, UpstreamServers& servers, std::string hint) {
  constexpr std::string_view kScopes = " --scope '";
  std::vector<std::string> scopes;
  if (const size_t at = hint.find(kScopes); at != hint.npos) {
    const std::string rest = hint.substr(at + kScopes.size());
    scopes = oauth::split_scopes(rest.substr(0, rest.find('\'')));
  }
  CO_TRY(const auto started, co_await servers.begin_login(kServer, "", kRedirect, std::move(scopes)));
  CO_TRY(std::string redirected, co_await browse(loop, started.second));
  auto finished = co_await servers.finish_login(kServer, "", started.first, std::move(redirected));
  co_return finished;
}

Task<Result<>> run(Loop& loop, UpstreamServers& servers, const upstream::Caller& caller, const Scenario& scenario) {
  for (int logins = 0;; logins++) {
    auto called = co_await call_tools(servers, caller, scenario);
    const bool wants_login = !called && called.error().hint.find("warder servers login") != std::string::npos;
    if (!wants_login || logins == kMaxLogins) co_return called;
    std::cout << called.error().what << "; " << called.error().hint << "\n";
    CO_CHECKED(co_await log_in(loop, servers, called.error().hint));
  }
}

Result<> connect_and_call(const std::string& url, const std::string& folder) {
  const Scenario scenario = read_scenario();
  Loop loop;
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
    return fail_errno(errno, "socketpair");
  Fd jailer_end(pair[1]);
  TRY(const auto jailer, jail::JailerClient::start(loop, Fd(pair[0]), [] {}));  // never asked for a jail
  jail::Host host{loop, *jailer};
  TRY(const auto disk, WorkerThread::start(loop));
  TRY(const Fd state, open_directory(folder));
  auto policy = std::make_shared<policies::Policy>();
  policy->calls.questions = policies::CallRules::Questions::client;
  UpstreamServers::Settings settings;
  TRY(settings.servers, upstream::read_servers({{kServer, configuration(scenario, url, folder)}}, "servers"));
  settings.definitions = state.get();
  settings.no_user.policy = policy;
  oauth::Logins logins(std::make_shared<oauth::LoginBook>(loop, *disk, state.get(), oauth::SealKey{}));
  settings.logins = &logins;
  const upstream::Caller caller = settings.no_user;
  UpstreamServers servers(host, std::move(settings));
  return await(loop, run(loop, servers, caller, scenario));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " URL\n";
    return 2;
  }
  const auto folder = std::filesystem::temp_directory_path() / ("warder-conformance-client-" + random_hex(8));
  std::filesystem::create_directory(folder);
  const auto called = connect_and_call(argv[1], folder);
  std::filesystem::remove_all(folder);
  if (!called) std::cerr << called.error().what << "; " << called.error().hint << "\n";
  return called ? 0 : 1;
}

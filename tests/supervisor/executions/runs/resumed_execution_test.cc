// Background executions that a later daemon may start again: which ones are stored, and how their clients are read
// back.
#include "supervisor/executions/runs/resumed_execution.h"

#include "policies/policy.h"
#include "policies/tenant_rules.h"
#include "supervisor/base/json/json.h"
#include "tests/catch.h"

using Catch::Matchers::Contains;

namespace {

// The stored run of a client with these credentials, under a policy with resumes.
std::shared_ptr<const workflows::StoredRun> run_of(policies::CallerCredentials credentials, const Json& arguments,
                                                   uint32_t resumes = 2) {
  auto policy = std::make_shared<policies::Policy>();
  policy->workflows.resume = resumes;
  tenants::Member member;
  member.policy = std::move(policy);
  member.credentials = std::move(credentials);
  return runs::resumable_run(member, "e1", arguments);
}

std::string problem_of(std::string_view stored) {
  const auto caller = runs::read_stored_caller(stored);
  return caller ? "" : caller.error().what;
}

const Json kArguments = {{"code", "1"}, {"background", true}};

}  // namespace

TEST_CASE("a user's background execution is stored with its arguments, and its client is read back", "[resumed]") {
  policies::Peer peer{1000, 1001, {4, 27}};
  peer.unit = "agent.service";
  const auto run = run_of(peer, kArguments);
  REQUIRE(run);
  CHECK(run->execution == "e1");
  CHECK(run->resumes == 0);
  CHECK(run->workflow.name.empty());  // its first step says which workflow it uses
  CHECK(Json::parse(run->arguments) == kArguments);
  const auto caller = runs::read_stored_caller(run->caller);
  REQUIRE(caller);
  REQUIRE(caller->principal.peer());
  CHECK(caller->principal.name() == "uid:1000");
  CHECK(caller->principal.peer()->gid == 1001);
  CHECK(caller->principal.peer()->groups == std::vector<gid_t>{4, 27});
  CHECK(caller->unit == "agent.service");
}

TEST_CASE("a unit that is not known stays unknown, and an empty one stays empty", "[resumed]") {
  policies::Peer peer{1000, 1000, {}};
  CHECK_FALSE(runs::read_stored_caller(run_of(peer, kArguments)->caller)->unit);
  peer.unit = "";
  CHECK(runs::read_stored_caller(run_of(peer, kArguments)->caller)->unit == "");
}

TEST_CASE("the bearer of a token is stored by the token's name", "[resumed]") {
  const auto run = run_of(policies::TokenBearer{"ci"}, kArguments);
  REQUIRE(run);
  CHECK(run->caller == R"({"token":"ci"})");
  const auto caller = runs::read_stored_caller(run->caller);
  REQUIRE(caller);
  CHECK(caller->principal.kind() == mcp::Principal::Kind::token);
  CHECK(caller->principal.name() == "token:ci");
  CHECK_FALSE(caller->unit);
}

TEST_CASE("clients with credentials that expire, or of another node, are not started again", "[resumed]") {
  CHECK_FALSE(run_of(policies::SubjectBearer{"ada", ""}, kArguments));
  CHECK_FALSE(run_of(policies::NodeOrder{"acme", "default", ""}, kArguments));
}

TEST_CASE("a policy without resumes, a session, branches and long arguments are not started again", "[resumed]") {
  const policies::TokenBearer bearer{"ci"};
  CHECK_FALSE(run_of(bearer, {{"code", "1"}, {"session", "s"}}));
  CHECK_FALSE(run_of(bearer, {{"code", "1"}, {"fork", {1, 2}}}));
  CHECK(run_of(bearer, {{"code", std::string(1000, 'x')}}));
  CHECK_FALSE(run_of(bearer, {{"code", std::string(2 << 20, 'x')}}));
  CHECK(run_of(bearer, kArguments, 1));
  CHECK_FALSE(run_of(bearer, kArguments, 0));
}

TEST_CASE("a stored client of another form is refused, and the key is named", "[resumed]") {
  CHECK_THAT(problem_of("{"), Contains("not JSON"));
  CHECK_THAT(problem_of(R"({"token": 5})"), Contains("token"));
  CHECK_THAT(problem_of(R"({"token": "ci", "uid": 1})"), Contains("uid"));
  CHECK_THAT(problem_of(R"({"gid": 1, "groups": []})"), Contains("uid"));
  CHECK_THAT(problem_of(R"({"uid": -1, "gid": 1, "groups": []})"), Contains("uid"));
  CHECK_THAT(problem_of(R"({"uid": 1, "gid": 4294967296, "groups": []})"), Contains("gid"));
  CHECK(problem_of(R"({"uid": 1, "gid": 1})") == "caller.groups: not a list");
  CHECK(problem_of(R"({"uid": 1, "gid": 1, "groups": 4})") == "caller.groups: not a list");
  CHECK(problem_of(R"({"uid": 1, "gid": 1, "groups": [4294967296]})") == "caller.groups: not the id of a group");
  CHECK(problem_of(R"({"uid": 1, "gid": 1, "groups": ["adm"]})") == "caller.groups: not the id of a group");
  CHECK_THAT(problem_of(R"({"uid": 1, "gid": 1, "groups": [], "unit": 1})"), Contains("unit"));
  CHECK_THAT(problem_of(R"({"uid": 1, "gid": 1, "groups": [], "pid": 1})"), Contains("pid"));
}

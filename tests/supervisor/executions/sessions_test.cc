// Sessions, with a jailer that the test plays: it takes every order and answers none, or it is gone. So programs begin,
// and end without a jail.
#include "supervisor/executions/sessions.h"

#include <sys/socket.h>

#include <map>

#include "jail/execution/execution.h"
#include "jail/host.h"
#include "jail/jailer_client/jailer_client.h"
#include "jail/pool/pool.h"
#include "policies/policy.h"
#include "policies/seccomp.h"
#include "supervisor/base/fd_pair.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/path.h"
#include "supervisor/tenants/proposals/proposal_stores.h"
#include "supervisor/tenants/tenant.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

using executions::Sessions;

namespace {

struct SessionsScene {
  TempDirectory temp;
  Loop loop;
  Fd jailer;
  std::unique_ptr<jail::JailerClient> client;
  std::unique_ptr<jail::Host> host;
  std::optional<jail::Pool> pool;
  std::shared_ptr<policies::Policy> policy = std::make_shared<policies::Policy>();
  Fd state = open_directory(temp.path().string()).value();
  std::map<std::string, std::shared_ptr<tenants::Tenant>> tenants;
  std::shared_ptr<mcp::ConnectionUser> client_of_ada = std::make_shared<tenants::Member>();
  proposals::ProposalStores proposals{loop};
  std::optional<Sessions> sessions;
  std::vector<std::string> order;  // ids of executions, as they got their turns
  std::map<std::string, Error> refused;
  std::map<std::string, Sessions::Turn> turns;
  std::map<std::string, std::optional<Task<>>> tasks;  // last: cancelled first

  SessionsScene() {
    FdPair pair = make_sockets(SOCK_SEQPACKET, Code::internal).value();
    jailer = std::move(pair.theirs);
    client = jail::JailerClient::start(loop, std::move(pair.ours), [] {}).value();
    host.reset(new jail::Host{loop, *client});
    pool.emplace(*host, jail::Pool::Limits{});
    policy->name = "default";
    policy->sessions.max = 3;
    policy->sessions.idle = std::chrono::seconds(60);
    policy->limits.standard.memory_bytes = 100 << 20;
    policy->quota = {1 << 20, 100, 10, 1 << 20};
    sessions.emplace(*host, *pool, proposals);
  }
  ~SessionsScene() { tasks.clear(); }

  Sessions::Ask ask_for(const std::string& name, const std::string& execution, const std::string& tenant) {
    auto& existing = tenants[tenant];
    if (!existing) existing = tenants::Tenant::open(loop, state.get(), tenant, *policy).value();
    Sessions::Ask ask;
    ask.tenant = existing;
    ask.policy = policy;
    ask.name = name;
    ask.client = client_of_ada;
    ask.execution = execution;
    return ask;
  }
  Task<> enters(Sessions::Ask ask) {
    const std::string execution = ask.execution;
    auto turn = co_await sessions->enter(std::move(ask));
    if (!turn) {
      refused.emplace(execution, std::move(turn).error());
      co_return;
    }
    order.push_back(execution);
    turns.emplace(execution, *std::move(turn));
  }
  Task<> runs(std::string execution) {
    jail::Request request;
    request.id = execution;
    request.spec.command = {"/usr/bin/true"};
    const auto preferred = policies::Need::preferred;
    request.spec.isolation = policies::Isolation{preferred, preferred, preferred, preferred, preferred};
    auto filter = std::make_shared<policies::SeccompFilter>();
    filter->program.push_back({0x06, 0, 0, 0x7fff0000});  // return SECCOMP_RET_ALLOW: no jail is built here
    request.spec.filter = std::move(filter);
    (void)co_await turns.at(execution).run(std::move(request));
  }
  void begin(const std::string& execution, Task<> task) {
    auto& position = tasks[execution];
    position.emplace(std::move(task));
    position->resume();
    settle();
  }
  void enter(Sessions::Ask ask) {
    const std::string execution = ask.execution;
    begin(execution, enters(std::move(ask)));
  }
  void enter(const std::string& name, const std::string& execution, const std::string& tenant = "ada") {
    enter(ask_for(name, execution, tenant));
  }
  void leave(const std::string& execution) {
    turns.erase(execution);
    settle();
  }
  // Runs a program in the session, and cancels it: that ends the session.
  void run_and_cancel(const std::string& execution) {
    begin("run of " + execution, runs(execution));
    tasks.erase("run of " + execution);
  }
  void settle() {
    for (int turn = 0; turn < 6; turn++) uv_run(loop.uv(), UV_RUN_NOWAIT);
  }
  std::string why(const std::string& execution) { return refused.count(execution) ? refused.at(execution).what : ""; }
};

using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE("calls of one session take turns, in the order in which they came", "[sessions]") {
  SessionsScene s;
  for (const char* execution : {"1", "2", "3"}) s.enter("a", execution);
  s.enter("b", "other session");
  s.enter("a", "other tenant", "eve");
  CHECK(s.order == Ids{"1", "other session", "other tenant"});
  s.leave("1");
  CHECK(s.order.back() == "2");
  s.enter("a", "4");
  s.leave("2");
  s.leave("3");
  CHECK(s.order == Ids{"1", "other session", "other tenant", "2", "3", "4"});
}

TEST_CASE("a call that is cancelled or withdrawn while it waits for its turn leaves the queue", "[sessions]") {
  SessionsScene s;
  for (const char* execution : {"1", "2", "3", "4"}) s.enter("a", execution);
  s.tasks.erase("2");
  s.sessions->withdraw("3");
  CHECK(s.refused.empty());
  s.settle();
  CHECK(s.refused.at("3").code == Code::denied);
  CHECK(s.why("3").find("did not run") != std::string::npos);
  s.sessions->withdraw("3");
  s.sessions->withdraw("unknown");
  s.leave("1");
  CHECK(s.order == Ids{"1", "4"});
}

TEST_CASE("a call that is withdrawn and cancelled in one turn of the loop is gone", "[sessions]") {
  SessionsScene s;
  for (const char* execution : {"1", "2", "3"}) s.enter("a", execution);
  s.sessions->withdraw("2");
  s.tasks.erase("2");
  s.leave("1");
  CHECK(s.order == Ids{"1", "3"});
  CHECK(s.refused.empty());
}

TEST_CASE("if the woken call is cancelled before its turn, the next one gets the turn", "[sessions]") {
  SessionsScene s;
  for (const char* execution : {"1", "2", "3"}) s.enter("a", execution);
  s.turns.erase("1");
  s.tasks.erase("2");
  s.settle();
  CHECK(s.order == Ids{"1", "3"});
}

TEST_CASE("the calls that wait for a session get its end as an error, and the next call begins anew", "[sessions]") {
  SessionsScene s;
  for (const char* execution : {"1", "2", "3"}) s.enter("a", execution);
  s.run_and_cancel("1");
  s.leave("1");
  for (const char* execution : {"2", "3"}) {
    REQUIRE(s.refused.count(execution) == 1);
    CHECK(s.refused.at(execution).code == Code::not_found);
    CHECK(s.why(execution) == "session 'a' ended while this call waited: the last call was cancelled");
    CHECK(s.refused.at(execution).rule == "session");
  }
  s.enter("a", "4");
  CHECK(s.order == Ids{"1", "4"});
}

TEST_CASE("the end of a session that no call reported is an error for the next call, once", "[sessions]") {
  SessionsScene s;
  s.enter("a", "1");
  s.run_and_cancel("1");
  SECTION("the next call is refused and the call after it begins a new session") {
    s.leave("1");
    s.enter("a", "2");
    CHECK(s.why("2").find("session 'a' ended, and its variables are lost") == 0);
    CHECK(s.why("2").find("the last call was cancelled") != std::string::npos);
    CHECK(s.why("2").find("after 1 calls") != std::string::npos);
    s.enter("a", "3");
    CHECK(s.order == Ids{"1", "3"});
  }
  SECTION("a call that resets the session is not refused") {
    s.leave("1");
    auto ask = s.ask_for("a", "2", "ada");
    ask.begin = Sessions::Begin::anew;
    s.enter(std::move(ask));
    CHECK(s.order == Ids{"1", "2"});
  }
  SECTION("a client whose answer reported the end is not refused, another client is") {
    CHECK(s.turns.at("1").state_json().at("ended") == true);
    s.leave("1");
    auto ask = s.ask_for("a", "2", "ada");
    const auto other = std::make_shared<tenants::Member>();
    SECTION("the same client") {
      s.enter(ask);
      CHECK(s.order == Ids{"1", "2"});
    }
    SECTION("another client") {
      ask.client = other;
      s.enter(ask);
      CHECK(s.refused.count("2") == 1);
    }
  }
}

TEST_CASE("the failure of a session's program is no error of the next call", "[sessions]") {
  SessionsScene s;
  s.enter("a", "1");
  s.jailer.reset();  // now no jail can be built
  s.begin("run", s.runs("1"));
  s.leave("1");
  s.enter("a", "2");
  CHECK(s.order == Ids{"1", "2"});
}

TEST_CASE("a session without a program leaves nothing behind", "[sessions]") {
  SessionsScene s;
  s.enter("a", "1");
  CHECK(s.sessions->list("ada").size() == 1);
  CHECK(s.sessions->list("ada")[0].at("state") == "running");
  CHECK(s.sessions->list("eve").empty());
  s.leave("1");
  CHECK(s.sessions->list("ada").empty());
  s.enter("a", "2");
  CHECK(s.refused.empty());
}

TEST_CASE("names, policies and limits of sessions are checked", "[sessions]") {
  SessionsScene s;
  s.enter("../a", "bad name");
  CHECK(s.refused.at("bad name").code == Code::invalid);
  for (const char* name : {"a", "b", "c"}) s.enter(name, name);
  s.enter("d", "one too many");
  CHECK(s.refused.at("one too many").code == Code::exhausted);
  CHECK(s.refused.at("one too many").rule == "sessions.max");
  CHECK(s.why("one too many") == "3 sessions are open: a, b, c");
  s.enter("a", "of another tenant", "eve");
  CHECK(s.order.back() == "of another tenant");
  s.policy->sessions.max = 0;
  s.enter("e", "no sessions");
  CHECK(s.refused.at("no sessions").code == Code::denied);
}

TEST_CASE("at most 64 sessions are open on the machine", "[sessions]") {
  SessionsScene s;
  s.policy->sessions.max = 100;
  for (int i = 0; i < 64; i++) s.enter("s" + std::to_string(i), "e" + std::to_string(i), i % 2 ? "ada" : "eve");
  CHECK(s.order.size() == 64);
  s.enter("last", "65");
  CHECK(s.why("65") == "64 sessions are open on this machine");
  s.leave("e0");
  s.enter("last", "66");
  CHECK(s.order.back() == "66");
}

TEST_CASE("a session's end waits for the running call, and says whether there was a session", "[sessions]") {
  SessionsScene s;
  std::optional<Result<Sessions::Ended>> ended;
  auto ends = [](SessionsScene& stage, std::optional<Result<Sessions::Ended>>& into) -> Task<> {
    auto done = co_await stage.sessions->end(stage.ask_for("a", "end", "ada"));
    into.emplace(std::move(done));
  };
  s.enter("a", "1");
  s.begin("end", ends(s, ended));
  CHECK_FALSE(ended.has_value());
  s.leave("1");
  REQUIRE(ended.has_value());
  CHECK_FALSE(ended->value().existed);  // no program ran in it
}

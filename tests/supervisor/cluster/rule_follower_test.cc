// RuleFollower: signed policies come into force in warderd, except those that it refuses. A test's own socket is
// warder-node.
#include "supervisor/cluster/link/rule_follower.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <filesystem>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/cluster/link/first_line.h"
#include "supervisor/cluster/link/user_socket.h"
#include "supervisor/cluster/trust/private_file.h"
#include "supervisor/protocol/mcp/listener.h"
#include "tests/catch.h"
#include "tests/supervisor/cluster/trust_fixture.h"
#include "tests/temp_directory.h"

namespace cluster {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using trust_test::key_of;
using trust_test::node_of;
using trust_test::record_of;
using trust_test::signed_record;

std::string policy_rule(const std::string& name, const std::string& content, const char* kind = "policy") {
  SignedRule rule;
  rule.kind = kind;
  rule.cluster = "c1";
  rule.name = name;
  rule.serial = 1;
  rule.content = content;
  return sign_rule(rule, key_of(trust_test::kAuthority)).value();
}

struct FollowedRules {
  Loop loop;
  TempDirectory temporary;
  fs::path root = fs::canonical(std::string(temporary.path())), folder = root / "cluster/policies";
  AsyncFd listener = watch_listening(loop, mcp::listen_at(root / "node.sock", 0600).value()).value();
  std::vector<std::string> rules = {signed_record(record_of({node_of("n1", 1)})), policy_rule("good", "{}"),
                                    policy_rule("wrong", "{}")};
  const std::set<uid_t> users = {::geteuid()};
  bool is_wrong_refused = true;
  int reloads = 0, fetches = 0, skills_changes = 0;
  Scope tasks{loop};

  FollowedRules() {
    REQUIRE(write_whole_file(root / "anchor", rules.front(), 0644, Existing::replace));
    tasks.spawn(accept_users(loop, listener, users, [this](Fd asking) { tasks.spawn(give(std::move(asking))); }));
  }
  Task<> give(Fd asking) {
    auto daemon = AsyncFd::adopt(loop, std::move(asking)).value();
    (void)co_await read_first_line(loop, daemon, 100, 20s);
    std::string all;
    for (const std::string& rule : rules) all += fmt::format("{{\"rule\":{{\"bytes\":{}}}}}\n{}", rule.size(), rule);
    all += "{\"end\":{}}\n";
    (void)co_await send_all(daemon, std::move(all));
    fetches++;
  }
  Task<Result<>> reload() {
    reloads++;
    if (is_wrong_refused && fs::exists(folder / "wrong.json")) co_return fail(Code::invalid, "wrong");
    co_return Result<>{};
  }
  std::unique_ptr<RuleFollower> follow(bool is_in_doubt) {
    RuleFollower::Uses uses{[this] { return reload(); }, [is_in_doubt] { return is_in_doubt; }, [] {},
                            [this] { skills_changes++; }};
    return RuleFollower::make(loop, {root / "node.sock", root / "anchor", root}, std::move(uses)).value();
  }
  void take(RuleFollower& follower, int fetched, int reloaded) {
    bool is_late = false;
    const Deadline late(loop, 20s, [&is_late] { is_late = true; });
    follower.changed();
    loop.run_until([&] { return is_late || (fetches >= fetched && reloads >= reloaded); });
    CHECK_FALSE(is_late);
  }
  bool has(const char* name) const { return fs::exists(folder / (std::string(name) + ".json")); }
};

}  // namespace

TEST_CASE_METHOD(FollowedRules, "a policy that the daemon refuses holds up no other", "[cluster]") {
  const auto follower = follow(false);
  take(*follower, 1, 4);  // both; each of them; those from before
  CHECK((has("good") && !has("wrong")));
}

TEST_CASE_METHOD(FollowedRules, "a wrong policy that an ended daemon left is removed at the next start", "[cluster]") {
  is_wrong_refused = false;
  take(*follow(false), 1, 1);
  REQUIRE((has("good") && has("wrong")));
  is_wrong_refused = true;
  const auto follower = follow(true);
  take(*follower, 2, 5);
  CHECK((has("good") && !has("wrong")));
}

TEST_CASE_METHOD(FollowedRules, "skills are there at the next start, also without warder-node", "[cluster]") {
  constexpr char kSkill[] = R"({"files":{"SKILL.md":"---\nname: report\ndescription: d\n---\n"}})";
  is_wrong_refused = false;
  rules.push_back(policy_rule("report", kSkill, "skill"));
  {
    const auto follower = follow(false);
    take(*follower, 1, 1);
    CHECK((follower->shared_skills().find("report") && skills_changes == 2));  // none of the disk, and this one
  }
  listener = {};
  fs::remove(root / "node.sock");
  skills_changes = 0;
  const auto follower = follow(false);
  follower->begin();
  bool is_late = false;
  const Deadline late(loop, 20s, [&is_late] { is_late = true; });
  loop.run_until([&] { return is_late || skills_changes > 0; });
  CHECK(follower->shared_skills().find("report"));
}

}  // namespace cluster

// The findings that are made from facts: which are good, and that each other one has a remedy.
#include <cerrno>
#include <fstream>

#include "supervisor/operations/doctor/doctor.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

using namespace doctor;

namespace {

void check_good(const Finding& finding) {
  INFO(finding.what << ": " << finding.found);
  CHECK(finding.health == Health::good);
  CHECK(finding.remedy.empty());
}

// Also checks that the finding holds `text`.
void check_not_good(const Finding& finding, Health health, const std::string& text) {
  INFO(finding.what << ": " << finding.found);
  CHECK(finding.health == health);
  CHECK(finding.found.find(text) != std::string::npos);
  CHECK_FALSE(finding.remedy.empty());
}

}  // namespace

TEST_CASE("a program that ran is good, a weaker jail is a note, and a program that did not run is bad", "[doctor]") {
  check_good(judge_execution("ok", "", "", {}));
  check_not_good(judge_execution("ok", "", "", {"no Landlock", "no cgroup limits"}), Health::note,
                 "no Landlock; no cgroup limits");
  check_not_good(judge_execution("internal", "no jail", "", {}), Health::bad, "internal: no jail");
  CHECK(judge_execution("internal", "no jail", "buy memory", {}).remedy == "buy memory");
}

TEST_CASE("a pool that cannot be filled is a note with the reasons", "[doctor]") {
  const Finding good = judge_pool(3, 1, {});
  check_good(good);
  CHECK(good.found == "3 jails wait, 1 zygotes");
  check_not_good(judge_pool(3, 1, {"python: no memory", "shell: gone"}), Health::note,
                 "python: no memory; shell: gone");
}

TEST_CASE("the export of spans names its collector, the last failure and the numbers", "[doctor]") {
  Spans spans;
  spans.collector = "http://collector:4318";
  spans.exported = 5;
  spans.dropped = 2;
  check_good(judge_spans(spans));
  CHECK(judge_spans(spans).found == "http://collector:4318: 5 spans delivered, 2 dropped");
  spans.trouble = "connection refused";
  check_not_good(judge_spans(spans), Health::note, "connection refused");
  spans.network_needed = spans.only_loopback = true;
  check_not_good(judge_spans(spans), Health::note, "connection refused");  // it was reached before
  spans.exported = 0;
  check_not_good(judge_spans(spans), Health::note, "only the network interface lo");
}

TEST_CASE("a journal or a state disk that loses records is bad", "[doctor]") {
  check_good(judge_journal("", "durable"));
  check_not_good(judge_journal("journal.db was removed", "durable"), Health::bad, "journal.db was removed");
  check_good(judge_clock(0));
  check_not_good(judge_clock(400LL * 86'400'000), Health::bad, "400 days ahead");
  check_not_good(judge_clock(-30LL * 3'600'000), Health::bad, "30 hours behind");
  check_good(judge_state_disk({"", "", "/var/lib/warder", 1 << 20, ""}));
  check_not_good(judge_state_disk({"", "", "/var/lib/warder", 0, "btrfs cannot keep space"}), Health::note, "btrfs");
  check_not_good(judge_state_disk({"No space left on device", "free some", "/var/lib/warder", 0, ""}), Health::bad,
                 "No space");
}

TEST_CASE("a busy loop is a note above 100 ms, with the time, the work and its user", "[doctor]") {
  BusyTime::Turn turn;
  turn.busy = std::chrono::milliseconds(100);
  check_good(judge_loop(turn));
  turn.busy = std::chrono::milliseconds(250);
  turn.worked = std::chrono::milliseconds(200);
  turn.work = LoopWork::search;
  turn.whom = "tenant 'ada'";
  turn.at = 1'700'000'000;
  const Finding finding = judge_loop(turn);
  check_not_good(finding, Health::note, "at 2023-11-14T22:13:20Z no client was answered for 250 ms; 200 ms of that");
  CHECK(finding.found.ends_with(", for tenant 'ada'"));
}

TEST_CASE("every kind of work of the loop has a remedy", "[doctor]") {
  for (size_t work = 0; work < kWorks; work++) {
    BusyTime::Turn turn;
    turn.busy = std::chrono::seconds(1);
    turn.work = static_cast<LoopWork>(work);
    check_not_good(judge_loop(turn), Health::note, std::string(work_text(turn.work)));
  }
}

TEST_CASE("what the daemon and the policies say about themselves is judged", "[doctor]") {
  check_good(judge_bus("0.1.0", "running", ""));
  check_not_good(judge_bus("0.1.0", "running", "default.json: bad"), Health::note, "default.json: bad");
  check_good(judge_user(User::known, "warder"));
  check_not_good(judge_user(User::missing, "warder"), Health::note, "warder");
  check_good(judge_policies(std::vector<std::string>{"default", "lean"}));
  CHECK(judge_policies(std::vector<std::string>{"default", "lean"}).found == "default, lean");
  const Finding none = judge_policies(fail(Code::not_found, "no policies"));
  const Finding bad = judge_policies(fail(Code::invalid, "default.json: bad"));
  check_not_good(none, Health::bad, "no policies");
  check_not_good(bad, Health::bad, "default.json: bad");
  CHECK(none.remedy != bad.remedy);
}

TEST_CASE("a network of jails that was not seen from outside is noted", "[doctor]") {
  check_good(judge_jail_network("1 link, 2 addresses, 5 routes, 0 neighbours, 5 rules", ""));
  check_not_good(judge_jail_network("", "open a netlink socket in a jail: Permission denied"), Health::note,
                 "Permission denied");
}

TEST_CASE("a configuration with mistakes is judged by what it means for executions", "[doctor]") {
  ConfigurationFacts facts;
  check_good(judge_configuration(facts));
  facts.files = {"/etc/warder/warderd.json"};
  CHECK(judge_configuration(facts).found == "/etc/warder/warderd.json");
  facts.warnings = {"import[0] is skipped"};
  check_not_good(judge_configuration(facts), Health::note, "import[0] is skipped");
  facts.problems = {"a: bad", "b: bad"};
  check_not_good(judge_configuration(facts), Health::note, "a reload would fail");
  facts.in_force = false;
  check_not_good(judge_configuration(facts), Health::note, "the last good copy is in force: a: bad; b: bad");
  facts.executes = false;
  check_not_good(judge_configuration(facts), Health::bad, "executions are denied: a: bad");
  facts.problems.clear();
  check_not_good(judge_configuration(facts), Health::bad, "until a reload");
  facts.executes = true;
  check_not_good(judge_configuration(facts), Health::note, "the files are good now");
  check_not_good(judge_bus("0.1.0", "degraded", ""), Health::note, "degraded");
}

TEST_CASE("a machine without user namespaces is bad", "[doctor]") {
  check_good(judge_user_namespaces(0));
  check_not_good(judge_user_namespaces(EPERM), Health::bad, "Operation not permitted");
}

TEST_CASE("the checks of the kernel and of programs give each finding one name, and a remedy where it is not good",
          "[doctor]") {
  std::set<std::string> names;
  for (const Findings& all : {examine_kernel(), examine_programs()}) {
    CHECK_FALSE(all.empty());
    for (const Finding& finding : all) {
      INFO(finding.what << ": " << finding.found);
      CHECK(names.insert(finding.what).second);
      CHECK_FALSE(finding.found.empty());
      CHECK(finding.remedy.empty() == (finding.health == Health::good));
    }
  }
}

TEST_CASE("the first line of a file is read, and a missing file is empty", "[doctor]") {
  const TempDirectory temp;
  const std::string file = (temp.path() / "setting").string();
  std::ofstream(file) << "0\nmore\n";
  CHECK(first_line(file) == "0");
  CHECK(first_line(file + ".missing").empty());
}

TEST_CASE("workspaces that no index follows are a note with the reason", "[doctor]") {
  doctor::WorkspaceIndexes seen;
  seen.followed = 3;
  check_good(doctor::judge_workspaces(seen));
  seen.walks = 2;
  check_good(doctor::judge_workspaces(seen));
  seen.without = 1;
  seen.without_why = "the workspace's file system does not tell of changes";
  const doctor::Finding finding = doctor::judge_workspaces(seen);
  check_not_good(finding, doctor::Health::note, seen.without_why);
  CHECK(finding.found.find("1 of 4 workspaces") == 0);
}

TEST_CASE("a machine that cannot stage is a note, and bad if a policy stages every execution", "[doctor]") {
  doctor::Staging seen;
  seen.policies = {"default", "strict"};
  seen.folder = "/var/lib/warder/tenants";
  seen.file_system = 0xEF53;  // ext4
  check_good(doctor::judge_staging(seen));
  seen.file_system = 0x6969;
  check_not_good(doctor::judge_staging(seen), Health::note, "/var/lib/warder/tenants is on NFS");
  seen.file_system = 0x794c7630;
  check_not_good(doctor::judge_staging(seen), Health::note, "overlayfs");
  seen.is_always_staged = true;
  check_not_good(doctor::judge_staging(seen), Health::bad, "default, strict");
  seen.file_system = 0xEF53;
  seen.bind_root_why = "no overlay here";
  check_not_good(doctor::judge_staging(seen), Health::bad, "no overlay here");
}

TEST_CASE("the finding about egress says whether the service was reached", "[doctor]") {
  doctor::EgressReach use;
  use.policies = {"mine", "other"};
  use.allowed = 3;
  CHECK(doctor::judge_egress(use).health == doctor::Health::good);
  CHECK(doctor::judge_egress(use).found == "warder-egress answers; 3 requests allowed, 0 denied, 0 failed");
  use.trouble = "connect: Connection refused";
  use.remedy = "start it";
  check_not_good(doctor::judge_egress(use), Health::note, "the policies mine, other allow hosts");
}

TEST_CASE("the finding about HTTP names addresses, and tokens that must be replaced", "[doctor]") {
  doctor::HttpUse use;
  use.addresses = {"127.0.0.1:9470"};
  use.refused = 3;
  CHECK(doctor::judge_http(use).health == doctor::Health::note);
  CHECK(doctor::judge_http(use).remedy == "warder token add NAME");
  use.tokens_good = 2;
  CHECK(doctor::judge_http(use).health == doctor::Health::good);
  CHECK(doctor::judge_http(use).found ==
        "listens on 127.0.0.1:9470; 0 connections, 0 sessions, 3 requests refused; 2 tokens");
  use.tokens_expire_soon = 1;
  CHECK(doctor::judge_http(use).found.find("1 tokens expire within a week") != std::string::npos);
  use.tokens_expire_soon = 0;
  use.has_jwt = true;
  CHECK(doctor::judge_http(use).remedy == "correct the file, then: systemctl reload warder");
  use.has_jwt_keys = true;
  CHECK(doctor::judge_http(use).health == doctor::Health::good);
}

TEST_CASE("a node of a cluster: each fault is found, and names the nodes that differ", "[doctor]") {
  const auto find = [](const ClusterSeen& seen, const std::string& subject) {
    for (const Finding& finding : judge_cluster(seen))
      if (finding.what == subject) return finding;
    return Finding{subject, Health::good, "missing", {}};
  };
  ClusterSeen seen{.standing = "member", .self = "n1", .nodes = 3};
  seen.versions = {{"n1", "0.1.0"}, {"n2", "0.1.0"}, {"n3", "0.1.0"}};
  seen.policies = {{"n1", "team", "aa", 0}, {"n2", "team", "aa", 0}, {"n3", "team", "aa", 0}};
  for (const Finding& finding : judge_cluster(seen)) check_good(finding);

  ClusterSeen other = seen;
  other.policies[0].hash = "bb";  // of the node itself
  check_not_good(find(other, "cluster policies"), Health::bad, "team: another one on n1;");
  other = seen;
  other.policies.pop_back();
  check_not_good(find(other, "cluster policies"), Health::bad, "missing, or not shared, on n3");
  other.unanswered = {"n3"};  // nobody knows what it has
  check_good(find(other, "cluster policies"));
  check_not_good(find(other, "cluster nodes"), Health::note, "without an answer: n3");
  other = seen;
  other.versions[1].second = "0.2.0";
  check_not_good(find(other, "cluster versions"), Health::note, "0.2.0 on n2");
  other = seen;
  other.policies[2].user_accounts = 2;
  check_not_good(find(other, "cluster accounts"), Health::note, "team on n3 (2)");
  other = seen;
  other.left_homes = {{"n9", 12}};
  check_not_good(find(other, "cluster homes"), Health::note, "n9 (12)");
  other = seen;
  other.silent.assign(12, "n2");
  check_not_good(find(other, "cluster nodes"), Health::note, "and 2 more");
  other = seen;
  other.refused_for_time = 3;
  check_not_good(find(other, "cluster trust"), Health::note, "3 messages");
  other.trust_trouble = "not readable";
  check_not_good(find(other, "cluster trust"), Health::bad, "not readable");
  other = seen;
  other.policies.clear();
  check_not_good(find(other, "cluster policies"), Health::note, "no policy");
  other.standing = "fenced";
  other.bus = "certificate has expired";
  check_not_good(find(other, "cluster"), Health::bad, "certificate has expired");
  other.standing = "no warder-node";
  check_not_good(find(other, "cluster"), Health::bad, "not connected");
  CHECK(find(other, "cluster").remedy.starts_with("install the package warder-cluster if it is missing"));
  CHECK(judge_cluster(other).size() == 1);
}

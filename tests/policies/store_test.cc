#include "policies/store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "policies/call_rules.h"
#include "policies/isolation.h"
#include "policies/policy.h"
#include "policies/seccomp.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

using namespace policies;
namespace fs = std::filesystem;

namespace {

// Two folders, vendor below administrator, with the shipped files in the first.
struct Folders {
  fs::path root, vendor, admin;
  Folders() {
    char name[] = "/tmp/warder-policies-XXXXXX";
    REQUIRE(::mkdtemp(name));
    root = name;
    vendor = root / "vendor";
    admin = root / "admin";
    fs::create_directories(vendor / "seccomp");
    fs::create_directories(admin / "seccomp");
    const fs::path shipped = WARDER_SOURCE_DIR "/policies";
    for (auto file : {"default.json", "system.json", "strict.json"}) copy(shipped / file, vendor / file);
    // A short profile: compiling the real one for every test takes long under sanitizers.
    write(vendor / "seccomp/default.json",
          R"({"comment": "c", "newest": "set_mempolicy_home_node", "allow": [{"comment": "c", "calls": ["read"]}]})");
  }
  ~Folders() { fs::remove_all(root); }
  static void copy(const fs::path& from, const fs::path& to) {
    fs::copy_file(from, to);
    fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write);
  }
  static void write(const fs::path& path, const std::string& text) {
    std::ofstream(path) << text;
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  }
  Result<Store> load(Mode mode = Mode::checkout) const { return Store::load({vendor, admin}, mode, HostCapacity{4}); }
  // What is wrong, with the folders' names left out.
  std::string problems() const {
    auto store = load();
    if (store) return "";
    CHECK(store.error().code == Code::invalid);
    std::string subject = store.error().what;
    for (size_t at; (at = subject.find(root.string() + "/")) != subject.npos;)
      subject.erase(at, root.string().size() + 1);
    return subject;
  }
  // The same, where this policy is that of all tenants.
  std::string problems_of_used(const std::string& policy) const {
    write(admin / "tenants.json", R"({"rules": [{"default": true, "policy": ")" + policy + R"("}]})");
    std::istringstream all(problems());
    std::string of_policies;
    for (std::string line; std::getline(all, line);)
      if (!line.starts_with("admin/tenants.json: ")) of_policies += (of_policies.empty() ? "" : "\n") + line;
    return of_policies;
  }
};

const Peer kSomebody{1234, 1234, {}};

}  // namespace

TEST_CASE("the examples of the package are policies, and rules of tenants", "[store]") {
  Folders folders;
  const fs::path examples = WARDER_SOURCE_DIR "/units/examples";
  for (auto file : {"research.json", "supervised.json"})
    Folders::copy(examples / "policies" / file, folders.admin / file);
  std::ifstream in(examples / "tenants.json");
  std::string tenants(std::istreambuf_iterator<char>(in), {});
  // Users and groups must exist on the machine; these do on each.
  tenants.replace(tenants.find("\"alice\""), 7, "\"root\"");
  tenants.replace(tenants.find("\"agents\""), 8, "\"root\"");
  Folders::write(folders.admin / "tenants.json", tenants);
  CHECK(folders.problems().empty());
  auto store = folders.load();
  REQUIRE(store);
  const auto names = store->names();
  for (auto name : {"research", "supervised"}) CHECK(std::find(names.begin(), names.end(), name) != names.end());
}

TEST_CASE("the shipped policies load", "[store]") {
  auto store = Store::load({WARDER_SOURCE_DIR "/policies"}, Mode::checkout);
  if (!store) FAIL(store.error().what);
  CHECK(store->names() == std::vector<std::string>{"default", "guardrails", "guardrails-strict", "strict", "system"});
  const auto standard = store->find("default"), strict = store->find("strict"), system = store->find("system");
  CHECK(standard->filter->profile == "default");
  CHECK(standard->filter->program.size() > 200);
  CHECK(standard->filter->flags == 0);
  CHECK(system->isolation.cgroups == Need::required);
  CHECK(system->isolation.overlay == Need::preferred);
  CHECK(system->limits.standard.wall == standard->limits.standard.wall);
  CHECK(strict->isolation.overlay == Need::required);
  CHECK(strict->limits.standard.output_bytes == standard->limits.standard.output_bytes);
  CHECK(strict->filter == standard->filter);  // compiled once
  CHECK(store->find("nothing") == nullptr);
}

TEST_CASE("without tenants.json the mode chooses everybody's policy", "[store]") {
  Folders folders;
  auto checkout = folders.load(Mode::checkout), system = folders.load(Mode::system);
  REQUIRE(checkout);
  REQUIRE(system);
  CHECK(checkout->tenant_of(kSomebody)->policy->name == "default");
  CHECK(checkout->tenant_of(kSomebody)->tenant == "uid-1234");
  CHECK(system->tenant_of(kSomebody)->policy->name == "system");
  CHECK(checkout->standard()->name == "default");
  CHECK(system->standard()->name == "system");
}

TEST_CASE("the standard policy is the first one where no policy has the mode's name", "[store]") {
  Folders folders;
  fs::rename(folders.vendor / "default.json", folders.vendor / "base.json");
  fs::remove(folders.vendor / "system.json");
  fs::remove(folders.vendor / "strict.json");
  folders.write(folders.admin / "tenants.json", R"({"rules": [{"default": true, "policy": "base"}]})");
  auto store = folders.load(Mode::system);
  REQUIRE(store);
  CHECK(store->standard()->name == "base");
}

TEST_CASE("an installation is known by the folder of the installed policies", "[store]") {
  CHECK(mode_of({"/usr/lib/warder/policies", "/etc/warder/policies"}) == Mode::system);
  CHECK(mode_of({"/usr/lib/warder/policies/"}) == Mode::system);
  CHECK(mode_of({"/etc/warder/policies"}) == Mode::checkout);
  CHECK(mode_of({"/home/ada/usr/lib/warder/policies"}) == Mode::checkout);
  CHECK(mode_of({}) == Mode::checkout);
}

TEST_CASE("tenants.json assigns names and policies, and refuses whom it does not name", "[store]") {
  Folders folders;
  folders.write(folders.admin / "tenants.json", R"({"rules": [{"uid": 1234, "tenant": "acme", "policy": "strict"}]})");
  auto store = folders.load();
  REQUIRE(store);
  auto assigned = store->tenant_of(kSomebody);
  REQUIRE(assigned);
  CHECK(assigned->tenant == "acme");
  CHECK(assigned->policy->name == "strict");
  auto refused = store->tenant_of({77, 78, {}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::denied);
  CHECK(refused.error().what == "no rule of tenants.json fits user 77 of group 78");
  CHECK(refused.error().rule == "tenants");
}

TEST_CASE("a file of the administrator masks the vendor's of the same name, also as a base", "[store]") {
  Folders folders;
  Json standard = Json::parse(std::ifstream(folders.vendor / "default.json"));
  standard["limits"]["standard"]["tasks"] = 99;
  standard["description"] = "ours";
  folders.write(folders.admin / "default.json", standard.dump());
  folders.write(folders.admin / "team.json", R"({"extends": "default", "limits": {"standard": {"wall_ms": 5}}})");
  auto store = folders.load();
  REQUIRE(store);
  CHECK(store->find("default")->limits.standard.tasks == 99);
  CHECK(store->find("default")->file == folders.admin / "default.json");
  CHECK(store->find("system")->limits.standard.tasks == 99);
  CHECK(store->find("team")->limits.standard.tasks == 99);
  CHECK(store->find("team")->limits.standard.wall == std::chrono::milliseconds(5));
  CHECK(store->find("team")->description == "ours");
}

TEST_CASE("every problem of every file is told in one go", "[store]") {
  Folders folders;
  folders.write(folders.admin / "a.json",
                R"({"extends": "default", "limits": {"standard": {"cpus": 0, "tasks": "many"}}})");
  folders.write(folders.admin / "b.json", "{not json");
  folders.write(folders.admin / "c.json", R"({"extends": "nobody"})");
  folders.write(folders.admin / "d.json", R"({"extends": "default", "seccomp": "none"})");
  folders.write(folders.admin / "tenants.json",
                R"({"rules": [{"uid": 1, "policy": "a"}, {"uid": 2, "policy": "c"}, {"uid": 3, "policy": "d"},
                              {"default": true, "policy": "zzz"}]})");
  folders.write(folders.admin / "seccomp/p.json",
                R"({"comment": "c", "extends": "default", "allow": [{"comment": "c", "calls": ["opne"]}]})");
  const std::string subject = folders.problems();
  for (auto line : {"admin/b.json: not JSON: line 1, column 2: a key is missing (a key is a text in double quotes)",
                    "admin/a.json: limits.standard.tasks: \"many\" is not an integer",
                    "admin/a.json: limits.standard.cpus: 0 is outside 0.01..1024",
                    "admin/c.json: extends: there is no valid policy \"nobody\"",
                    "admin/d.json: seccomp: there is no valid profile \"none\"",
                    "admin/seccomp/p.json: allow[0].calls: \"opne\" is not a system call that libseccomp",
                    "admin/tenants.json: rules[3].policy: there is no valid policy \"zzz\""}) {
    CAPTURE(line);
    CHECK(subject.find(line) != subject.npos);
  }
  CHECK(std::count(subject.begin(), subject.end(), '\n') == 6);
}

TEST_CASE("a wrong policy that no tenant has is a warning", "[store]") {
  Folders folders;
  folders.write(folders.admin / "a.json", R"({"extends": "default", "limits": {"standard": {"tasks": 0}}})");
  folders.write(folders.admin / "b.json", R"({"extends": "a"})");
  folders.write(folders.admin / "c.json", R"({"extends": "default"})");
  folders.write(folders.admin / "tenants.json", R"({"rules": [{"default": true, "policy": "c"}]})");
  auto store = folders.load();
  if (!store) FAIL(store.error().what);
  CHECK(store->find("a") == nullptr);
  CHECK(store->find("b") == nullptr);
  CHECK(store->find("c") != nullptr);
  REQUIRE(store->warnings().size() == 2);
  CHECK(store->warnings()[0].find("a.json: limits.standard.tasks: 0 is outside 4..65536; no tenant has this policy") !=
        std::string::npos);
  SECTION("unless a tenant has it") {
    folders.write(folders.admin / "tenants.json",
                  R"({"rules": [{"uid": 7, "policy": "a"}, {"default": true, "policy": "c"}]})");
    CHECK(folders.problems().find("a.json: limits.standard.tasks") != std::string::npos);
  }
  SECTION("unless a tenant's policy extends it") {
    folders.write(folders.admin / "tenants.json", R"({"rules": [{"default": true, "policy": "b"}]})");
    CHECK(folders.problems().find("a.json: limits.standard.tasks") != std::string::npos);
  }
  SECTION("unless it is the standard policy") {
    folders.write(folders.admin / "default.json", R"({"limits": {"standard": {"tasks": 0}}})");
    CHECK(folders.problems().find("admin/default.json: ") != std::string::npos);
  }
}

TEST_CASE("a key that is there twice in a policy is a problem, whether a tenant has it or not", "[store]") {
  Folders folders;
  folders.write(folders.admin / "a.json", "{\"extends\": \"default\",\n\"calls\": {},\n\"calls\": {}}");
  CHECK(folders.problems().find("a.json: line 3, column 1: the key \"calls\" is there twice, first in line 2") !=
        std::string::npos);
}

TEST_CASE("a key that is there twice in the rules of tenants or in a seccomp profile is a problem", "[store]") {
  Folders folders;
  REQUIRE(folders.load());
  folders.write(folders.admin / "tenants.json",
                "{\"rules\": [\n{\"uid\": 7, \"policy\": \"strict\",\n\"policy\": \"default\"}]}");
  folders.write(
      folders.admin / "seccomp/own.json",
      "{\"extends\": \"default\",\n\"allow\": [],\n \"allow\": [{\"comment\": \"c\", \"calls\": [\"write\"]}]}");
  const std::string problems = folders.problems();
  for (const char* problem : {"tenants.json: line 3, column 1: the key \"policy\" is there twice, first in line 2",
                              "seccomp/own.json: line 3, column 2: the key \"allow\" is there twice, first in line 2"})
    CHECK_THAT(problems, Catch::Matchers::Contains(problem));
}

TEST_CASE("former names of keys are taken, also where a policy extends another, and told", "[store]") {
  Folders folders;
  folders.write(folders.admin / "old.json", R"({"extends": "default", "pool": {"least": 2, "most": 9},
                 "sessions": {"most": 3}, "named_workspaces": {"most": 5}})");
  folders.write(folders.admin / "new.json", R"({"extends": "old", "pool": {"max_idle": 4}})");
  auto store = folders.load();
  REQUIRE(store);
  const auto old = store->find("old"), fresh = store->find("new");
  CHECK(
      (old->pool.min_idle == 2 && old->pool.max_idle == 9 && old->sessions.max == 3 && old->named_workspaces.max == 5));
  CHECK((fresh->pool.min_idle == 2 && fresh->pool.max_idle == 4 && fresh->sessions.max == 3));
  const std::string file = (folders.admin / "old.json").string() + ": ";
  CHECK(store->warnings() ==
        std::vector<std::string>{file + "pool.least is now named pool.min_idle",
                                 file + "pool.most is now named pool.max_idle",
                                 file + "sessions.most is now named sessions.max",
                                 file + "named_workspaces.most is now named named_workspaces.max"});
}

TEST_CASE("a call rule behind one that fits every call is a warning", "[store]") {
  Folders folders;
  folders.write(folders.admin / "a.json", R"({"extends": "default", "calls": {"rules": [
    {"name": "some", "tools": ["mail.*", "*.send"], "verdict": "allow"},
    {"name": "few", "tools": ["*"], "verdict": "deny", "when": {"required": ["path"]}},
    {"name": "all", "tools": ["x.y", "*"], "verdict": "allow"},
    {"name": "no-delete", "tools": ["*.delete"], "verdict": "deny"}]}})");
  auto store = folders.load();
  if (!store) FAIL(store.error().what);
  CHECK(store->warnings() ==
        std::vector<std::string>{(folders.admin / "a.json").string() +
                                 ": calls.rules: 'no-delete' is never used, because 'all' before it fits every call"});
}

TEST_CASE("a key under both of its names is refused, and both are named", "[store]") {
  Folders folders;
  folders.write(folders.admin / "both.json", R"({"extends": "default", "sessions": {"most": 3, "max": 4}})");
  CHECK(folders.problems_of_used("both") ==
        "admin/both.json: sessions.most: is the former name of sessions.max, which is also given (write only "
        "sessions.max)");
}

TEST_CASE("extending in a circle or without end is refused", "[store]") {
  Folders folders;
  SECTION("oneself") {
    folders.write(folders.admin / "me.json", R"({"extends": "me"})");
    CHECK(folders.problems_of_used("me") == "admin/me.json: extends: me -> me is a cycle");
  }
  SECTION("through another") {
    folders.write(folders.admin / "a.json", R"({"extends": "b"})");
    folders.write(folders.admin / "b.json", R"({"extends": "a"})");
    CHECK(folders.problems_of_used("a") ==
          "admin/a.json: extends: a -> b -> a is a cycle\n"
          "admin/b.json: extends: b -> a -> b is a cycle");
  }
  SECTION("too many steps") {
    std::string base = "default";
    for (char c = 'a'; c <= 'h'; c++) {
      folders.write(folders.admin / (std::string(1, c) + ".json"), R"({"extends": ")" + base + R"("})");
      base = c;
    }
    CHECK(folders.problems() == "");  // eight steps from h to default
    folders.write(folders.admin / "i.json", R"({"extends": "h"})");
    CHECK(folders.problems_of_used("i") ==
          "admin/i.json: extends: i -> h -> g -> f -> e -> d -> c -> b -> a -> default is longer than 8 steps");
  }
  SECTION("seccomp profiles as well") {
    folders.write(folders.admin / "seccomp/x.json", R"({"comment": "c", "extends": "x"})");
    CHECK(folders.problems() == "admin/seccomp/x.json: extends: x -> x is a cycle");
  }
}

TEST_CASE("files that cannot be trusted or read are refused", "[store]") {
  Folders folders;
  SECTION("writable by everybody") {
    folders.write(folders.admin / "a.json", R"({"extends": "default"})");
    fs::permissions(folders.admin / "a.json", fs::perms::others_write, fs::perm_options::add);
    CHECK(folders.problems() == "admin/a.json: all users may write the file (chmod o-w)");
  }
  SECTION("a FIFO does not hold the daemon up") {
    REQUIRE(::mkfifo((folders.admin / "a.json").c_str(), 0600) == 0);
    CHECK(folders.problems() == "admin/a.json: not a regular file");
  }
  SECTION("a folder") {
    fs::create_directory(folders.admin / "a.json");
    CHECK(folders.problems() == "admin/a.json: not a regular file");
  }
  SECTION("huge") {
    folders.write(folders.admin / "a.json", std::string((1 << 20) + 1, ' '));
    CHECK(folders.problems() == "admin/a.json: larger than 1048576 bytes");
  }
  SECTION("deep") {
    folders.write(folders.admin / "a.json", std::string(100'000, '['));
    CHECK(folders.problems() == "admin/a.json: line 1, column 65: nested deeper than 64");
  }
  SECTION("a name that is none") {
    folders.write(folders.admin / "A B.json", "{}");
    CHECK(folders.problems() == "admin/A B.json: the name before .json is not 1 to 64 of a-z, 0-9, _, . and -");
  }
  SECTION("null") {
    folders.write(folders.admin / "a.json", R"({"extends": "default", "limits": {"maximum": {"cpus": null}}})");
    CHECK(folders.problems_of_used("a") == "admin/a.json: limits.maximum.cpus: null is not a value; leave out the key");
  }
  SECTION("a dangling link") {
    fs::create_symlink("/nonexistent", folders.admin / "a.json");
    CHECK(folders.problems() == "admin/a.json: open: No such file or directory");
  }
}

TEST_CASE("a broken file that masks does not let the masked one back in", "[store]") {
  Folders folders;
  folders.write(folders.admin / "strict.json", "{");
  folders.write(folders.admin / "a.json", R"({"extends": "strict"})");
  const std::string subject = folders.problems_of_used("a");
  CHECK(subject.find("admin/a.json: extends: there is no valid policy \"strict\"") != subject.npos);
}

TEST_CASE("other files in a policy folder are none of our business", "[store]") {
  Folders folders;
  for (auto name : {"README.md", "policy.schema.json", ".a.json.swp", ".hidden.json"})
    folders.write(folders.admin / name, "not json");
  CHECK(folders.problems() == "");
}

TEST_CASE("folders may be missing, but not all of them", "[store]") {
  Folders folders;
  CHECK(Store::load({"/nonexistent", folders.vendor, "/nonexistent2"}, Mode::checkout));
  auto none = Store::load({"/nonexistent", "/nonexistent2"}, Mode::checkout);
  REQUIRE_FALSE(none);
  CHECK(none.error().what == "no folder with policies: /nonexistent, /nonexistent2");
}

TEST_CASE("a reload is all or nothing, and what runs keeps what it has", "[store]") {
  Folders folders;
  folders.write(folders.admin / "team.json", R"({"extends": "default", "limits": {"standard": {"tasks": 10}}})");
  folders.write(folders.admin / "other.json", R"({"extends": "default"})");
  folders.write(folders.admin / "tenants.json",
                R"({"rules": [{"uid": 7, "policy": "other"}, {"default": true, "policy": "team"}]})");
  auto store = folders.load();
  REQUIRE(store);
  const auto running = store->find("team");

  folders.write(folders.admin / "team.json", R"({"extends": "default", "limits": {"standard": {"tasks": 20}}})");
  folders.write(folders.admin / "new.json", R"({"extends": "default"})");
  folders.write(folders.admin / "other.json", R"({"extends": "default", "limits": 5})");
  auto failed = store->reread();
  REQUIRE_FALSE(failed);
  CHECK(failed.error().what.starts_with((folders.admin / "other.json").string() + ": limits: 5 is not an object"));
  CHECK(store->find("team") == running);
  CHECK(store->find("new") == nullptr);

  folders.write(folders.admin / "other.json", R"({"extends": "default"})");
  *store = store->reread().value();
  CHECK(store->find("team")->limits.standard.tasks == 20);
  CHECK(store->find("new"));
  CHECK(running->limits.standard.tasks == 10);

  fs::remove(folders.admin / "team.json");
  fs::remove(folders.admin / "tenants.json");
  *store = store->reread().value();
  CHECK(store->find("team") == nullptr);
  CHECK(running->limits.standard.tasks == 10);
}

TEST_CASE("a reload compiles only the seccomp profiles whose text, or whose base, has changed", "[store]") {
  auto allowing = [](const std::string& call, const std::string& extends) {
    return R"({"comment": "c", "newest": "set_mempolicy_home_node", "allow": [{"comment": "c", "calls": [")" + call +
           R"("]}])" + (extends.empty() ? "" : R"(, "extends": ")" + extends + "\"") + "}";
  };
  Folders folders;
  folders.write(folders.admin / "seccomp/child.json", allowing("write", "default"));
  folders.write(folders.admin / "seccomp/alone.json", allowing("read", ""));
  for (auto name : {"child", "alone"})
    folders.write(folders.admin / (std::string(name) + ".json"),
                  R"({"extends": "default", "seccomp": ")" + std::string(name) + "\"}");
  auto store = folders.load();
  REQUIRE(store);
  auto filter_of = [&](const char* name) { return store->find(name)->filter; };
  const auto base = filter_of("default"), child = filter_of("child"), alone = filter_of("alone");

  folders.write(folders.admin / "child.json", R"({"extends": "default", "seccomp": "child", "description": "new"})");
  *store = store->reread().value();
  CHECK(store->find("child")->description == "new");
  CHECK((filter_of("default") == base && filter_of("child") == child && filter_of("alone") == alone));

  folders.write(folders.vendor / "seccomp/default.json", allowing("close", ""));
  *store = store->reread().value();
  CHECK(filter_of("default") != base);
  CHECK(filter_of("child") != child);
  CHECK(filter_of("alone") == alone);
  CHECK(filter_of("alone")->profile == "alone");
}

TEST_CASE("a store that refuses offers execute_code alone, and nothing that could run", "[store]") {
  const Store store = Store::refusing({"/etc/warder/policies"});
  const auto policy = store.standard();
  REQUIRE(policy);
  CHECK(store.names() == std::vector<std::string>{"none"});
  CHECK(store.folders() == std::vector<std::string>{"/etc/warder/policies"});
  CHECK(policy->tools.offers("execute_code"));
  CHECK_FALSE(policy->tools.offers("call_tool"));
  REQUIRE(policy->filter);
  CHECK(policy->filter->program.empty());
  CHECK(policy->calls.otherwise == Verdict::deny);
  CHECK(policy->named_workspaces.idle.count() == 0);
  const auto assigned = store.tenant_of({1000, 1000, {}});
  REQUIRE(assigned);
  CHECK(assigned->tenant == "uid-1000");
}

TEST_CASE("the own rule of a token decides where no rule of tenants.json fits", "[policies]") {
  Folders folders;
  auto store = folders.load();
  REQUIRE(store);
  CHECK(store->tenant_of(TokenBearer{"ci"}).error().code == Code::denied);
  store->set_token_rules({{"ci", "builds", "strict"}, {"own", "", "strict"}, {"plain", "team", ""}, {"none", "", ""}});
  CHECK(store->tenant_of(TokenBearer{"ci"})->tenant == "builds");
  CHECK(store->tenant_of(TokenBearer{"ci"})->policy->name == "strict");
  CHECK(store->tenant_of(TokenBearer{"own"})->tenant == "token-own");
  CHECK(store->tenant_of(TokenBearer{"plain"})->policy->name == "default");
  CHECK_FALSE(store->tenant_of(TokenBearer{"none"}));
  CHECK_FALSE(store->tenant_of(CallerCredentials(TokenBearer{"other"})));
  CHECK(store->tenant_of(CallerCredentials(kSomebody))->tenant == "uid-1234");

  folders.write(folders.admin / "tenants.json",
                R"({"rules": [{"token": "ci", "tenant": "first", "policy": "system"}]})");
  auto with_file = folders.load();
  REQUIRE(with_file);
  with_file->set_token_rules({{"ci", "builds", "strict"}, {"plain", "team", "nonsense"}});
  CHECK(with_file->tenant_of(TokenBearer{"ci"})->tenant == "first");
  CHECK_FALSE(with_file->tenant_of(TokenBearer{"plain"}));  // its policy does not exist
  with_file->set_token_rules({});
  CHECK(with_file->tenant_of(TokenBearer{"ci"})->tenant == "first");
}

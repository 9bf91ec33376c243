// Layers, packages and processes with a folder that cannot be read to its end, and users that cannot be looked up.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "jail/usage/process_tree.h"
#include "policies/tenant_rules.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/path.h"
#include "supervisor/base/user_lookup.h"
#include "supervisor/privileges.h"
#include "supervisor/programs/packages/scratch_folder.h"
#include "supervisor/programs/packages/tree_copy.h"
#include "supervisor/tenants/layers/entry_rules.h"
#include "supervisor/tenants/layers/layer_store.h"
#include "supervisor/tenants/layers/tree_scan.h"
#include "tests/catch.h"
#include "tests/failing_reads/failing_folder.h"
#include "tests/temp_directory.h"

namespace fs = std::filesystem;

namespace {

struct TwoTrees {
  TempDirectory temporary;
  fs::path root = fs::canonical(temporary.path());
  TwoTrees() {
    for (const char* tree : {"from", "same"}) {
      fs::create_directories(root / tree / "inner");
      for (const char* file : {"a", "inner/b", "inner/c"}) std::ofstream(root / tree / file) << "x";
    }
    fs::create_directory(root / "to");
  }
  Fd open(const char* tree) const { return Fd(::open((root / tree).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); }
};

}  // namespace

TEST_CASE_METHOD(TwoTrees, "a tree that cannot be read is neither copied nor the same", "[failing]") {
  const auto is_same = [&] { return packages::is_same_tree(open("from").get(), open("same").get()); };
  CHECK(is_same().value());
  CHECK_FALSE(packages::is_over_limits(open("from").get(), {}).value());
  for (const char* folder : {"/from/inner", "/same/inner", "/from", "/same"}) {
    const FailingFolder failing(folder, 1);
    CHECK(is_same().error().err == EIO);
  }
  const FailingFolder failing("/from/inner", 1);
  CHECK_FALSE(packages::is_over_limits(open("from").get(), {}));
  CHECK_FALSE(packages::copy_tree(open("from").get(), open("to").get()));
  CHECK_FALSE(layers::scan_tree(open("from").get()));
}

TEST_CASE_METHOD(TwoTrees, "a layer that /usr contradicts is refused, also if /usr cannot be read", "[failing]") {
  fs::create_directories(root / "usr/lib/python3.11");
  fs::create_directories(root / "usr/lib/python3/dist-packages");
  for (const char* file : {"x.py", "y.py"}) std::ofstream(root / "usr/lib/python3.11" / file) << "";
  layers::Manifest manifest;
  CHECK(layers::check_against_usr(manifest, open("usr").get()));
  for (const char* folder : {"/usr/lib", "/usr/lib/python3.11"}) {
    const FailingFolder failing(folder);
    CHECK_FALSE(layers::check_against_usr(manifest, open("usr").get()));
  }
}

TEST_CASE_METHOD(TwoTrees, "layers that cannot all be listed keep their versions", "[failing]") {
  auto store = layers::LayerStore::open_to_change((root / "layers").string());
  REQUIRE(store);
  fs::create_directories(root / "tree/lib/python3/dist-packages");
  const auto add = [&](const char* name) {
    std::ofstream(root / "tree/lib/python3/dist-packages/warder_test_a.py") << name;
    layers::NamedLayer layer;
    layer.name = name;
    layer.python = "3.11";
    return store->add(layer, open("tree").get());
  };
  const auto first = add("first");
  REQUIRE(first);
  const auto second = add("second");
  REQUIRE(second);
  {
    const FailingFolder failing("/layers/names", 1);
    CHECK_FALSE(store->list());
    REQUIRE(store->remove("second"));
  }
  CHECK(fs::exists(root / "layers" / first->hash));
  {
    const FailingFolder failing("/layers");
    CHECK(add("third"));
  }
  CHECK(store->list()->size() == 2);
}

TEST_CASE("what killed commands left is named as left where /var/tmp cannot be read", "[failing]") {
  const std::string name = "failing-test" + std::to_string(::getpid()),
                    remainder = "/var/tmp/warder-" + name + "-a1B2c3";
  fs::create_directories(remainder + "/deep");
  TempDirectory temporary;
  const std::string log = temporary.path() / "log";
  const auto make_with_log = [&] {
    const Fd before(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)), file(::open(log.c_str(), O_CREAT | O_WRONLY, 0600));
    ::dup2(file.get(), STDERR_FILENO);
    auto created = packages::ScratchFolder::make(name);
    ::dup2(before.get(), STDERR_FILENO);
    return created;
  };
  {
    const FailingFolder failing("/var/tmp");
    const auto with_log = make_with_log();
    REQUIRE(with_log);
    CHECK(fs::is_directory(with_log->path()));
  }
  std::stringstream text;
  text << std::ifstream(log).rdbuf();
  CHECK_THAT(text.str(), Catch::Matchers::Contains("what killed commands left stays: cannot list '/var/tmp'"));
  CHECK(fs::exists(remainder + "/deep"));
  CHECK(packages::ScratchFolder::make(name));
  CHECK_FALSE(fs::exists(remainder));
}

TEST_CASE("a process whose threads cannot be listed has no count of them", "[failing]") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    char end = 0;
    ::_exit(static_cast<int>(::read(ends[0], &end, 1)));
  }
  CHECK(jail::read_process_tree(::getpid()).tasks == 1);
  {
    const FailingFolder failing("/task");
    CHECK(jail::read_process_tree(::getpid()).tasks == 0);
  }
  ::close(ends[1]);
  ::close(ends[0]);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
}

TEST_CASE("a user who cannot be looked up is an error, not a missing user", "[failing]") {
  CHECK(find_system_user("root").value()->uid == 0);
  CHECK(find_system_user(0).value()->name == "root");
  CHECK(find_system_group("root").value() == gid_t{0});
  for (const auto& user : {find_system_user("no-such-user"), find_system_user(4'000'000'000)})
    CHECK_FALSE(user.value());
  CHECK_FALSE(find_system_group("no-such-group").value());
  const Json rules = {{"rules", {{{"user", "warder"}, {"tenant", "a"}, {"policy", "default"}}}}};
  ::setenv("FAIL_USER", "warder", 1);
  const auto user = find_system_user("warder");
  const auto parsed = policies::TenantRules::parse(rules);
  const auto identity = choose_identity("warder", jail::IdRange{});
  ::unsetenv("FAIL_USER");
  REQUIRE_FALSE(user);
  CHECK((user.error().code == Code::unavailable && user.error().err == EIO));
  CHECK(user.error().what == "\"warder\" cannot be looked up: Input/output error");
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().front().what.find("cannot be looked up") != std::string::npos);
  CHECK(identity.has_value() == (::geteuid() != 0));  // only root becomes another user
}

// Snapshots, moves and signed rules with a folder that cannot be read to its end: no incomplete snapshot is made, no
// rule vanishes.
#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "supervisor/base/path.h"
#include "supervisor/cluster/link/rule_files.h"
#include "supervisor/cluster/moves/move_files.h"
#include "supervisor/cluster/node/rule_keeper.h"
#include "supervisor/cluster/snapshot/snapshot.h"
#include "supervisor/cluster/trust/private_file.h"
#include "tests/catch.h"
#include "tests/failing_reads/failing_folder.h"
#include "tests/supervisor/cluster/memory_bus.h"
#include "tests/supervisor/cluster/trust_fixture.h"
#include "tests/temp_directory.h"

namespace fs = std::filesystem;
using namespace trust_test;

namespace {

const auto kNeverStop = [] { return false; };

// The folder of all tenants, with one workspace of 40 files.
struct FortyFiles {
  TempDirectory temporary;
  fs::path root = fs::canonical(temporary.path()), home = root / "ada/workspaces/reports";
  Fd tenants;
  tenants::TenantId id{"ada", "reports"};
  FortyFiles() {
    fs::create_directories(home / "workspace/deep");
    for (int i = 0; i < 40; i++) std::ofstream(home / "workspace" / ("file" + std::to_string(i))) << i;
    tenants = open_directory(root.string()).value();
  }
  moves::MoveFiles moves() const { return moves::MoveFiles(tenants.get()); }
  Result<moves::PackedHome> pack(const std::string& to = "", const std::string& name = "") const {
    return moves().pack(id, {id.account, id.workspace, "n1", 3, 1, "p", "h"}, "", to, name, kNeverStop);
  }
};

cluster::SignedRule policy_of(const std::string& name) {
  cluster::SignedRule rule;
  rule.kind = "policy";
  rule.cluster = "c1";
  rule.name = name;
  rule.serial = 1;
  rule.content = "{}";
  return rule;
}

}  // namespace

TEST_CASE_METHOD(FortyFiles, "a workspace that cannot be read to its end is not packed", "[failing]") {
  CHECK(pack().value().about.entries == 42);
  const std::string parked = root / "parked";
  fs::create_directory(parked);
  for (const char* folder : {"/reports", "/reports/workspace", "/workspace/deep"}) {
    std::ofstream(home / "workspace/deep/file") << "x";
    const FailingFolder failing(folder, folder == std::string("/reports/workspace") ? 10 : 0);
    const auto packed = pack();
    REQUIRE_FALSE(packed);
    CHECK(packed.error().err == EIO);
    CHECK_FALSE(pack(parked, "file"));
    CHECK(fs::is_empty(parked));
  }
}

TEST_CASE_METHOD(FortyFiles, "a file whose holes cannot be read is not packed as a hole", "[failing]") {
  const fs::path sparse = home / "workspace/sparse";
  std::ofstream(sparse) << "data";
  fs::resize_file(sparse, 1 << 20);
  CHECK(pack());
  const FailingFolder failing("/workspace/sparse");
  const auto packed = pack();
  REQUIRE_FALSE(packed);
  CHECK(packed.error().err == EIO);
}

TEST_CASE_METHOD(FortyFiles, "a workspace whose contents are unknown is not taken for empty", "[failing]") {
  CHECK(moves().contents(id).value() == std::vector<std::string>{"files"});
  const FailingFolder failing("/reports/workspace");
  CHECK_FALSE(moves().contents(id));
}

TEST_CASE_METHOD(FortyFiles, "a home that cannot be read stays as a whole where it is", "[failing]") {
  tenants::TenantId account{"ada", ""};
  fs::create_directories(root / "ada/workspace");
  fs::create_directories(root / "ada/skills");
  {
    const FailingFolder failing("/ada", 1);
    CHECK_FALSE(moves().set_aside(account));
  }
  CHECK((fs::exists(root / "ada/workspace") && fs::exists(root / "ada/skills")));
  CHECK(moves().set_aside(account));
  const FailingFolder failing("/.moves");
  CHECK_FALSE(moves().begin());
}

TEST_CASE("signed rules that cannot be listed do not vanish", "[failing]") {
  TempDirectory temporary;
  const std::string root = fs::canonical(temporary.path()), anchor = root + "/anchor";
  REQUIRE(cluster::write_whole_file(anchor, signed_record(record_of({node_of("n1", 1)}, 2)), 0644, Existing::replace));
  std::vector<std::string> texts;
  for (const char* name : {"strict", "stricter"})
    texts.push_back(sign_rule(policy_of(name), key_of(kAuthority)).value());
  auto files = cluster::RuleFiles::open(anchor, root);
  REQUIRE(files);
  const auto reserved = files->take(texts);
  REQUIRE((reserved && reserved->policies.size() == 2));
  REQUIRE(files->apply(reserved->policies));
  {
    const FailingFolder failing("/cluster/rules", 1);
    const auto opened = cluster::RuleFiles::open(anchor, root);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().err == EIO);
  }
  const FailingFolder failing("/cluster/policies", 1);
  CHECK_FALSE(files->take({}));
  CHECK_FALSE(files->clear());
  CHECK(fs::exists(root + "/cluster/policies/stricter.json"));
}

TEST_CASE("signed rules whose files cannot all be listed wait, and come into force later", "[failing]") {
  TempDirectory temporary;
  const std::string root = fs::canonical(temporary.path()), files = root + "/files", anchor = files + "/trust.record";
  for (const char* folder : {"files", "state"}) fs::create_directory(root + "/" + folder);
  const auto write = [&](const std::string& file, const std::string& text) {
    REQUIRE(cluster::write_whole_file(file, text, 0644, Existing::replace));
  };
  write(anchor, signed_record(record_of({node_of("n1", 1)})));
  for (const char* name : {"one", "two"})
    write(files + "/policy-" + name + ".rule", sign_rule(policy_of(name), key_of(kAuthority)).value());
  Loop loop;
  cluster::MemoryBroker broker(loop);
  const auto bus = broker.connect("n1");
  const auto work = cluster::RuleWork::start(loop, cluster::RuleStore::open(anchor, root + "/state").value()).value();
  int changes = 0;
  cluster::RuleKeeper keeper(loop, *bus, 1, files, *work, [&] { changes++; });
  {
    const FailingFolder failing("/files", 2);  // the third of three files
    keeper.begin();
    // Jobs run one after the other: the look at the files, and a job for each rule that it found.
    int done = 0;
    const auto run_jobs = [](cluster::RuleWork& of, int& into) -> Task<> {
      for (; into < 6; into++) {
        cluster::RuleWork::Job job = [](cluster::RuleStore&) { return Result<>(); };
        (void)co_await of.run(std::move(job));
      }
    };
    loop.spawn(run_jobs(*work, done));
    loop.run_until([&] { return done == 6; });
    CHECK(changes == 0);
  }
  bool is_late = false;
  const Deadline late(loop, std::chrono::seconds(20), [&] { is_late = true; });
  loop.run_until([&] { return changes == 2 || is_late; });
  CHECK(changes == 2);
}

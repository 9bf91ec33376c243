// TrustKeeper: the trouble with the file of `warder cluster`, for as long as it lasts.
#include "supervisor/cluster/node/trust_keeper.h"

#include <filesystem>

#include "supervisor/cluster/trust/private_file.h"
#include "tests/catch.h"
#include "tests/supervisor/cluster/memory_bus.h"
#include "tests/supervisor/cluster/trust_fixture.h"
#include "tests/temp_directory.h"

namespace cluster {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using trust_test::node_of;
using trust_test::record_of;
using trust_test::signed_record;

struct KeptTrust {
  Loop loop;
  MemoryBroker broker{loop};
  std::unique_ptr<Bus> bus = broker.connect("n1");
  TempDirectory temporary;
  fs::path root = fs::canonical(std::string(temporary.path())), anchor = root / "trust.record";
  std::unique_ptr<RuleWork> work;
  std::unique_ptr<TrustKeeper> keeper;
  int64_t serial = 1;  // in force

  KeptTrust() {
    fs::create_directory(root / "state");
    write(signed_record(record_of({node_of("n1", 1)})));
    const RuleStore store = RuleStore::open(anchor, root / "state").value();
    work = RuleWork::start(loop, store).value();
    const auto changed = [this](const TrustRecord& record) { serial = record.serial; };
    keeper = std::make_unique<TrustKeeper>(loop, *bus, 1, anchor, store, *work, changed, 5ms);
    keeper->begin();
  }
  void write(const std::string& text) const { REQUIRE(write_whole_file(anchor, text, 0644, Existing::replace)); }
  void until_trouble_has(const std::string& text) {
    bool is_late = false;
    const Deadline late(loop, 20s, [&is_late] { is_late = true; });
    loop.run_until([&] {
      const std::string& trouble = keeper->trouble();
      return is_late || (text.empty() ? trouble.empty() : trouble.find(text) != std::string::npos);
    });
    INFO(keeper->trouble());
    CHECK_FALSE(is_late);
  }
};

}  // namespace

TEST_CASE_METHOD(KeptTrust, "a trust record that can be read again, unchanged, is no trouble any more", "[cluster]") {
  fs::permissions(anchor, fs::perms::others_write, fs::perm_options::add);
  until_trouble_has("other users can write it");
  fs::permissions(anchor, fs::perms::others_write, fs::perm_options::remove);
  until_trouble_has("");
}

TEST_CASE_METHOD(KeptTrust, "a refused trust record is trouble until another one is there", "[cluster]") {
  TrustRecord foreign = record_of({node_of("n1", 1)}, 2);
  foreign.cluster = "c2";
  write(signed_record(foreign));
  until_trouble_has("cluster");
  fs::permissions(anchor, fs::perms::others_write, fs::perm_options::add);
  until_trouble_has("other users can write it");
  fs::permissions(anchor, fs::perms::others_write, fs::perm_options::remove);
  until_trouble_has("cluster");
  write(signed_record(record_of({node_of("n1", 1), node_of("n2", 2)}, 2)));
  until_trouble_has("");
  CHECK(serial == 2);
}

}  // namespace cluster

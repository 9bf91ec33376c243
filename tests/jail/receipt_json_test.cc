// The text of a receipt, byte for byte: clients read it, and its keys keep their order.
#include "jail/execution/receipt.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

using jail::Receipt;

namespace {

jail::Applied usual_applied() {
  jail::Applied applied;
  applied.own_namespaces.fill(true);
  applied.identity = jail::Identity::separated;
  applied.init_id = 1879048192;
  applied.runner_id = 1879048193;
  applied.daemon_id = 1879113727;
  applied.landlock_abi = 7;
  applied.build_ms = 8.8896621;
  applied.steps_us[static_cast<size_t>(jail::Step::pivot)] = 41;
  applied.steps_us[static_cast<size_t>(jail::Step::read_plan)] = 120;
  return applied;
}

Receipt whole_receipt() {
  Receipt receipt;
  receipt.applied = usual_applied();
  receipt.seccomp_profile = "default";
  receipt.seccomp_instructions = 523;
  receipt.cgroup = jail::CgroupReceipt{536870912, 9437184, 65, 1};
  receipt.workspace_mapped_ids = true;
  receipt.workspace_quota = "project";
  receipt.session_call = 2;
  receipt.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  receipt.origin = {jail::Start::fork, 12.00049, 93812.1};
  receipt.path_us = {{"attach", 612}, {"prepare", 31}};
  return receipt;
}

// A jail with as few walls as there can be, and texts that need quoting.
Receipt weak_receipt() {
  Receipt receipt;
  receipt.applied.own_namespaces[2] = true;
  receipt.applied.init_id = 1000;
  receipt.applied.root = jail::RootMode::bind;
  receipt.applied.proc = jail::ProcView::processes;
  receipt.applied.weaker = {"the kernel has no Landlock", "jail step \"root_overlay\":\nno"};
  receipt.seccomp_profile = "a \"profile\"";
  return receipt;
}

}  // namespace

TEST_CASE("the text of a receipt with every member", "[receipt]") {
  CHECK(
      jail::receipt_json(whole_receipt()) ==
      R"({"namespaces":["user","pid","mount","net","ipc","uts","cgroup"],)"
      R"("identity":{"init":1879048192,"runner":1879048193,"daemon":1879113727},"capabilities":"none",)"
      R"("no_new_privileges":true,"landlock":{"abi":7},"root":"overlay","network":"none","build_ms":8.890,)"
      R"("steps_us":{"read_plan":120,"pivot":41},"seccomp":{"profile":"default","instructions":523},)"
      R"("cgroup":{"memory_max":536870912,"swap_max":0,"oom_group":true,"pids_max":65,"cpus":1,"memory_held":9437184},)"
      R"("workspace":{"nosuid":true,"nodev":true,"mapped_ids":true,"quota":"project"},)"
      R"("session":{"call":2,"between_calls":"frozen"},)"
      R"("traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","weaker":[],"start":"fork",)"
      R"("waited_ms":12.000,"zygote_age_ms":93812.100,"path_us":{"attach":612,"prepare":31}})");
}

TEST_CASE("the text of a receipt with no optional member", "[receipt]") {
  CHECK(jail::receipt_json(weak_receipt()) ==
        R"({"namespaces":["mount"],"identity":{"shared":1000},"capabilities":"none","no_new_privileges":true,)"
        R"("landlock":false,"root":"bind","proc":"processes","network":"none","build_ms":0.000,"steps_us":{},)"
        R"("seccomp":{"profile":"a \"profile\"","instructions":0},"cgroup":false,)"
        R"("workspace":{"nosuid":true,"nodev":true,"mapped_ids":false},)"
        R"("weaker":["the kernel has no Landlock","jail step \"root_overlay\":\nno"],"start":"cold","path_us":{}})");
}

TEST_CASE("a session without a cgroup is watched between its calls", "[receipt]") {
  Receipt receipt = whole_receipt();
  receipt.cgroup.reset();
  receipt.workspace_quota = "accounting";
  receipt.origin = {jail::Start::exec, 1.5, 0};
  const Json read = Json::parse(jail::receipt_json(receipt));
  CHECK(read["cgroup"] == false);
  CHECK(read["session"] == Json{{"call", 2}, {"between_calls", "watched"}});
  CHECK(read["workspace"]["quota"] == "accounting");
  CHECK(read["waited_ms"] == 1.5);
  CHECK_FALSE(read.contains("zygote_age_ms"));
}

TEST_CASE("half a CPU and small limits keep their form in a receipt", "[receipt]") {
  Receipt receipt = whole_receipt();
  receipt.cgroup = jail::CgroupReceipt{1, 0, 2, 0.5};
  const std::string text = jail::receipt_json(receipt);
  CHECK(text.find(R"("cgroup":{"memory_max":1,"swap_max":0,"oom_group":true,"pids_max":2,"cpus":0.5})") !=
        std::string::npos);
}

#include "supervisor/upstream/calls/approvals.h"

#include <fmt/format.h>
#include <uv.h>

#include "supervisor/base/system_time.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/protocol/mcp/jsonrpc.h"
#include "supervisor/protocol/mcp/protocol.h"
#include "tests/catch.h"

using calls::Approval;
using calls::Approvals;
using calls::ApprovalVerdict;
using Kind = calls::ApprovalVerdict::Kind;

namespace {

struct Scene {
  Loop loop;
  Approvals approvals{loop};
  bool on_bus = true;  // a person can be reached without the client
  mcp::RequestContext client{loop, mcp::RequestId{"1"}, mcp::Version::v2026_07_28, nullptr};
  std::vector<Result<ApprovalVerdict>> verdicts;
  std::vector<std::string> reported;  // how each ended
  Approvals::Observers::Place observes;
  Scope tasks{loop};

  Scene() {
    auto changed = [this](const Approval&, Approvals::RequestChange subject, std::string_view how) {
      if (subject == Approvals::RequestChange::settled) reported.emplace_back(how);
    };
    observes = approvals.observe({.changed = changed, .can_decide = [this] { return on_bus; }});
  }
  Task<> waits(Approval approval) {
    auto verdict = co_await approvals.ask(std::move(approval), client);
    verdicts.push_back(std::move(verdict));
  }
  void ask(std::string tenant) {
    Approval approval;
    approval.tenant = std::move(tenant);
    approval.tool = "files.write";
    approval.requested_ms = system_now_ms();
    approval.expires_ms = approval.requested_ms + 3'600'000;
    tasks.spawn(waits(std::move(approval)));
  }
  void settle() {
    for (int turn = 0; turn < 5; turn++) uv_run(loop.uv(), UV_RUN_NOWAIT);
  }
};

}  // namespace

TEST_CASE("a look at a waiting call gives its exact arguments, and counts the looks and the values", "[approvals]") {
  Scene scene;
  Approval approval;
  approval.tenant = "ada";
  approval.arguments = R"({"to":"[EMAIL_k3v7qd]","cc":"[EMAIL_a2b3c4]","n":"[1]"})";
  approval.exact_arguments = R"({"to":"ada@example.com","cc":"bob@example.com","n":"[1]"})";
  approval.requested_ms = system_now_ms();
  approval.expires_ms = approval.requested_ms + 3'600'000;
  scene.tasks.spawn(scene.waits(approval));
  const std::string id = scene.approvals.all().front()->id;
  const auto first = scene.approvals.inspect(id), second = scene.approvals.inspect(id);
  REQUIRE(first);
  CHECK(first->arguments == approval.exact_arguments);
  CHECK(first->values == 2);
  CHECK((first->number == 1 && second->number == 2));
  CHECK(scene.approvals.inspect("a0").error().code == Code::not_found);
  CHECK(calls::approval_text(*scene.approvals.find(id)).find("example.com") == std::string::npos);
  approval.exact_arguments.clear();  // too long
  scene.tasks.spawn(scene.waits(approval));
  for (const auto* item : scene.approvals.all())
    if (item->id != id) CHECK(scene.approvals.inspect(item->id).error().code == Code::invalid);
}

TEST_CASE("so many calls of one tenant wait, and so many of all", "[approvals]") {
  Scene scene;
  for (int i = 0; i < 64; i++) scene.ask("ada");
  CHECK(scene.approvals.all().size() == 64);
  CHECK(scene.verdicts.empty());
  scene.ask("ada");
  REQUIRE(scene.verdicts.size() == 1);
  REQUIRE_FALSE(scene.verdicts[0]);
  CHECK(scene.verdicts[0].error().code == Code::exhausted);
  CHECK(scene.verdicts[0].error().what == "64 calls of this tenant wait for an approval already");

  for (int i = 0; i < 1000 - 64; i++) scene.ask(fmt::format("tenant {}", i / 60));
  CHECK(scene.approvals.all().size() == 1000);
  scene.ask("eve");
  REQUIRE(scene.verdicts.size() == 2);
  CHECK(scene.verdicts[1].error().what == "1000 calls of all tenants wait for an approval already");

  const std::string name = scene.approvals.all().front()->id;
  REQUIRE(scene.approvals.settle(name, ApprovalVerdict{Kind::approved, "somebody", {}}));
  CHECK_FALSE(scene.approvals.settle(name, ApprovalVerdict{Kind::denied, "somebody else", {}}));
  scene.settle();
  REQUIRE(scene.verdicts.size() == 3);
  CHECK(scene.verdicts[2]->kind == Kind::approved);
  scene.ask("eve");
  CHECK(scene.approvals.all().size() == 1000);
}

TEST_CASE("what is taken back is withdrawn, however that happens", "[approvals]") {
  Scene scene;
  scene.ask("ada");
  scene.approvals.refuse_all("other rules");
  scene.settle();
  REQUIRE(scene.verdicts.size() == 1);
  CHECK(scene.verdicts[0]->kind == Kind::withdrawn);
  CHECK(scene.verdicts[0]->reason == "other rules");

  scene.ask("ada");
  scene.tasks.cancel_all();  // whoever asked went away
  CHECK(scene.approvals.all().empty());
  scene.ask("ada");
  scene.approvals.close("ending");
  scene.settle();
  CHECK(scene.reported == std::vector<std::string>(3, "withdrawn"));

  scene.ask("ada");
  REQUIRE(scene.verdicts.size() == 3);
  CHECK(scene.verdicts[2].error().code == Code::unavailable);
}

TEST_CASE("a question that nobody can be asked is no wait", "[approvals]") {
  Scene scene;
  scene.on_bus = false;
  scene.ask("ada");
  REQUIRE(scene.verdicts.size() == 1);
  CHECK(scene.verdicts[0]->kind == Kind::unasked);
}

TEST_CASE("an approval after its time by the clock of rights approves nothing", "[approvals]") {
  Scene scene;
  Approval approval;
  approval.tenant = "ada";
  approval.requested_ms = system_now_ms() - 7'200'000;  // the machine was suspended: the deadline has an hour left
  approval.expires_ms = system_now_ms() - 3'600'000;
  scene.tasks.spawn(scene.waits(approval));
  const std::string id = scene.approvals.all().front()->id;
  const auto settled = scene.approvals.settle(id, ApprovalVerdict{Kind::approved, "root", {}});
  REQUIRE_FALSE(settled);
  CHECK(settled.error().what.find("has expired") != std::string::npos);
  scene.settle();
  REQUIRE(scene.verdicts.size() == 1);
  REQUIRE(scene.verdicts[0]);
  CHECK(scene.verdicts[0]->kind == Kind::expired);
}

// The end of a staged program's changes, by the policy's `commit`. The test writes the staged files in place of a
// program: new files of an upper folder.
#include "supervisor/executions/runs/proposal_conclusion.h"

#include "tests/supervisor/executions/runs/scene.h"

using Catch::Matchers::Contains;
using policies::CommitBy;
using runs_test::IdleScene;

namespace {

struct ConclusionScene : IdleScene {
  proposals::Proposal proposal;

  explicit ConclusionScene(CommitBy commit) {
    change_policy([commit](policies::Policy& policy) { policy.staging.commit = commit; });
    const auto staged = opened();
    auto folder = finish(staged->begin()).value();
    runs_test::put(state / "tenants" / tenant().name() / "staging" / folder.id / "u/new.txt", "first\nsecond\n");
    proposal = finish(staged->settle(std::move(folder), {"e1", "python", 1}, {})).value();
    REQUIRE(proposal.state == proposals::ProposalState::open);
  }
  std::shared_ptr<proposals::ProposalStore> opened() {
    return finish(proposals.of(member->tenant, member->policy->staging)).value();
  }
  Json conclude(jail::Outcome outcome, size_t diff_bytes = 4000) {
    const auto context = request();
    const tenants::Requester requester = registry.requester_of(*context).value();
    return finish(runs::conclude_proposal(proposals, requester, proposal, outcome, diff_bytes));
  }
  bool is_in_workspace() const { return std::filesystem::exists(workspace() / "new.txt"); }
};

}  // namespace

TEST_CASE("a proposal that the agent or a person commits stays open, with its difference", "[proposal]") {
  ConclusionScene scene(GENERATE(CommitBy::agent, CommitBy::ask));
  Json output = scene.conclude(jail::Outcome::ok);
  CHECK(output["id"] == scene.proposal.id);
  CHECK(output["state"] == "open");
  CHECK_THAT(output["diff"].get<std::string>(), Contains("new.txt") && Contains("+second\n"));
  CHECK_FALSE(scene.is_in_workspace());
  CHECK(scene.opened()->open_proposals() == 1);
  CHECK(scene.changed_files.empty());
}

TEST_CASE("a failed program's proposal stays open where the agent commits", "[proposal]") {
  ConclusionScene scene(CommitBy::agent);
  CHECK(scene.conclude(jail::Outcome::error)["state"] == "open");
  CHECK(scene.opened()->open_proposals() == 1);
}

TEST_CASE("automatic: the changes of a program that ended well are committed, and reported", "[proposal]") {
  ConclusionScene scene(CommitBy::automatic);
  CHECK(scene.conclude(jail::Outcome::ok)["state"] == "committed");
  CHECK(runs_test::get(scene.workspace() / "new.txt") == "first\nsecond\n");
  CHECK(scene.changed_files == std::vector<std::string>{"new.txt"});
  CHECK(scene.opened()->open_proposals() == 0);
}

TEST_CASE("automatic: the changes of any other program are discarded", "[proposal]") {
  ConclusionScene scene(CommitBy::automatic);
  using jail::Outcome;
  const Outcome outcome = GENERATE(Outcome::error, Outcome::exit, Outcome::timeout, Outcome::disk, Outcome::cancelled);
  CHECK(scene.conclude(outcome)["state"] == "discarded");
  CHECK_FALSE(scene.is_in_workspace());
  CHECK(scene.opened()->open_proposals() == 0);
}

TEST_CASE("automatic: a conflict leaves the proposal open, and says where", "[proposal]") {
  ConclusionScene scene(CommitBy::automatic);
  runs_test::put(scene.workspace() / "new.txt", "of another program");
  Json output = scene.conclude(jail::Outcome::ok);
  CHECK(output["state"] == "open");
  REQUIRE(output.contains("conflicts"));
  CHECK(output["conflicts"][0]["path"] == "new.txt");
  CHECK(runs_test::get(scene.workspace() / "new.txt") == "of another program");
}

TEST_CASE("the difference is cut at its bytes, and says so", "[proposal]") {
  ConclusionScene scene(CommitBy::agent);
  const std::string text = scene.conclude(jail::Outcome::ok)["diff"].get<std::string>();
  const std::string part = scene.conclude(jail::Outcome::ok, 30)["diff"].get<std::string>();
  CHECK(part.size() < text.size());
  CHECK_THAT(part, Contains("the diff is longer"));
  CHECK_THAT(text, !Contains("the diff is longer"));
}

TEST_CASE("the files of open proposals count in the tenant's quota", "[proposal]") {
  ConclusionScene scene(CommitBy::agent);
  const uint64_t before = scene.tenant().workspace().quota().remaining().files;
  scene.conclude(jail::Outcome::ok);
  CHECK(scene.tenant().workspace().quota().remaining().files < before);
}

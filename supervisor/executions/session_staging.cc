#include "supervisor/executions/session_staging.h"

#include <fmt/format.h>

#include <utility>

#include "supervisor/tenants/tenant.h"

namespace executions {

SessionStaging::SessionStaging(Loop& loop, std::shared_ptr<tenants::Tenant> tenant,
                               std::shared_ptr<proposals::ProposalStore> store)
    : loop_(loop), tenant_(std::move(tenant)), staged_(loop, std::move(store)) {}

void SessionStaging::begin(std::shared_ptr<jail::OverlayFolder> folder) {
  if (started_ == folder.get()) return;
  started_ = folder.get();
  staged_.begin(std::move(folder));
}

Task<> SessionStaging::watch_peers() {
  if (before_) co_return;
  auto before = co_await tenant_->workspace().before(tenants::LogFor::reader);
  if (before) before_ = *std::move(before);
}

Task<Result<proposals::StagedUsage>> SessionStaging::measure() {
  auto usage = co_await staged_.measure();
  if (usage) last_ = *usage;
  co_return usage;
}

bool SessionStaging::is_over_quota() const {
  const tenants::QuotaLimits limits = tenant_->workspace().quota().remaining();
  return last_.bytes > limits.bytes || last_.files > limits.files;
}

void SessionStaging::program_begins(proposals::ProposalAbout about) {
  about_ = std::move(about);
  ended_well_ = false;
}

// The session changes no file of the workspace: all changes there have other authors.
Task<tenants::Changes> SessionStaging::peer_changes() {
  tenants::Changes changes;
  changes.complete = false;  // not known
  if (!before_) co_return changes;
  auto match = co_await tenant_->workspace().changes_since(*std::exchange(before_, std::nullopt));
  if (!match) co_return changes;
  changes = std::move(match->changes);
  changes.append(std::move(match->meanwhile));
  co_return changes;
}

Task<Result<proposals::Proposal>> SessionStaging::settle() {
  if (!std::exchange(is_settling_, true)) loop_.spawn(keep_settled(shared_from_this()));
  co_await settled_;
  is_settled_ = true;
  co_return std::move(result_);
}

Task<> SessionStaging::keep_settled(std::shared_ptr<SessionStaging> self) {
  self->result_ = co_await self->make_proposal();
  self->settled_.fire();
}

Task<Result<proposals::Proposal>> SessionStaging::make_proposal() {
  const int64_t started_ns = before_ ? before_->started_ns : 0;
  co_await staged_.wait_until_unused();
  tenants::Changes changes = co_await peer_changes();
  CO_TRY(proposals::Proposal proposal, co_await staged_.settle(std::move(about_), std::move(changes), started_ns));
  last_ = {proposal.bytes, proposal.entries};
  if (!is_over_quota()) co_return proposal;
  co_await staged_.discard(proposal.id);
  co_return fail(Code::exhausted, "they are more than the workspace's quota",
                 "delete files that are no longer needed, and write less", "quota.workspace_bytes");
}

}  // namespace executions

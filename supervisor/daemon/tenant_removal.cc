#include "supervisor/daemon/tenant_removal.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "policies/names.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/tenant_turns.h"
#include "supervisor/tenants/named_workspaces.h"

namespace {

using namespace std::chrono_literals;

constexpr auto kReleaseEvery = 50ms;
constexpr int kReleaseLooks = 400;  // 20 s

// The ids of a tenant and of its named workspaces, open or not.
Result<std::vector<tenants::TenantId>> ids_of(int tenants, const std::string& name) {
  std::vector<tenants::TenantId> ids = {tenants::TenantId{name}};
  TRY(const RelativePath path, RelativePath::parse(name));
  TRY(const Fd folder, open_beneath(tenants, path, O_PATH | O_DIRECTORY));
  TRY(const auto named, tenants::NamedWorkspaces::of(folder.get()));
  TRY(const auto workspaces, named.list(std::nullopt));
  for (const auto& workspace : workspaces) ids.push_back(tenants::TenantId{name, workspace.name});
  return ids;
}

}  // namespace

TenantRemoval::TenantRemoval(const Parts& parts, Loop& loop, tenants::Registry& registry, journal::Journal& journal,
                             executions::ExecutionRegistry& executions, executions::Sessions& sessions,
                             ClientDoors& doors, WorkspaceHomes* homes)
    : parts_(parts),
      loop_(loop),
      registry_(registry),
      journal_(journal),
      executions_(executions),
      sessions_(sessions),
      doors_(doors),
      homes_(homes),
      tasks_(loop) {
  registry_.on_removed([this](const tenants::TenantId& id) {
    forget_tenant(parts_, id);
    journal_.forget(id.text());
  });
}

Result<std::unique_ptr<TenantRemoval>> TenantRemoval::open(Parts& parts, Loop& loop, tenants::Registry& registry,
                                                           journal::Journal& journal,
                                                           executions::ExecutionRegistry& executions,
                                                           executions::Sessions& sessions, ClientDoors& doors,
                                                           WorkspaceHomes* homes) {
  return std::make_unique<TenantRemoval>(parts, loop, registry, journal, executions, sessions, doors, homes);
}

Result<> TenantRemoval::check_unused(const std::string& name) const {
  size_t living = 0;
  executions_.each_living([&](const executions::ExecutionRecord& record) { living += record.tenant.account == name; });
  const size_t sessions = sessions_.count_of(name);
  if (living + sessions == 0) return {};
  return fail(Code::denied, fmt::format("tenant '{}' has {} executions and {} sessions now", name, living, sessions),
              "wait for their end, or force the removal, which ends them");
}

// Ends what uses the tenant, and waits until nothing does.
Task<Result<>> TenantRemoval::end_uses(std::string name) {
  for (int check = 0; check < kReleaseLooks; check++) {
    std::vector<executions::ExecutionRecordPtr> living;
    for (const auto& item : executions_.all())
      if (item->tenant.account == name && item->stage != executions::Stage::ended) living.push_back(item);
    for (const auto& item : living) static_cast<void>(executions_.cancel(*item));
    sessions_.end_of(name, "its tenant is being removed");
    doors_.disconnect_tenant(name);
    close_tenant_account(parts_, registry_, name);
    const bool released = living.empty() && registry_.close_account(name);
    if (released) co_return Result<>{};
    co_await sleep_for(loop_, kReleaseEvery);
  }
  co_return fail(Code::unavailable, "tenant '" + name + "' is still in use after 20 s; nothing was removed",
                 "try again; warder ps --all lists its executions");
}

Task<Result<>> TenantRemoval::remove(std::string name, tenants::RemovalForce force, uint32_t uid) {
  if (!policies::valid_name(name)) co_return fail(Code::invalid, "this is not the name of a tenant");
  CO_TRY(const auto all, registry_.all_tenants());
  if (std::find(all.begin(), all.end(), name) == all.end())
    co_return fail(Code::not_found, "there is no tenant '" + name + "'", "warder tenants lists them");
  if (force == tenants::RemovalForce::no) CO_CHECKED(check_unused(name));
  CO_CHECKED(registry_.begin_removal(name));
  auto ended = co_await end_uses(name);
  if (ended) ended = co_await leave_cluster(name, force);
  if (ended) ended = co_await forget(name, force, uid);
  registry_.end_removal(name);
  co_return ended;
}

// Before the files: a home without files would be found, and a workspace there would be empty.
Task<Result<>> TenantRemoval::leave_cluster(std::string name, tenants::RemovalForce force) {
  if (!homes_) co_return Result<>{};
  auto remaining = co_await homes_->leave(name);
  if (remaining) co_return remaining;
  if (force == tenants::RemovalForce::yes) {
    log_warning("tenant {}: records of its homes may stay in the cluster: {}", name, remaining.error().what);
    co_return Result<>{};
  }
  co_return fail(Code::unavailable,
                 fmt::format("the cluster cannot forget the homes of tenant '{}': {}; nothing was removed", name,
                             remaining.error().what),
                 "try again when warder-node reaches the cluster; or force the removal, and the records stay");
}

Task<Result<>> TenantRemoval::forget(std::string name, tenants::RemovalForce force, uint32_t uid) {
  CO_TRY(const auto ids, ids_of(registry_.directory(), name));
  CO_TRY(const int64_t last_row, co_await journal_.last_row());
  CO_TRY(tenants::RemovedTenant removed, tenants::set_aside(registry_.directory(), name, journal::now_ms(), last_row));
  for (const auto& id : ids) forget_tenant(parts_, id);
  uint64_t executions = 0;
  CO_CHECKED(co_await leave_journal(removed, executions));
  const Json shape = {
      {"executions", executions}, {"forced", force == tenants::RemovalForce::yes}, {"workspaces", ids.size()}};
  journal_.audit({journal::now_ms(), name, uid, 0, "tenant removed", name, dump_json(shape), journal::AuditKind::call});
  log_notice("tenant {} was removed by user {}: {} workspaces, {} executions", name, uid, ids.size(), executions);
  delete_files(std::move(removed));
  co_return Result<>{};
}

Task<Result<>> TenantRemoval::leave_journal(tenants::RemovedTenant& removed, uint64_t& executions) {
  const int64_t last_row = removed.last_row.value_or(std::numeric_limits<int64_t>::max());
  CO_TRY(executions, co_await journal_.forget_account(removed.name, last_row));
  co_return tenants::leave_journal(registry_.directory(), removed);
}

void TenantRemoval::delete_files(tenants::RemovedTenant removed) { tasks_.spawn(delete_beside(std::move(removed))); }

Task<> TenantRemoval::delete_beside(tenants::RemovedTenant removed) {
  if (!disk_) {
    auto started = WorkerThread::start(loop_);
    if (!started) {
      log_error("files of the removed tenant {} stay until the next start: {}", removed.name, started.error().what);
      co_return;
    }
    disk_ = *std::move(started);
  }
  const WorkerThread::Job job = [removed, tenants = registry_.directory(), thread = disk_.get()] {
    return tenants::delete_files(tenants, removed, [thread] { return thread->is_ending(); });
  };
  auto done = co_await disk_->run(job);
  if (done) {
    log_notice("the files of the removed tenant {} are deleted", removed.name);
  } else {
    log_error("files of the removed tenant {} stay until the next start: {}", removed.name, done.error().what);
  }
}

Task<> TenantRemoval::finish() {
  auto remaining = tenants::list_removed(registry_.directory());
  if (!remaining) {
    log_error("removed tenants: {}", remaining.error().what);
    co_return;
  }
  for (tenants::RemovedTenant& removed : *remaining) {
    if (removed.in_journal) {
      log_notice("the removal of tenant {} continues", removed.name);
      uint64_t executions = 0;
      auto forgotten = co_await leave_journal(removed, executions);
      if (!forgotten) {
        log_error("removed tenant {}: {}", removed.name, forgotten.error().what);
        continue;
      }
    }
    delete_files(std::move(removed));
  }
}

PartEntry tenant_removal_part() { return part_entry_of("removal of tenants", TenantRemoval::open); }

#include "supervisor/cluster/moves/moves.h"

#include <utility>

#include "supervisor/base/log.h"
#include "supervisor/cluster/link/home_orders.h"
#include "supervisor/tenants/tenant.h"

namespace moves {

Moves::Moves(Daemon daemon, std::unique_ptr<WorkerThread> disk)
    : link_(daemon.cluster.link()),
      files_(daemon.registry.directory()),
      disk_(std::move(disk)),
      records_(daemon.tasks, daemon.named, daemon.workflows),
      services_{.loop = daemon.loop,
                .link = link_,
                .gate = daemon.cluster.gate(),
                .registry = daemon.registry,
                .policies = daemon.policies,
                .executions = daemon.executions,
                .sessions = daemon.sessions,
                .proposals = daemon.proposals,
                .files = files_,
                .disk = *disk_,
                .records = records_,
                .vault_keys = std::move(daemon.vault_keys),
                .close = std::move(daemon.close)},
      mover_(services_),
      receiver_(services_, mover_),
      tasks_(daemon.loop) {}

Result<std::unique_ptr<Moves>> Moves::open(Daemon daemon) {
  TRY(auto disk, WorkerThread::start(daemon.loop));
  std::unique_ptr<Moves> moves(new Moves(std::move(daemon), std::move(disk)));
  TRY(LeftMoves left_moves, moves->files_.begin());
  for (LeavingHome& leaving : left_moves.leaving) moves->mover_.complete(std::move(leaving));
  for (ArrivedHome& arrived : left_moves.arrived) moves->receiver_.complete(std::move(arrived));
  if (!left_moves.trash.empty()) moves->tasks_.spawn(moves->empty_trash(std::move(left_moves.trash)));
  return moves;
}

Task<> Moves::empty_trash(std::vector<std::string> folders) {
  for (const std::string& folder : folders) {
    const WorkerThread::Job job = [this, folder] {
      return files_.empty_trash(folder, [this] { return disk_->is_ending(); });
    };
    const auto done = co_await disk_->run(job);
    if (!done) log_warning("cluster: files of an earlier move stay until the next start: {}", done.error().what);
  }
}

Task<Result<std::string>> Moves::move(std::string workspace, std::string node) {
  CO_TRY(const tenants::TenantId id, tenants::TenantId::parse(workspace));
  if (!node.empty() && !cluster::is_node_name(node)) co_return fail(Code::invalid, "this is not the name of a node");
  if (node.empty()) {
    CO_TRY(node, co_await cluster::other_node(link_, id));
  }
  CO_CHECKED(co_await mover_.move(id, node));
  co_return node;
}

Task<Result<std::string>> Moves::park(std::string workspace, std::string folder) {
  CO_TRY(tenants::TenantId id, tenants::TenantId::parse(workspace));
  if (!folder.starts_with('/')) co_return fail(Code::invalid, "the folder is not an absolute path");
  CO_TRY(const std::string name, co_await mover_.park(std::move(id), folder));
  co_return folder + "/" + name;
}

Task<Result<std::vector<std::string>>> Moves::set_drained(bool is_drained) {
  CO_CHECKED(co_await cluster::set_drained(link_, is_drained));
  CO_TRY(const auto homes, co_await cluster::homes_here(link_));
  std::vector<std::string> names;
  for (const cluster::HeldHome& home : homes) names.push_back(home.id.text());
  co_return names;
}

}  // namespace moves

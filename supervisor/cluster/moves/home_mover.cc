#include "supervisor/cluster/moves/home_mover.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "policies/policy_parts.h"
#include "supervisor/base/log.h"
#include "supervisor/base/run_to_end.h"
#include "supervisor/cluster/link/home_orders.h"
#include "supervisor/cluster/moves/home_settling.h"
#include "supervisor/cluster/moves/move_stream.h"
#include "supervisor/records/journal/journal.h"
#include "supervisor/tenants/tenant.h"

namespace moves {
namespace {

using namespace std::chrono_literals;

constexpr auto kGoLimit = 15s;
constexpr auto kUsedLimit = 600s;  // the other node unpacks; a lost connection is noticed earlier
constexpr int kMaxOpens = 4;       // a node refuses orders for some seconds after its start
constexpr auto kReopenDelay = 2s;
constexpr auto kAskInterval = 1s;

}  // namespace

// The workspace is in leaving_ as long as this exists.
struct HomeMover::LeavingMark {
  std::set<tenants::TenantId>& all;
  const tenants::TenantId id;
  LeavingMark(std::set<tenants::TenantId>& of, tenants::TenantId tenant_id) : all(of), id(std::move(tenant_id)) {
    all.insert(id);
  }
  LeavingMark(const LeavingMark&) = delete;
  ~LeavingMark() { all.erase(id); }
};

Task<Result<>> HomeMover::move(tenants::TenantId id, std::string node) {
  return run_to_end(services_.loop, tasks_, do_move(std::move(id), std::move(node)), daemon_ends());
}

Task<Result<>> HomeMover::do_move(tenants::TenantId id, std::string node) {
  if (is_leaving(id)) co_return fail(Code::denied, "the workspace moves already");
  const LeavingMark mark(leaving_, id);
  auto moved = co_await move_held(id, node);
  if (moved)
    log_notice("cluster: the workspace {} moved to node {}", id.text(), node);
  else
    log_warning("cluster: the workspace {} did not move to node {}: {}", id.text(), node, moved.error().what);
  co_return moved;
}

Task<Result<cluster::Home>> HomeMover::own_home(tenants::TenantId id) {
  services_.link.forget_home(id);
  CO_TRY(const cluster::Home home, co_await services_.link.home_of(id));
  if (!home.is_here)
    co_return fail(Code::denied, fmt::format("the home of {} is node {}", id.text(), home.node),
                   fmt::format("call this command on node {}", home.node));
  co_return home;
}

Task<Result<>> HomeMover::move_held(tenants::TenantId id, std::string node) {
  if (node == services_.link.node()) co_return fail(Code::denied, "this node is the home already");
  CO_TRY(const cluster::Home home, co_await own_home(id));
  const auto reservation = services_.gate.hold(id);
  CO_CHECKED(co_await settle_home(services_, id));
  CO_TRY(const auto policy, policy_of_home(services_, id.account));
  std::string none;
  std::map<std::string, std::string> no_keys;  // the target gets the vault's key with the offer
  CO_TRY(const PackedHome packed, co_await pack(id, home.epoch, *policy, none, none, no_keys));
  const auto leaving = std::make_shared<LeavingHome>();
  const WorkerThread::Job mark = [files = &services_.files, id, epoch = home.epoch, leaving]() -> Result<> {
    TRY(*leaving, files->mark_leaving(id, epoch));
    return {};
  };
  CO_CHECKED(co_await services_.disk.run(mark));
  cluster::Push push{services_.link.node(), id, home.epoch, policies::name_of(*policy), policies::hash_of(*policy)};
  const auto sent = co_await send(packed, std::move(node), std::move(push));
  CO_TRY(const bool is_here, co_await settle_record(*leaving));
  if (!is_here) co_return Result<>{};
  co_return sent ? fail(Code::unavailable, "the other node did not become the home") : sent;
}

Task<Result<PackedHome>> HomeMover::pack(tenants::TenantId id, uint64_t epoch, const policies::Policy& policy,
                                         std::string folder, std::string name,
                                         std::map<std::string, std::string> vault_keys) {
  CO_TRY(std::string records, co_await services_.records.write(id.text()));
  cluster::SnapshotLabel label{id.account,
                               id.workspace,
                               services_.link.node(),
                               epoch,
                               journal::now_ms(),
                               policies::name_of(policy),
                               policies::hash_of(policy),
                               std::move(vault_keys)};
  const auto packed = std::make_shared<PackedHome>();
  const WorkerThread::Job job = [packed, id, label, records = std::move(records), folder, name,
                                 files = &services_.files, disk = &services_.disk]() -> Result<> {
    TRY(*packed, files->pack(id, label, records, folder, name, [disk] { return disk->is_ending(); }));
    return {};
  };
  CO_CHECKED(co_await services_.disk.run(job));
  co_return std::move(*packed);
}

Task<Result<>> HomeMover::send(const PackedHome& packed, std::string node, cluster::Push push) {
  const std::string tenant = push.id.text();
  Result<AsyncFd> opened = fail(Code::unavailable, "");
  for (int tries = 0; tries < kMaxOpens && !opened; tries++) {
    if (tries > 0) co_await sleep_for(services_.loop, kReopenDelay);
    opened = co_await services_.link.open_push(node, push);
  }
  if (!opened) co_return tl::unexpected<Error>(std::move(opened).error());
  AsyncFd& socket = *opened;
  SnapshotOffer offer{packed.about.bytes, packed.about.sha256, packed.has_vault, {}};
  if (packed.has_vault) offer.vault_seal = services_.vault_keys(tenant).seal;
  Json message = write_offer(offer);
  CO_CHECKED(co_await send_message(services_.loop, socket, std::move(message)));
  CO_TRY(const Json go, co_await read_message(services_.loop, socket, "go", kGoLimit));
  const auto part = std::make_shared<std::string>();
  for (uint64_t at = 0; at < offer.bytes; at += part->size()) {
    const WorkerThread::Job read = [part, at, file = packed.file]() -> Result<> {
      part->resize(kPart);
      const ssize_t got = ::pread(file->get(), part->data(), part->size(), static_cast<off_t>(at));
      if (got <= 0) return fail_errno(got < 0 ? errno : EIO, "read the snapshot");
      part->resize(static_cast<size_t>(got));
      return {};
    };
    CO_CHECKED(co_await services_.disk.run(read));
    const auto sent = co_await send_bytes(services_.loop, socket, *part);
    if (!sent) {
      const auto why = co_await read_message(services_.loop, socket, "taken", kAskInterval);
      if (!why && why.error().code == Code::denied) co_return tl::unexpected<Error>(why.error());
      co_return sent;
    }
  }
  CO_TRY(const Json confirmation, co_await read_message(services_.loop, socket, "taken", kUsedLimit));
  co_return Result<>{};
}

// The task ends only when the cluster has answered: until then it is not known whether the files here still count.
Task<Result<bool>> HomeMover::settle_record(LeavingHome leaving) {
  for (bool is_reported = false;; is_reported = true) {
    const auto home = co_await cluster::fence_home(services_.link, leaving.id, leaving.epoch);
    if (home) {
      if (home->node != services_.link.node()) {
        CO_CHECKED(co_await drop(leaving.id));
      }
      const bool is_here = home->node == services_.link.node();
      const WorkerThread::Job unmark = [files = &services_.files, leaving] { return files->unmark_leaving(leaving); };
      CO_CHECKED(co_await services_.disk.run(unmark));
      co_return is_here;
    }
    if (home.error().code == Code::denied) co_return tl::unexpected<Error>(home.error());
    if (!is_reported)
      log_warning("cluster: it is not known whether {} has moved: {}; requests for it wait", leaving.id.text(),
                  home.error().what);
    co_await sleep_for(services_.loop, kAskInterval);
  }
}

Task<Result<>> HomeMover::drop(tenants::TenantId id) {
  services_.close(id);
  const auto trash = std::make_shared<std::string>();
  const WorkerThread::Job job = [trash, id, files = &services_.files]() -> Result<> {
    TRY(*trash, files->set_aside(id));
    return {};
  };
  CO_CHECKED(co_await services_.disk.run(job));
  const auto reopened = services_.registry.reopen(id);
  if (!reopened) log_error("tenant {}: {}", id.text(), reopened.error().what);
  co_await services_.records.forget(id.text());
  tasks_.spawn(empty_trash(*trash));
  co_return Result<>{};
}

Task<> HomeMover::empty_trash(std::string folder) {
  const WorkerThread::Job job = [folder, files = &services_.files, disk = &services_.disk] {
    return files->empty_trash(folder, [disk] { return disk->is_ending(); });
  };
  const auto done = co_await services_.disk.run(job);
  if (!done) log_warning("cluster: files of a workspace that moved stay until the next start: {}", done.error().what);
}

void HomeMover::complete(LeavingHome leaving) {
  auto reservation = services_.gate.hold(leaving.id);
  tasks_.spawn(complete_reserved(std::move(leaving), std::move(reservation)));
}

Task<> HomeMover::complete_reserved(LeavingHome leaving, cluster::MoveGate::Hold reservation) {
  const LeavingMark mark(leaving_, leaving.id);
  const auto is_here = co_await settle_record(leaving);
  if (is_here)
    log_notice("cluster: the workspace {}, which was moving when the last daemon ended, {}", leaving.id.text(),
               *is_here ? "stays here" : "is at another node");
  else
    log_error("cluster: the workspace {}: {}", leaving.id.text(), is_here.error().what);
  reservation = {};
}

Task<Result<std::string>> HomeMover::park(tenants::TenantId id, std::string folder) {
  return run_to_end(services_.loop, tasks_, park_held(std::move(id), std::move(folder)), daemon_ends());
}

Task<Result<std::string>> HomeMover::park_held(tenants::TenantId id, std::string folder) {
  if (is_leaving(id)) co_return fail(Code::denied, "the workspace moves already");
  const LeavingMark mark(leaving_, id);
  CO_TRY(const cluster::Home home, co_await own_home(id));
  const auto reservation = services_.gate.hold(id);
  CO_CHECKED(co_await settle_home(services_, id));
  CO_TRY(const auto policy, policy_of_home(services_, id.account));
  std::string name = fmt::format("{}{}{}-{}.warder-home", id.account, id.workspace.empty() ? "" : "+", id.workspace,
                                 journal::now_ms());
  CO_TRY(auto keys, co_await cluster::seal_vault_key(services_.link, id, services_.vault_keys(id.text()).seal));
  CO_TRY(const PackedHome packed, co_await pack(id, home.epoch, *policy, std::move(folder), name, std::move(keys)));
  (void)packed;
  co_return name;
}

}  // namespace moves

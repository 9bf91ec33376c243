#include "supervisor/cluster/moves/home_receiver.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>

#include <cerrno>

#include "policies/names.h"
#include "policies/policy.h"
#include "policies/store.h"
#include "policies/tenant_rules.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/run_to_end.h"
#include "supervisor/cluster/link/home_orders.h"
#include "supervisor/cluster/moves/home_settling.h"
#include "supervisor/tenants/tenant.h"

namespace moves {
namespace {

using namespace std::chrono_literals;

constexpr auto kOfferLimit = 10s;  // the sender has packed the workspace before it connects
constexpr auto kIdleLimit = 20s;   // for the next part of a workspace that comes
constexpr auto kReclaimDelay = 1s;

Json refusal(const Error& error) { return {{"refused", {{"why", error.what}, {"remedy", error.hint}}}}; }

// This node has data that another copy of the workspace would replace.
tl::unexpected<Error> has_contents(const tenants::TenantId& id, const std::vector<std::string>& contents,
                                   bool is_home) {
  return fail(Code::denied, fmt::format("this node has its {} of the workspace already", fmt::join(contents, ", ")),
              is_home ? "delete them first, if the parked ones are wanted"
                      : fmt::format("they are of another time; if they are not wanted, move {} out of tenants/ in this "
                                    "node's state folder",
                                    MoveFiles::folder_name(id)));
}

// Ends the arrival of a workspace with its scope.
struct Arrival {
  std::set<tenants::TenantId>& all;
  const tenants::TenantId id;
  Arrival(std::set<tenants::TenantId>& of, tenants::TenantId tenant_id) : all(of), id(std::move(tenant_id)) {}
  Arrival(const Arrival&) = delete;
  ~Arrival() { all.erase(id); }
};

}  // namespace

void HomeReceiver::take(AsyncFd socket, cluster::Push push) {
  auto location = slots_.enter(push.node);
  if (!location) {
    log_warning("cluster: the workspace {} of node {} is not taken: {}", push.id.text(), push.node,
                location.error().what);
    const std::string line = dump_json(refusal(location.error())) + "\n";
    (void)!::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return;
  }
  tasks_.spawn(serve(std::move(socket), std::move(push), *std::move(location)));
}

// The arrival has `location` until it has ended.
Task<> HomeReceiver::serve(AsyncFd socket, cluster::Push push,
                           std::unique_ptr<ArrivalSlots::ArrivalReservation> location) {
  const std::string name = push.id.text(), from = push.node;
  const auto epoch = co_await receive(socket, std::move(push));
  Json answer = {{"taken", {{"epoch", epoch.value_or(0)}}}};
  if (!epoch) {
    log_warning("cluster: the workspace {} of node {} is not taken: {}", name, from, epoch.error().what);
    answer = refusal(epoch.error());
  } else {
    log_notice("cluster: the workspace {} came from node {}", name, from);
  }
  (void)co_await send_message(services_.loop, socket, std::move(answer));
  location.reset();
}

MoveFiles::Staging HomeReceiver::staging_of(cluster::Push push, const policies::Policy& policy) const {
  MoveFiles::Staging staging;
  staging.own_seal = services_.vault_keys(push.id.text()).seal;
  staging.limits = unpack_limits(policy.quota);
  staging.push = std::move(push);
  return staging;
}

Task<Result<uint64_t>> HomeReceiver::receive(AsyncFd& socket, cluster::Push push) {
  CO_TRY(const Json message, co_await read_message(services_.loop, socket, "snapshot", kOfferLimit));
  CO_TRY(const SnapshotOffer offer, read_offer(message));
  const policies::NodeOrder order{push.id.account, push.policy, push.policy_hash};
  CO_TRY(const policies::Assignment assignment, services_.policies.tenant_of(order));
  if (!assignment.policy->cluster.is_home_shared) co_return fail(Code::denied, "the policy's workspaces do not move");
  if (!assignment.policy->allows_workspace(push.id.workspace) && !push.id.workspace.empty())
    co_return fail(Code::denied, "the policy here does not allow a workspace of this name");
  MoveFiles::Staging staging = staging_of(push, *assignment.policy);
  staging.sha256 = offer.sha256;
  staging.from_seal = offer.vault_seal;
  staging.has_vault = offer.has_vault;
  if (offer.bytes > staging.limits.bytes)
    co_return fail(Code::exhausted,
                   fmt::format("the workspace has {} bytes packed, and its policy allows {} here", offer.bytes,
                               staging.limits.bytes),
                   "delete files, or raise the quota in the policy of all nodes", "quota");
  if (mover_.is_leaving(push.id)) co_return fail(Code::unavailable, "the workspace is leaving this node");
  if (!arriving_.insert(push.id).second) co_return fail(Code::unavailable, "the workspace is arriving already");
  const Arrival arrival(arriving_, push.id);
  // The folder has contents if this node was the home before, or the workspace was not shared then.
  const auto contents = co_await contents_of(push.id);
  if (contents && !contents->empty()) co_return has_contents(push.id, *contents, false);
  const auto arriving = std::make_shared<MoveFiles::Arriving>();
  const WorkerThread::Job begin = [arriving, files = &services_.files]() -> Result<> {
    TRY(*arriving, files->begin_arriving());
    return {};
  };
  CO_CHECKED(co_await services_.disk.run(begin));
  Json go = {{"go", Json::object()}};
  auto done = co_await send_message(services_.loop, socket, std::move(go));
  if (done) done = co_await read_all(socket, *arriving, offer.bytes);
  if (done) done = co_await stage(*arriving, std::move(staging));
  if (!done) {
    co_await give_up(arriving->folder);
    co_return tl::unexpected<Error>(std::move(done).error());
  }
  const auto reservation = services_.gate.hold(push.id);
  ArrivedHome arrived{arriving->folder, std::move(push), false};
  auto epoch = co_await claim_and_install(std::move(arrived));
  co_return epoch;
}

Task<Result<>> HomeReceiver::read_all(AsyncFd& socket, MoveFiles::Arriving arriving, uint64_t bytes) {
  // A part that does not come in time ends the move: it has one of few places.
  while (bytes > 0) {
    const auto count = static_cast<size_t>(std::min<uint64_t>(bytes, kPart));
    CO_TRY(std::string received, co_await receive_bytes(services_.loop, socket, count, kIdleLimit));
    bytes -= count;
    const auto part = std::make_shared<const std::string>(std::move(received));
    const WorkerThread::Job add = [arriving, part] { return MoveFiles::add(arriving, *part); };
    CO_CHECKED(co_await services_.disk.run(add));
  }
  co_return Result<>{};
}

Task<Result<>> HomeReceiver::stage(MoveFiles::Arriving arriving, MoveFiles::Staging staging) {
  const WorkerThread::Job job = [arriving = std::move(arriving), staging = std::move(staging), files = &services_.files,
                                 disk = &services_.disk] {
    return files->stage(arriving, staging, [disk] { return disk->is_ending(); });
  };
  co_return co_await services_.disk.run(job);
}

// The claim is repeated until the cluster has answered: until then it is not known which node is the home.
Task<Result<uint64_t>> HomeReceiver::claim_and_install(ArrivedHome arrived) {
  const auto when = arrived.is_restored ? cluster::ClaimWhen::after_lease : cluster::ClaimWhen::now;
  for (bool is_reported = false;; is_reported = true) {
    const auto home =
        co_await cluster::claim_home(services_.link, arrived.push.id, arrived.push.node, arrived.push.epoch, when);
    if (home) {
      co_await install_durably(arrived);
      co_return home->epoch;
    }
    if (home.error().code == Code::denied) {
      co_await give_up(arrived.folder);
      co_return tl::unexpected<Error>(home.error());
    }
    if (!is_reported)
      log_warning("cluster: it is not known whether this node is the home of {}: {}; requests for it wait",
                  arrived.push.id.text(), home.error().what);
    co_await sleep_for(services_.loop, kReclaimDelay);
  }
}

// This node is the home now: requests wait until the files are in their place.
Task<> HomeReceiver::install_durably(ArrivedHome arrived) {
  for (bool is_reported = false;; is_reported = true) {
    const auto placed = co_await install(arrived);
    if (placed) co_return;
    if (!is_reported)
      log_error(
          "cluster: the workspace {} is here, and its files cannot be put in their place: {}; requests for it wait",
          arrived.push.id.text(), placed.error().what);
    co_await sleep_for(services_.loop, kReclaimDelay);
  }
}

Task<Result<>> HomeReceiver::install(ArrivedHome arrived) {
  const tenants::TenantId id = arrived.push.id;
  services_.close(id);
  const auto read = std::make_shared<MoveRecords::Read>();
  const WorkerThread::Job job = [arrived, read, files = &services_.files]() -> Result<> {
    TRY(const std::string records, files->install(arrived));
    auto parsed = MoveRecords::read(records, arrived.push.id.text());
    if (parsed)
      *read = *std::move(parsed);
    else
      log_error("cluster: {}: {}", arrived.push.id.text(), parsed.error().what);
    return {};
  };
  CO_CHECKED(co_await services_.disk.run(job));
  CO_CHECKED(services_.registry.reopen(id));
  co_await services_.records.adopt(id.text(), std::move(*read));
  co_await give_up(arrived.folder);
  co_return Result<>{};
}

Task<> HomeReceiver::give_up(std::string folder) {
  const WorkerThread::Job job = [folder, files = &services_.files, disk = &services_.disk]() -> Result<> {
    TRY(const std::string trash, files->give_up(folder));
    return files->empty_trash(trash, [disk] { return disk->is_ending(); });
  };
  const auto done = co_await services_.disk.run(job);
  if (!done) log_warning("cluster: files of a move stay until the next start: {}", done.error().what);
}

Task<Result<std::vector<std::string>>> HomeReceiver::contents_of(tenants::TenantId id) {
  const auto contents = std::make_shared<std::vector<std::string>>();
  const WorkerThread::Job job = [id, contents, files = &services_.files]() -> Result<> {
    TRY(*contents, files->contents(id));
    return {};
  };
  CO_CHECKED(co_await services_.disk.run(job));
  co_return std::move(*contents);
}

// A parked file takes the place of a workspace only if nothing is lost by it.
Task<Result<>> HomeReceiver::check_replaceable(tenants::TenantId id, bool is_home) {
  if (is_home && is_in_use(services_, id))
    co_return fail(Code::unavailable, "this node is the home of the workspace, and requests or executions run in it",
                   "wait for them, or end them: warder kill");
  CO_TRY(auto contents, co_await contents_of(id));
  CO_TRY(const bool has_records, co_await services_.records.has_any(id.text()));
  if (has_records) contents.emplace_back("workflows or results of tasks");
  if (contents.empty()) co_return Result<>{};
  co_return has_contents(id, contents, is_home);
}

// The workspace, its policy and its present home, for a parked file. An error changes no file and no home.
Task<Result<ArrivedHome>> HomeReceiver::prepare_restore(MoveFiles::Parked parked) {
  const cluster::SnapshotLabel& label = parked.label;
  const tenants::TenantId named{label.account, label.workspace};
  CO_TRY(const tenants::TenantId id, tenants::TenantId::parse(named.text()));
  if (id.workspace == policies::kStatelessWorkspace)
    co_return fail(Code::denied, "a workspace of this name stays empty: it is for stateless executions");
  CO_TRY(auto policy, policy_of_home(services_, id.account));
  if (const auto own = services_.policies.find(label.policy); own && own->cluster.is_home_shared) policy = own;
  CO_TRY(const cluster::Home home, co_await cluster::lost_home(services_.link, id));
  CO_CHECKED(co_await check_replaceable(id, home.is_here));
  ArrivedHome arrived{parked.arriving.folder, {home.node, id, home.epoch, policy->name, policy->hash}, true};
  MoveFiles::Staging staging = staging_of(arrived.push, *policy);
  staging.from_seal = staging.own_seal;
  staging.has_vault = true;
  if (const auto sealed = label.vault_keys.find(services_.link.node()); sealed != label.vault_keys.end()) {
    const auto key = co_await cluster::open_vault_key(services_.link, id, sealed->second);
    if (key) staging.from_seal = *key;
  }
  CO_CHECKED(co_await stage(parked.arriving, std::move(staging)));
  co_return arrived;
}

Task<Result<cluster::SnapshotLabel>> HomeReceiver::restore(std::string file) {
  return run_to_end(services_.loop, tasks_, restore_held(std::move(file)), daemon_ends());
}

Task<Result<cluster::SnapshotLabel>> HomeReceiver::restore_held(std::string file) {
  const auto parked = std::make_shared<MoveFiles::Parked>();
  const WorkerThread::Job open = [parked, file, files = &services_.files]() -> Result<> {
    TRY(*parked, files->open_parked(file));
    return {};
  };
  CO_CHECKED(co_await services_.disk.run(open));
  const tenants::TenantId id{parked->label.account, parked->label.workspace};
  const std::string folder = parked->arriving.folder;
  Result<ArrivedHome> arrived = fail(Code::denied, "the workspace moves now");
  const bool is_free = !services_.gate.is_held(id);
  const auto reservation = services_.gate.hold(id);
  if (is_free) arrived = co_await prepare_restore(*parked);
  if (!arrived) {
    co_await give_up(folder);
    co_return tl::unexpected<Error>(std::move(arrived).error());
  }
  CO_TRY(const uint64_t epoch, co_await claim_and_install(*std::move(arrived)));
  log_notice("cluster: the workspace {} is restored from {}, epoch {}", id.text(), printable(file), epoch);
  co_return parked->label;
}

void HomeReceiver::complete(ArrivedHome arrived) {
  auto reservation = services_.gate.hold(arrived.push.id);
  tasks_.spawn(complete_reserved(std::move(arrived), std::move(reservation)));
}

Task<> HomeReceiver::complete_reserved(ArrivedHome arrived, cluster::MoveGate::Hold reservation) {
  const std::string name = arrived.push.id.text();
  const auto epoch = co_await claim_and_install(std::move(arrived));
  log_notice("cluster: the workspace {}, which was coming when the last daemon ended, {}", name,
             epoch ? "is here" : "is not taken: " + epoch.error().what);
  reservation = {};
}

}  // namespace moves

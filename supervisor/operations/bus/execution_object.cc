// org.warder.Warder1.Execution: its table and its methods.
#include <fmt/format.h>

#include <cmath>

#include "jail/execution/handle.h"
#include "policies/limits.h"
#include "policies/policy_parts.h"
#include "supervisor/operations/bus/bus_objects.h"

namespace bus {
namespace {

constexpr uint64_t kMaxTasksOfOne = 1 << 20;
constexpr double kMaxCpus = 4096;
constexpr uint64_t kMaxWallUsec = 86'400'000'000;  // a day, as execute_code's timeout_seconds

using executions::ExecutionRecord;
uint64_t microseconds(double ms) { return ms > 0 ? static_cast<uint64_t>(ms * 1000) : 0; }
uint64_t since_1970(int64_t ms) { return static_cast<uint64_t>(ms) * 1000; }

std::string id_of(const ExecutionRecord& e) { return e.id; }
std::string tenant_of(const ExecutionRecord& e) { return e.tenant.account; }
std::string language_of(const ExecutionRecord& e) { return e.language; }
std::string workspace_of(const ExecutionRecord& e) { return e.workspace; }
bool background_of(const ExecutionRecord& e) { return e.background; }
std::string policy_of(const ExecutionRecord& e) { return policies::name_of(*e.policy); }
std::string principal_of(const ExecutionRecord& e) { return e.principal; }
uint32_t uid_of(const ExecutionRecord& e) { return e.uid; }
uint32_t pid_of(const ExecutionRecord& e) { return static_cast<uint32_t>(e.pid); }
uint64_t asked_of(const ExecutionRecord& e) { return since_1970(e.requested_ms); }
uint64_t ended_of(const ExecutionRecord& e) { return since_1970(e.ended_ms); }
std::string state_of(const ExecutionRecord& e) { return std::string(executions::stage_name(e.stage)); }
std::string outcome_of(const ExecutionRecord& e) { return e.outcome; }
std::string message_of(const ExecutionRecord& e) { return e.message; }
std::string receipt_of(const ExecutionRecord& e) { return e.receipt; }
uint64_t wall_of(const ExecutionRecord& e) { return microseconds(e.now().wall_ms); }
uint64_t cpu_of(const ExecutionRecord& e) { return usec_or_unknown(e.now().cpu_ms); }
uint64_t memory_of(const ExecutionRecord& e) { return known_bytes(e.now().memory_bytes); }
uint32_t tasks_of(const ExecutionRecord& e) { return e.now().tasks; }
const std::vector<std::string>& approvals_of(const ExecutionRecord& e) { return e.approvals; }
const policies::Limits& limits_of(const ExecutionRecord& e) { return e.limits; }

template <auto Of>
int execution_property(sd_bus*, const char* path, const char*, const char*, sd_bus_message* reply, void* data,
                       sd_bus_error*) {
  const auto execution = static_cast<BusObjects*>(data)->execution_at(path);
  return execution ? append(reply, Of(*execution)) : -ENOENT;
}

Result<jail::LimitChange> read_change(sd_bus_message* call) {
  jail::LimitChange change;
  auto bad = [](const char* kind) { return fail(Code::invalid, kind, "see org.warder.Warder1.Execution.SetLimits"); };
  int r = sd_bus_message_enter_container(call, 'a', "{sv}");
  while (r >= 0 && (r = sd_bus_message_enter_container(call, 'e', "sv")) > 0) {
    const char* name = nullptr;
    r = sd_bus_message_read(call, "s", &name);
    if (r < 0) break;
    const std::string_view key(name);
    uint64_t number = 0;
    if (key == "WallUSec") {
      if (sd_bus_message_read(call, "v", "t", &number) < 0 || number < 1000 || number > kMaxWallUsec)
        return bad("WallUSec: not a number (t) of microseconds from 1000 to 86400000000");
      change.wall = std::chrono::milliseconds(number / 1000);
    } else if (key == "MemoryBytes") {
      if (sd_bus_message_read(call, "v", "t", &number) < 0 || number < policies::kMinMemoryBytes || number > 1ull << 50)
        return bad("MemoryBytes: not a number (t) of bytes from 16 MiB up");
      change.memory_bytes = number;
    } else if (key == "Tasks") {
      uint32_t tasks = 0;
      if (sd_bus_message_read(call, "v", "u", &tasks) < 0 || tasks < policies::kMinTasks || tasks > kMaxTasksOfOne)
        return bad("Tasks: not a number (u) from 4 up");
      change.tasks = tasks;
    } else if (key == "CPUs") {
      double cpus = 0;
      if (sd_bus_message_read(call, "v", "d", &cpus) < 0 || !(cpus >= policies::kMinCpus) || cpus > kMaxCpus)
        return bad("CPUs: not a number (d) from 0.01 up");
      change.cpus = cpus;
    } else {
      return bad("a limit that is not WallUSec, MemoryBytes, Tasks or CPUs");
    }
    r = sd_bus_message_exit_container(call);
  }
  if (r < 0) return bad("the limits cannot be read");
  return change;
}

// A tenant may not exceed its policy's ceilings.
Result<> check_ceilings(const jail::LimitChange& change, const policies::Policy& policy) {
  const policies::Limits& limits = policies::limits_of(policy).maximum;
  auto above = [&policy](const char* limit) {
    return fail(Code::denied, fmt::format("{}: more than policy '{}' allows", limit, policies::name_of(policy)),
                "set a lower limit, or ask an administrator", std::string("limits.maximum.") + limit);
  };
  if (change.wall && *change.wall > limits.wall) return above("wall_ms");
  if (change.memory_bytes && *change.memory_bytes > limits.memory_bytes) return above("memory_bytes");
  if (change.tasks && *change.tasks > limits.tasks) return above("tasks");
  if (change.cpus && *change.cpus > limits.cpus) return above("cpus");
  return {};
}

constexpr uint64_t kInvalidated = SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION;

}  // namespace

int append(sd_bus_message* to, const policies::Limits& limits) {
  return sd_bus_message_append(to, "a{sv}", 5, "WallUSec", "t", static_cast<uint64_t>(limits.wall.count()) * 1000,
                               "MemoryBytes", "t", limits.memory_bytes, "Tasks", "u", limits.tasks, "CPUs", "d",
                               limits.cpus, "OutputBytes", "t", limits.output_bytes);
}

const sd_bus_vtable kExecutionTable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("Id", "s", execution_property<id_of>, 0, kConst),
    SD_BUS_PROPERTY("Tenant", "s", execution_property<tenant_of>, 0, kConst),
    SD_BUS_PROPERTY("Language", "s", execution_property<language_of>, 0, kConst),
    SD_BUS_PROPERTY("Workspace", "s", execution_property<workspace_of>, 0, 0),
    SD_BUS_PROPERTY("Background", "b", execution_property<background_of>, 0, 0),
    SD_BUS_PROPERTY("Policy", "s", execution_property<policy_of>, 0, kConst),
    SD_BUS_PROPERTY("Principal", "s", execution_property<principal_of>, 0, kConst),
    SD_BUS_PROPERTY("UID", "u", execution_property<uid_of>, 0, kConst),
    SD_BUS_PROPERTY("PID", "u", execution_property<pid_of>, 0, kConst),
    SD_BUS_PROPERTY("AskedUSec", "t", execution_property<asked_of>, 0, kConst),
    SD_BUS_PROPERTY("State", "s", execution_property<state_of>, 0, kAnnounced),
    SD_BUS_PROPERTY("Approvals", "as", execution_property<approvals_of>, 0, kAnnounced),
    SD_BUS_PROPERTY("Outcome", "s", execution_property<outcome_of>, 0, kAnnounced),
    SD_BUS_PROPERTY("Message", "s", execution_property<message_of>, 0, kAnnounced),
    SD_BUS_PROPERTY("EndedUSec", "t", execution_property<ended_of>, 0, kAnnounced),
    SD_BUS_PROPERTY("Receipt", "s", execution_property<receipt_of>, 0, kInvalidated),
    SD_BUS_PROPERTY("WallUSec", "t", execution_property<wall_of>, 0, 0),
    SD_BUS_PROPERTY("CPUUSec", "t", execution_property<cpu_of>, 0, 0),
    SD_BUS_PROPERTY("MemoryBytes", "t", execution_property<memory_of>, 0, 0),
    SD_BUS_PROPERTY("Tasks", "u", execution_property<tasks_of>, 0, 0),
    SD_BUS_PROPERTY("Limits", "a{sv}", execution_property<limits_of>, 0, 0),
    SD_BUS_METHOD_WITH_ARGS("Kill", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, handle<&BusObjects::kill>, kEveryone),
    SD_BUS_METHOD_WITH_ARGS("Freeze", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, handle<&BusObjects::freeze>, kEveryone),
    SD_BUS_METHOD_WITH_ARGS("Thaw", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, handle<&BusObjects::thaw>, kEveryone),
    SD_BUS_METHOD_WITH_ARGS("Approve", SD_BUS_ARGS("s", id), SD_BUS_NO_RESULT, handle<&BusObjects::approve>, kEveryone),
    SD_BUS_METHOD_WITH_ARGS("Deny", SD_BUS_ARGS("s", id, "s", reason), SD_BUS_NO_RESULT, handle<&BusObjects::deny>,
                            kEveryone),
    SD_BUS_METHOD_WITH_ARGS("SetLimits", SD_BUS_ARGS("a{sv}", limits), SD_BUS_NO_RESULT,
                            handle<&BusObjects::set_limits>, kEveryone),
    SD_BUS_VTABLE_END,
};

Task<Result<executions::ExecutionRecordPtr>> BusObjects::allowed_here(MessagePtr call) {
  const auto here = execution_at(sd_bus_message_get_path(call.get()));
  if (!here) co_return fail(Code::not_found, "this execution ended, and its record was removed");
  auto execution = co_await allowed(std::move(call), here->id);
  co_return execution;
}

Task<Result<MessagePtr>> BusObjects::kill(MessagePtr call) {
  CO_TRY(executions::ExecutionRecordPtr execution, co_await allowed_here(share(call.get())));
  CO_CHECKED(services_.executions.cancel(*execution));
  co_return reply_to(call.get());
}

Task<Result<MessagePtr>> BusObjects::freeze(MessagePtr call) {
  CO_TRY(executions::ExecutionRecordPtr execution, co_await allowed_here(share(call.get())));
  CO_CHECKED(execution->handle.freeze());
  co_return reply_to(call.get());
}

Task<Result<MessagePtr>> BusObjects::thaw(MessagePtr call) {
  CO_TRY(executions::ExecutionRecordPtr execution, co_await allowed_here(share(call.get())));
  CO_CHECKED(execution->handle.thaw());
  co_return reply_to(call.get());
}

Task<Result<MessagePtr>> BusObjects::set_limits(MessagePtr call) {
  CO_TRY(jail::LimitChange change, read_change(call.get()));
  CO_TRY(executions::ExecutionRecordPtr execution, co_await allowed_here(share(call.get())));
  // Beyond the policy's ceilings neither the tenant nor an operator has a right: only an administrator may.
  if (auto within = check_ceilings(change, *execution->policy); !within) {
    auto caller = co_await authority_.allow(share(call.get()), Right::configure, std::string());
    if (!caller) co_return tl::unexpected<Error>(caller.error().code == Code::denied ? within.error() : caller.error());
  }
  CO_CHECKED(execution->handle.change(change));
  execution->limits = jail::changed_limits(execution->limits, change);
  co_return reply_to(call.get());
}

}  // namespace bus

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

struct ExecutionProperties {
  static std::string id(const ExecutionRecord& e) { return e.id; }
  static std::string tenant(const ExecutionRecord& e) { return e.tenant.account; }
  static std::string language(const ExecutionRecord& e) { return e.language; }
  static std::string workspace(const ExecutionRecord& e) { return e.workspace; }
  static bool background(const ExecutionRecord& e) { return e.background; }
  static std::string policy(const ExecutionRecord& e) { return policies::name_of(*e.policy); }
  static std::string principal(const ExecutionRecord& e) { return e.principal; }
  static uint32_t uid(const ExecutionRecord& e) { return e.uid; }
  static uint32_t pid(const ExecutionRecord& e) { return static_cast<uint32_t>(e.pid); }
  static uint64_t asked_usec(const ExecutionRecord& e) { return since_1970(e.requested_ms); }
  static uint64_t ended_usec(const ExecutionRecord& e) { return since_1970(e.ended_ms); }
  static std::string state(const ExecutionRecord& e) { return std::string(executions::stage_name(e.stage)); }
  static std::string outcome(const ExecutionRecord& e) { return e.outcome; }
  static std::string message(const ExecutionRecord& e) { return e.message; }
  static std::string receipt(const ExecutionRecord& e) { return e.receipt; }
  static uint64_t wall_usec(const ExecutionRecord& e) { return microseconds(e.now().wall_ms); }
  static uint64_t cpu_usec(const ExecutionRecord& e) { return usec_or_unknown(e.now().cpu_ms); }
  static uint64_t memory_bytes(const ExecutionRecord& e) { return known_bytes(e.now().memory_bytes); }
  static uint32_t tasks(const ExecutionRecord& e) { return e.now().tasks; }
  static const std::vector<std::string>& approvals(const ExecutionRecord& e) { return e.approvals; }
  static const policies::Limits& limits(const ExecutionRecord& e) { return e.limits; }
};

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

}  // namespace

int append(sd_bus_message* to, const policies::Limits& limits) {
  return sd_bus_message_append(to, "a{sv}", 5, "WallUSec", "t", static_cast<uint64_t>(limits.wall.count()) * 1000,
                               "MemoryBytes", "t", limits.memory_bytes, "Tasks", "u", limits.tasks, "CPUs", "d",
                               limits.cpus, "OutputBytes", "t", limits.output_bytes);
}

const sd_bus_vtable kExecutionTable[] = {
    SD_BUS_VTABLE_START(0),
#include "supervisor/operations/bus/execution_rows.h"
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

// `warder freeze`, `warder thaw` and `warder limit`: act on running executions.
#include <cmath>
#include <cstdio>

#include "supervisor/programs/cli/admin/acting.h"
#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/short_ids.h"
#include "supervisor/programs/cli/admin/text.h"
#include "supervisor/programs/cli/amounts.h"

namespace admin {
namespace {

Result<int> act_on_executions(const ParsedCommand& parsed_command, const char* command, const char* method,
                              const char* member, const std::string& done) {
  TRY(BusClient warderd, BusClient::connect(parsed_command.bus));
  return act_on_each(parsed_command, parsed_command.words, command, member,
                     [&](const std::string& word) -> Result<ActionResult> {
                       TRY(std::string id, find_execution(warderd, word));
                       CHECKED(warderd.call(execution_path(id), kExecution, method));
                       return ActionResult{id, id + " " + done};
                     });
}

// The limits that the flags ask for.
struct RequestedLimits {
  std::optional<uint64_t> wall_usec, memory_bytes;
  std::optional<uint32_t> tasks;
  std::optional<double> cpus;
  std::string displayed;  // "memory 256M, 2 CPUs"

  bool empty() const { return displayed.empty(); }
  void show(const std::string& limit) { displayed += (displayed.empty() ? "" : ", ") + limit; }
  int append_to(sd_bus_message* to) const {
    int r = sd_bus_message_open_container(to, 'a', "{sv}");
    if (r >= 0 && wall_usec) r = sd_bus_message_append(to, "{sv}", "WallUSec", "t", *wall_usec);
    if (r >= 0 && memory_bytes) r = sd_bus_message_append(to, "{sv}", "MemoryBytes", "t", *memory_bytes);
    if (r >= 0 && tasks) r = sd_bus_message_append(to, "{sv}", "Tasks", "u", *tasks);
    if (r >= 0 && cpus) r = sd_bus_message_append(to, "{sv}", "CPUs", "d", *cpus);
    return r < 0 ? r : sd_bus_message_close_container(to);
  }
};

Result<std::optional<double>> requested_amount(const ParsedCommand& command, const std::string& flag,
                                               const cli::AmountRange& range) {
  if (!command.has(flag)) return std::optional<double>();
  auto value = cli::parse_amount(command.value(flag, ""), range);
  if (!value) return tl::unexpected<Error>(std::move(value).error().within("--" + flag));
  return std::optional<double>(*value);
}

Result<RequestedLimits> requested_limits(const ParsedCommand& command) {
  constexpr cli::AmountRange kMemory{"MB", 16, 1'048'576, "--memory 256"};
  constexpr cli::AmountRange kTasks{"processes and threads", 4, 1'048'576, "--tasks 32"};
  constexpr cli::AmountRange kCpus{"CPUs", 0.01, 4096, "--cpus 0.5"};
  RequestedLimits limits;
  TRY(const auto seconds, requested_amount(command, "timeout", cli::kSecondsAmount));
  TRY(const auto megabytes, requested_amount(command, "memory", kMemory));
  TRY(const auto tasks, requested_amount(command, "tasks", kTasks));
  TRY(const auto cpus, requested_amount(command, "cpus", kCpus));
  if (seconds) {
    limits.wall_usec = static_cast<uint64_t>(std::llround(*seconds * 1000)) * 1000;
    limits.show("wall time " + usec_text(*limits.wall_usec));
  }
  if (megabytes) {
    limits.memory_bytes = static_cast<uint64_t>(*megabytes * (1 << 20));
    limits.show("memory " + bytes_text(*limits.memory_bytes));
  }
  if (tasks) {
    limits.tasks = static_cast<uint32_t>(*tasks);
    limits.show(std::to_string(*limits.tasks) + " processes and threads");
  }
  if (cpus) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g CPUs", *cpus);
    limits.cpus = *cpus;
    limits.show(text);
  }
  if (limits.empty())
    return fail(Code::invalid, "no limit is given",
                "give at least one, for example: warder limit e1f2 --memory 256; warder limit --help lists them");
  return limits;
}

}  // namespace

Result<int> run_freeze(const ParsedCommand& command) {
  return act_on_executions(command, "freeze", "Freeze", "frozen", "is frozen; its wall time stands still");
}
const ProgramOfCommand kRunFreeze{"freeze", run_freeze};

Result<int> run_thaw(const ParsedCommand& command) {
  return act_on_executions(command, "thaw", "Thaw", "thawed", "runs again");
}
const ProgramOfCommand kRunThaw{"thaw", run_thaw};

Result<int> run_limit(const ParsedCommand& command) {
  TRY(const RequestedLimits limits, requested_limits(command));
  TRY(BusClient warderd, BusClient::connect(command.bus));
  return act_on_each(command, command.words, "limit", "limited", [&](const std::string& word) -> Result<ActionResult> {
    TRY(std::string id, find_execution(warderd, word));
    CHECKED(warderd.call_with(execution_path(id), kExecution, "SetLimits",
                              [&limits](sd_bus_message* to) { return limits.append_to(to); }));
    return ActionResult{id, id + " is limited to: " + limits.displayed};
  });
}
const ProgramOfCommand kRunLimit{"limit", run_limit};

}  // namespace admin

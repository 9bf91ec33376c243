// BusObjects: the daemon's D-Bus objects on one connection: the objects below /org/warder/Warder1, their signals, and
// the clients that subscribed to the signals. service.cc makes new BusObjects for each connection.
//
// Properties are read from memory. A reader sees the Manager, and the executions and the tenant that it may see
// (caller.h). Signals about executions, approvals and tenants go to the clients that have called Subscribe() and may
// see them. Changed properties of the Manager are announced to all, those of tenants to subscribers, once a second at
// most. The interfaces: units/dbus/org.warder.Warder1.*.xml.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policies/limits.h"
#include "policies/policy_fwd.h"
#include "supervisor/executions/execution_registry.h"
#include "supervisor/executions/recent_code.h"
#include "supervisor/executions/statistics.h"
#include "supervisor/executions/timeline_recorder.h"
#include "supervisor/operations/bus/caller.h"
#include "supervisor/operations/bus/connection.h"
#include "supervisor/operations/bus/members.h"
#include "supervisor/operations/bus/offered_members.h"
#include "supervisor/operations/doctor/doctor.h"
#include "supervisor/records/journal/journal.h"
#include "supervisor/tenants/proposals/proposal_stores.h"
#include "supervisor/tenants/removed_tenants.h"
#include "supervisor/upstream/calls/approvals.h"

namespace jail {
class Pool;
}

namespace tenants {
class Registry;
class Tenant;
}  // namespace tenants

namespace bus {

inline constexpr char kName[] = "org.warder.Warder1";
inline constexpr char kPath[] = "/org/warder/Warder1";
inline constexpr char kManager[] = "org.warder.Warder1.Manager";
inline constexpr char kExecution[] = "org.warder.Warder1.Execution";
inline constexpr char kTenant[] = "org.warder.Warder1.Tenant";
inline constexpr char kExecutionPath[] = "/org/warder/Warder1/execution";
inline constexpr char kTenantPath[] = "/org/warder/Warder1/tenant";

// The configuration in force.
struct ConfigurationView {
  std::string main_file;
  std::string state_folder;  // absolute
  std::function<std::vector<std::string>()> policy_folders;
  std::function<std::string()> problem;  // empty: no problem
};

// How the daemon is.
struct DaemonHealth {
  std::function<bool()> is_draining;
  std::function<bool()> is_degraded;
  // Runs the doctor. Errors: exhausted: another run of the doctor is under way.
  std::function<Task<Result<doctor::Findings>>()> examine;
};

struct DaemonCommands {
  std::function<Task<Result<>>()> reload;
  std::function<void()> drain;
};

struct TenantServices {
  std::function<size_t(const std::string& tenant)> sessions_of;  // how many the tenant has, in all its workspaces
  // Removes a tenant with its data (supervisor/daemon/tenant_removal.h). `uid`: of the caller.
  std::function<Task<Result<>>(std::string name, tenants::RemovalForce force, uint32_t uid)> remove;
};

// DaemonServices: the parts of the daemon that D-Bus shows and controls. All must outlive the service.
struct DaemonServices {
  Loop& loop;
  executions::ExecutionRegistry& executions;
  const executions::RecentCode& recent_code;
  calls::Approvals& approvals;
  const executions::TimelineRecorder& timeline;
  jail::Pool& pool;
  tenants::Registry& registry;
  proposals::ProposalStores& proposals;
  journal::Journal& journal;
  const Members& members;
  const policies::Store& policies;
  uid_t own_uid = 0;
  ConfigurationView configuration;
  DaemonHealth health;
  DaemonCommands commands;
  TenantServices tenants;
  OfferedMembers members_of_rooms;
};

// The properties of the Manager, by their names there.
struct ManagerProperties : executions::Statistics {
  std::string version, configuration_file, state_folder;
  uint64_t started_usec = 0;
  std::string state;
  std::vector<std::string> policies, policy_folders;
  std::string reload_problem, configuration_problem;
  OfferedMembers::Values of_rooms;
  bool operator==(const ManagerProperties&) const = default;
};

struct ObjectKind;

class BusObjects {
 public:
  // `failed` is called from the loop if the daemon cannot get its name on the bus.
  BusObjects(const DaemonServices& services, BusConnection& connection, Authority::Rules rules,
             std::function<void(std::string why)> failed);
  // Publishes the objects. `reload_problem`: the error of the last reload, or empty. Errors: those of sd-bus.
  Result<> begin(std::string reload_problem);

  // Called by the daemon for its events. note() stores the event and sends its signals 20 ms later. The other functions
  // send at once.
  void note(const executions::ExecutionRecordPtr& execution, executions::ExecutionRegistry::RegistryEvent subject);
  void limit_reached(const executions::ExecutionRecord& execution, const std::string& limit);
  void reloaded(const std::string& problem);
  void approval(const calls::Approval& approval, calls::Approvals::RequestChange subject, std::string_view how);

  // For the tables of the interfaces in this folder. The task of a handler answers the call when the task is done.
  void answer(MessagePtr call, Task<Result<MessagePtr>> work);
  const ManagerProperties& properties();
  // A text that quotes the files of administrators. In a read by a user who does not see all tenants, and in signals,
  // which every user of the bus receives, it is replaced by one sentence.
  std::string problem_text(const std::string& text) const;
  executions::ExecutionRecordPtr execution_at(const char* path) const;
  std::shared_ptr<tenants::Tenant> tenant_at(const char* path) const;
  const DaemonServices& services() const { return services_; }
  Authority& authority() { return authority_; }
  // The Manager, or the interface of a room at the same path. Every user sees both; some texts of the Manager only who
  // sees all tenants (problem_text).
  ObjectKind kind_of_interface(std::string_view interface) const;

  Task<Result<MessagePtr>> get_manager_property(MessagePtr call);
  Task<Result<MessagePtr>> get_manager_properties(MessagePtr call);
  Task<Result<MessagePtr>> get_property(MessagePtr call);
  Task<Result<MessagePtr>> get_properties(MessagePtr call);
  Task<Result<MessagePtr>> get_objects(MessagePtr call);
  Task<Result<MessagePtr>> introspect_folder(MessagePtr call);
  Task<Result<MessagePtr>> list_executions(MessagePtr call);
  Task<Result<MessagePtr>> list_tenants(MessagePtr call);
  Task<Result<MessagePtr>> get_execution(MessagePtr call);
  Task<Result<MessagePtr>> get_tenant(MessagePtr call);
  Task<Result<MessagePtr>> kill_execution(MessagePtr call);
  Task<Result<MessagePtr>> read_output(MessagePtr call);
  Task<Result<MessagePtr>> read_timeline(MessagePtr call);
  Task<Result<MessagePtr>> list_history(MessagePtr call);
  Task<Result<MessagePtr>> get_record(MessagePtr call);
  Task<Result<MessagePtr>> list_tenant_records(MessagePtr call);
  Task<Result<MessagePtr>> remove_tenant(MessagePtr call);
  Task<Result<MessagePtr>> list_code_use(MessagePtr call);
  Task<Result<MessagePtr>> list_proposals(MessagePtr call);
  Task<Result<MessagePtr>> read_proposal_diff(MessagePtr call);
  Task<Result<MessagePtr>> commit_proposal(MessagePtr call);
  Task<Result<MessagePtr>> discard_proposal(MessagePtr call);
  Task<Result<MessagePtr>> undo_proposal(MessagePtr call);
  Task<Result<MessagePtr>> reload(MessagePtr call);
  Task<Result<MessagePtr>> drain(MessagePtr call);
  Task<Result<MessagePtr>> run_doctor(MessagePtr call);
  Task<Result<MessagePtr>> set_log_level(MessagePtr call);
  Task<Result<MessagePtr>> subscribe(MessagePtr call);
  Task<Result<MessagePtr>> unsubscribe(MessagePtr call);
  Task<Result<MessagePtr>> list_approvals(MessagePtr call);
  Task<Result<MessagePtr>> reveal_approval(MessagePtr call);
  Task<Result<MessagePtr>> approve(MessagePtr call);
  Task<Result<MessagePtr>> deny(MessagePtr call);
  Task<Result<MessagePtr>> kill(MessagePtr call);
  Task<Result<MessagePtr>> freeze(MessagePtr call);
  Task<Result<MessagePtr>> thaw(MessagePtr call);
  Task<Result<MessagePtr>> set_limits(MessagePtr call);

 private:
  struct Subscriber {
    BusObjects& owner;
    std::string name;
    uid_t uid = 0;
    Viewer viewer;
    bool is_refreshing = false;
    SlotPtr exited;  // NameOwnerChanged
  };
  struct News {
    executions::ExecutionRecordPtr execution;
    bool added = false, started = false, changed = false, ended = false, forgotten = false;
  };
  struct TenantSeen {
    uint32_t running = 0, waiting = 0, connections = 0;
    uint64_t executions = 0, bytes = 0, files = 0;
    bool operator==(const TenantSeen&) const = default;
  };
  Result<> keep(int result, sd_bus_slot* slot, const char* kind);
  Task<> reply(MessagePtr call, Task<Result<MessagePtr>> work);
  // The execution, if the caller may control it. Errors: not_found, denied.
  Task<Result<executions::ExecutionRecordPtr>> allowed(MessagePtr call, std::string id);
  Task<Result<executions::ExecutionRecordPtr>> allowed_here(MessagePtr call);  // the execution at the call's path
  // The tenant that stores the execution's output, if the caller may read it.
  Task<Result<std::shared_ptr<tenants::Tenant>>> readable(MessagePtr call, std::string id);
  std::string account_at(const char* path) const;
  std::vector<std::string> paths_for(const Viewer& viewer, const ObjectKind& kind) const;
  // Sends a signal to each subscriber that may see the tenant. `write` appends the values; the signal is left out if it
  // fails.
  using AppendValues = std::function<int(sd_bus_message* to)>;
  void notify(std::string_view account, const char* path, const char* interface, const char* member,
              const AppendValues& write);
  void refresh_subscribers();
  Task<> refresh(std::string name);
  // Whether the caller may read the records of `request`: a tenant; empty: all; nullopt: all that it sees, which are
  // its own tenant's unless it sees all. Returns the tenant, or empty for all. Errors: denied.
  Task<Result<std::string>> readable_records(MessagePtr call, std::optional<std::string> request);
  // Settles an approval, if the caller may. At an execution's path, the approval must belong to that execution.
  Task<Result<MessagePtr>> settle(MessagePtr call, std::string id, calls::ApprovalVerdict verdict);
  // A proposal's place, and the caller that acts on it.
  struct ProposalPath {
    std::shared_ptr<tenants::Tenant> tenant;
    std::shared_ptr<proposals::ProposalStore> store;
    proposals::Proposal proposal;
    uint32_t uid = 0;
  };
  // The store of a tenant or named workspace, opened if it is not.
  Task<Result<std::shared_ptr<proposals::ProposalStore>>> store_of(std::shared_ptr<tenants::Tenant> tenant);
  enum class ProposalUse { read, act };
  // Finds the proposal if the caller may read it, or decide about it. Errors: denied, not_found.
  Task<Result<ProposalPath>> proposal_at(MessagePtr call, std::string tenant, std::string id, ProposalUse use);
  // The account whose own users decide about its proposals by themselves, if the caller is one of them; otherwise
  // empty.
  std::string decider_of(const policies::Peer& caller, const std::string& account) const;
  // Records an act in the audit chain. Errors: it cannot be recorded; the act must not happen then.
  static journal::AuditEntry entry_of(const std::string& action, const ProposalPath& position, Json more);
  Task<Result<>> record_act(std::string action, ProposalPath position, size_t paths);
  void record_failure(const std::string& action, const ProposalPath& position, std::string_view outcome);
  void send_news();
  void send_news_of(const News& news);
  void inspect();  // once a second
  void examine_tenants();
  void note_tenants_of(const Viewer& viewer);
  void report_removed_tenants(const std::vector<std::string>& names);
  TenantSeen seen(tenants::Tenant& tenant) const;

  const DaemonServices& services_;
  BusConnection& connection_;
  std::function<void(std::string)> failed_;
  Authority authority_;
  std::vector<sd_bus_vtable> manager_table_;  // kManagerTable, and the members that rooms bring
  std::map<std::string, std::vector<sd_bus_vtable>, std::less<>> room_tables_;  // by the interface
  std::vector<SlotPtr> slots_;
  std::map<std::string, std::unique_ptr<Subscriber>, std::less<>> subscribers_;
  std::vector<News> news_;
  std::optional<Deadline> sending_;
  Deadline looking_;
  std::string reload_problem_;
  bool reader_sees_all_ = false;  // while the Manager's properties are read for a user who sees all tenants
  ManagerProperties properties_, announced_;
  std::optional<Monotonic::time_point> properties_at_;
  std::optional<std::map<std::string, TenantSeen>> tenants_;  // nullopt while no client subscribes
  Scope tasks_;                                               // last: cancelled first
};

// Flag of methods: sd-bus lets all callers in; caller.h checks the caller's rights later, without blocking.
inline constexpr uint64_t kEveryone = SD_BUS_VTABLE_UNPRIVILEGED;
// The tables, each in its own file, with the rows that make_tables.py makes of units/dbus/*.xml: a member that has no
// handler or value here does not compile. Userdata is the BusObjects.
extern const sd_bus_vtable kManagerTable[];
extern const sd_bus_vtable kExecutionTable[];
extern const sd_bus_vtable kTenantTable[];
extern const sd_bus_vtable kLogControlTable[];
// kManagerTable with the members that rooms bring, and the tables of the rooms' own interfaces. Their userdata is the
// BusObjects, too.
std::vector<sd_bus_vtable> manager_table_with(const OfferedMembers& members);
std::map<std::string, std::vector<sd_bus_vtable>, std::less<>> tables_of_rooms(const OfferedMembers& members);
// Appends the value with this name. -ENXIO: there is none.
int append_value_of(const OfferedMembers::Values& values, std::string_view name, sd_bus_message* to);
// Handles the methods that rooms bring.
int call_of_room(sd_bus_message* call, void* objects, sd_bus_error* error);
// The names of the Manager's properties that differ. They live as long as `after`.
std::vector<const char*> changed_properties(const ManagerProperties& before, const ManagerProperties& after);
// Handles reads of executions and tenants, which sd-bus would have answered to every user (read_objects.cc).
int handle_read(sd_bus_message* call, void* objects, sd_bus_error* error);
// Handles org.freedesktop.DBus.Properties.Set of the log level, which sd-bus would have answered at once.
int handle_log_control(sd_bus_message* call, void* objects, sd_bus_error* error);

template <auto Method>
int handle(sd_bus_message* call, void* objects, sd_bus_error*) {
  auto& owner = *static_cast<BusObjects*>(objects);
  owner.answer(share(call), (owner.*Method)(share(call)));
  return 1;
}

// Numbers that are not known are UINT64_MAX on the bus, as in systemd's properties.
inline constexpr uint64_t kUnknown = UINT64_MAX;
inline uint64_t known_bytes(uint64_t bytes) { return bytes > 0 ? bytes : kUnknown; }
inline uint64_t usec_or_unknown(const std::optional<double>& ms) {
  return ms ? static_cast<uint64_t>(*ms * 1000) : kUnknown;
}

std::string path_of(const executions::ExecutionRecord& execution);
std::string path_of_tenant(const std::string& name);
// Appends the limits of an execution or a policy as a{sv}: the keys of SetLimits, and OutputBytes.
int append(sd_bus_message* to, const policies::Limits& limits);

}  // namespace bus

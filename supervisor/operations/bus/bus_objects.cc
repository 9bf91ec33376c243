#include "supervisor/operations/bus/bus_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "policies/store.h"
#include "supervisor/base/log.h"
#include "supervisor/base/version.h"
#include "supervisor/tenants/tenant.h"

namespace bus {
namespace {

using namespace std::chrono_literals;

constexpr auto kCheckInterval = 1s;
constexpr auto kFresh = 100ms;         // computed properties are reused for this long
constexpr auto kNewsAfter = 20ms;      // so the signals of a short execution follow its answer, together
constexpr size_t kMaxNews = 1000;      // executions; no signals are sent for further ones
constexpr uint32_t kPrimaryOwner = 1;  // DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER of the D-Bus specification
const uint64_t kStartedUsec = static_cast<uint64_t>(journal::now_ms()) * 1000;
constexpr size_t kMaxTasks = 256;  // calls that wait for the bus, polkit or a reload

std::string encoded(const char* prefix, const std::string& name) {
  char* path = nullptr;
  if (sd_bus_path_encode(prefix, name.c_str(), &path) < 0) return prefix;
  std::string text(path);
  std::free(path);
  return text;
}

std::string decoded(const char* path, const char* prefix) {
  char* name = nullptr;
  if (sd_bus_path_decode(path, prefix, &name) <= 0) return {};
  std::string text(name);
  std::free(name);
  return text;
}

// Every name passes, so that Introspect does not say which objects exist. The handlers of methods look themselves, and
// properties are answered by handle_read().
template <const char* Folder>
int find_below(sd_bus*, const char* path, const char*, void* data, void** match, sd_bus_error*) {
  *match = data;
  return decoded(path, Folder).empty() ? 0 : 1;
}

int name_answered(sd_bus_message* reply, void* data, sd_bus_error*) {
  auto& failed = *static_cast<std::function<void(std::string)>*>(data);
  uint32_t answer = 0;
  if (const sd_bus_error* error = sd_bus_message_get_error(reply)) {
    failed(error->message ? error->message : error->name);
  } else if (sd_bus_message_read(reply, "u", &answer) < 0 || answer != kPrimaryOwner) {
    failed(fmt::format("another process owns the name {}", kName));
  } else {
    log_notice("D-Bus: serving as {}", kName);
  }
  return 1;
}

}  // namespace

std::string path_of(const executions::ExecutionRecord& execution) { return encoded(kExecutionPath, execution.id); }
std::string path_of_tenant(const std::string& name) { return encoded(kTenantPath, name); }

BusObjects::BusObjects(const DaemonServices& services, BusConnection& connection, Authority::Rules rules,
                       std::function<void(std::string)> failed)
    : services_(services),
      connection_(connection),
      failed_(std::move(failed)),
      authority_(services.loop, connection, std::move(rules)),
      manager_table_(manager_table_with(services.members_of_rooms)),
      room_tables_(tables_of_rooms(services.members_of_rooms)),
      tasks_(services.loop) {
  properties_.version = kWarderVersion;
  properties_.started_usec = kStartedUsec;
  properties_.configuration_file = services.configuration.main_file;
  properties_.state_folder = services.configuration.state_folder;
}

Result<> BusObjects::keep(int result, sd_bus_slot* slot, const char* kind) {
  if (result < 0) return fail_errno(-result, fmt::format("publish {}", kind));
  slots_.emplace_back(slot);
  return {};
}

Result<> BusObjects::begin(std::string reload_problem) {
  reload_problem_ = std::move(reload_problem);
  constexpr char kLogPath[] = "/org/freedesktop/LogControl1", kLogControl[] = "org.freedesktop.LogControl1";
  sd_bus* bus = connection_.get();
  sd_bus_slot* slot = nullptr;
  int r = sd_bus_add_object_vtable(bus, &slot, kPath, kManager, manager_table_.data(), this);
  CHECKED(keep(r, slot, kManager));
  for (const auto& [interface, table] : room_tables_) {
    r = sd_bus_add_object_vtable(bus, &slot, kPath, interface.c_str(), table.data(), this);
    CHECKED(keep(r, slot, interface.c_str()));
  }
  r = sd_bus_add_object_manager(bus, &slot, kPath);
  CHECKED(keep(r, slot, "the object manager"));
  r = sd_bus_add_object(bus, &slot, kPath, handle_read, this);
  CHECKED(keep(r, slot, "reads of all objects"));
  r = sd_bus_add_fallback(bus, &slot, kExecutionPath, handle_read, this);
  CHECKED(keep(r, slot, "reads of executions"));
  r = sd_bus_add_fallback_vtable(bus, &slot, kExecutionPath, kExecution, kExecutionTable, find_below<kExecutionPath>,
                                 this);
  CHECKED(keep(r, slot, kExecution));
  r = sd_bus_add_fallback(bus, &slot, kTenantPath, handle_read, this);
  CHECKED(keep(r, slot, "reads of tenants"));
  r = sd_bus_add_fallback_vtable(bus, &slot, kTenantPath, kTenant, kTenantTable, find_below<kTenantPath>, this);
  CHECKED(keep(r, slot, kTenant));
  r = sd_bus_add_object(bus, &slot, kLogPath, handle_log_control, this);
  CHECKED(keep(r, slot, kLogControl));
  r = sd_bus_add_object_vtable(bus, &slot, kLogPath, kLogControl, kLogControlTable, this);
  CHECKED(keep(r, slot, kLogControl));
  r = sd_bus_request_name_async(bus, &slot, kName, 0, name_answered, &failed_);
  CHECKED(keep(r, slot, kName));
  announced_ = properties();
  inspect();
  return {};
}

void BusObjects::answer(MessagePtr call, Task<Result<MessagePtr>> work) {
  if (tasks_.live() >= kMaxTasks) {
    sd_bus_reply_method_errorf(call.get(), error_name(Code::exhausted).c_str(), "too many calls wait for an answer");
    return;
  }
  tasks_.spawn(reply(std::move(call), std::move(work)));
}

Task<> BusObjects::reply(MessagePtr call, Task<Result<MessagePtr>> work) {
  auto done = co_await std::move(work);
  if (sd_bus_message_get_expect_reply(call.get()) <= 0) co_return;
  if (done) {
    sd_bus_send(connection_.get(), done->get(), nullptr);
  } else {
    sd_bus_reply_method_errorf(call.get(), error_name(done.error().code).c_str(), "%s",
                               error_text(done.error()).c_str());
  }
}

const ManagerProperties& BusObjects::properties() {
  const auto now = Monotonic::now();
  if (properties_at_ && now - *properties_at_ < kFresh) return properties_;
  properties_at_ = now;
  static_cast<executions::Statistics&>(properties_) =
      executions::take_statistics(services_.executions, &services_.pool);
  properties_.state = services_.health.is_draining()   ? "draining"
                      : services_.health.is_degraded() ? "degraded"
                                                       : "serving";
  properties_.configuration_problem = services_.configuration.problem();
  properties_.policies = services_.policies.names();
  properties_.policy_folders = services_.configuration.policy_folders();
  properties_.reload_problem = reload_problem_;
  properties_.of_rooms = services_.members_of_rooms.values();
  return properties_;
}

executions::ExecutionRecordPtr BusObjects::execution_at(const char* path) const {
  return services_.executions.find(decoded(path, kExecutionPath));
}

std::shared_ptr<tenants::Tenant> BusObjects::tenant_at(const char* path) const {
  auto tenant = services_.registry.find_text(decoded(path, kTenantPath));
  return tenant && !tenant->is_workspace() ? tenant : nullptr;  // not a named workspace
}

void BusObjects::note(const executions::ExecutionRecordPtr& execution,
                      executions::ExecutionRegistry::RegistryEvent subject) {
  using What = executions::ExecutionRegistry::RegistryEvent;
  properties_at_.reset();
  if (subscribers_.empty()) return;
  auto it = std::find_if(news_.rbegin(), news_.rend(), [&](const News& n) { return n.execution == execution; });
  if (it == news_.rend()) {
    if (news_.size() >= kMaxNews) return;
    news_.push_back({execution});
    it = news_.rbegin();
  }
  it->added |= subject == What::started;
  it->changed |= subject == What::changed || subject == What::ended;
  it->started |= subject == What::changed && execution->stage == executions::Stage::starting;
  it->ended |= subject == What::ended;
  it->forgotten |= subject == What::forgotten;
  if (!sending_) sending_.emplace(services_.loop, kNewsAfter, [this] { send_news(); });
}

void BusObjects::send_news() {
  sending_.reset();
  for (const News& news : std::exchange(news_, {})) {
    if (!connection_.congested()) send_news_of(news);
  }
}

void BusObjects::reloaded(const std::string& problem) {
  reload_problem_ = problem;
  properties_at_.reset();
  if (!problem.empty()) return;
  // Other rules may give other tenants.
  for (auto& [name, subscriber] : subscribers_) subscriber->viewer = authority_.known_view(name).value_or(Viewer{});
  sd_bus_message* message = nullptr;
  if (sd_bus_message_new_signal(connection_.get(), &message, kPath, kManager, "PolicyReloaded") < 0) return;
  MessagePtr signal(message);
  if (append(message, services_.policies.names()) >= 0) sd_bus_send(connection_.get(), message, nullptr);
}

void BusObjects::inspect() {
  const ManagerProperties& now = properties();
  if (!(now == announced_) && !connection_.congested()) {
    const ManagerProperties before = std::exchange(announced_, now);
    std::vector<const char*> names = changed_properties(before, announced_);  // reads may renew properties_ meanwhile
    names.push_back(nullptr);
    sd_bus_emit_properties_changed_strv(connection_.get(), kPath, kManager, const_cast<char**>(names.data()));
  }
  examine_tenants();
  refresh_subscribers();
  looking_ = Deadline(services_.loop, kCheckInterval, [this] { inspect(); });
}

}  // namespace bus

// Signals about executions and tenants. Each goes to the subscribers that may see the tenant, one by one: a signal to
// all would tell every user of the machine.
#include <algorithm>
#include <set>

#include "jail/execution/jail_usage.h"
#include "supervisor/operations/bus/object_values.h"
#include "supervisor/tenants/tenant.h"

namespace bus {
namespace {

constexpr char kObjectManager[] = "org.freedesktop.DBus.ObjectManager";
constexpr char kPropertiesChanged[] = "org.freedesktop.DBus.Properties";
const std::vector<std::string_view> kChangingOfExecution = {"State", "Approvals", "Outcome", "Message", "EndedUSec"};
const std::vector<std::string_view> kChangingOfTenant = {"Running",    "Waiting",        "Connections",
                                                         "Executions", "WorkspaceBytes", "WorkspaceFiles"};

int append_added(sd_bus_message* to, const ObjectKind& kind, const std::string& path, BusObjects& objects) {
  const int r = sd_bus_message_append(to, "o", path.c_str());
  return r < 0 ? r : append_interfaces(to, kind, path, objects);
}

int append_changed(sd_bus_message* to, const ObjectKind& kind, const std::string& path,
                   const std::vector<std::string_view>& names, BusObjects& objects) {
  int r = sd_bus_message_append(to, "s", kind.interface);
  if (r >= 0) r = append_properties(to, kind, path, objects, &names);
  // A receipt is long: its readers fetch it.
  const bool has_receipt = &kind == &kExecutions;
  if (r >= 0) r = has_receipt ? sd_bus_message_append(to, "as", 1, "Receipt") : sd_bus_message_append(to, "as", 0);
  return r;
}

}  // namespace

void BusObjects::notify(std::string_view account, const char* path, const char* interface, const char* member,
                        const AppendValues& write) {
  for (const auto& [name, subscriber] : subscribers_) {
    if (!subscriber->viewer.sees(account)) continue;
    sd_bus_message* created = nullptr;
    if (sd_bus_message_new_signal(connection_.get(), &created, path, interface, member) < 0) return;
    const MessagePtr signal(created);
    if (write(created) < 0) return;
    sd_bus_send_to(connection_.get(), created, name.c_str(), nullptr);
  }
}

void BusObjects::send_news_of(const News& news) {
  const executions::ExecutionRecord& execution = *news.execution;
  const std::string path = path_of(execution);
  const std::string& account = execution.tenant.account;
  if (news.forgotten) {
    notify(account, kPath, kObjectManager, "InterfacesRemoved",
           [&](sd_bus_message* to) { return sd_bus_message_append(to, "oas", path.c_str(), 1, kExecution); });
    return;
  }
  if (news.added) {
    notify(account, kPath, kObjectManager, "InterfacesAdded",
           [&](sd_bus_message* to) { return append_added(to, kExecutions, path, *this); });
  } else if (news.changed) {
    notify(account, path.c_str(), kPropertiesChanged, "PropertiesChanged",
           [&](sd_bus_message* to) { return append_changed(to, kExecutions, path, kChangingOfExecution, *this); });
  }
  if (news.started) {
    notify(account, kPath, kManager, "ExecutionStarted", [&](sd_bus_message* to) {
      return sd_bus_message_append(to, "soss", execution.id.c_str(), path.c_str(), account.c_str(),
                                   execution.language.c_str());
    });
  }
  if (news.ended) {
    const jail::JailUsage& usage = execution.usage;
    notify(account, kPath, kManager, "ExecutionFinished", [&](sd_bus_message* to) {
      return sd_bus_message_append(to, "sossttt", execution.id.c_str(), path.c_str(), account.c_str(),
                                   execution.outcome.c_str(), static_cast<uint64_t>(usage.wall_ms * 1000),
                                   usec_or_unknown(usage.cpu_ms), known_bytes(usage.memory_peak_bytes));
    });
  }
}

void BusObjects::limit_reached(const executions::ExecutionRecord& execution, const std::string& limit) {
  if (subscribers_.empty() || connection_.congested()) return;
  notify(execution.tenant.account, kPath, kManager, "LimitReached", [&](sd_bus_message* to) {
    return sd_bus_message_append(to, "sss", execution.id.c_str(), execution.tenant.account.c_str(), limit.c_str());
  });
}

BusObjects::TenantSeen BusObjects::seen(tenants::Tenant& tenant) const {
  const auto& usage = tenant.workspace().quota().usage();
  return {services_.executions.count(tenant.name(), executions::Stage::running),
          services_.executions.count(tenant.name(), executions::Stage::waiting),
          services_.members.of(tenant.name()).count,
          services_.executions.totals_of(tenant.name()).executions,
          usage.bytes,
          usage.files};
}

// A new subscriber lists the tenants itself, so it hears only of later ones.
void BusObjects::note_tenants_of(const Viewer& viewer) {
  examine_tenants();
  if (!tenants_) tenants_.emplace();
  for (const auto& name : services_.registry.names())
    if (viewer.sees(name)) tenants_->try_emplace(name, seen(*services_.registry.find({name})));
}

void BusObjects::examine_tenants() {
  if (subscribers_.empty()) {
    tenants_.reset();
    return;
  }
  if (!tenants_) tenants_.emplace();
  const std::vector<std::string> names = services_.registry.names();
  for (const auto& name : names) {
    const bool is_seen = std::any_of(subscribers_.begin(), subscribers_.end(),
                                     [&name](const auto& item) { return item.second->viewer.sees(name); });
    if (!is_seen) continue;
    const TenantSeen now = seen(*services_.registry.find({name}));
    const auto it = tenants_->find(name);
    const bool is_new = it == tenants_->end();
    if (!is_new && it->second == now) continue;
    if (connection_.congested()) return;  // sent at the next look
    tenants_->insert_or_assign(name, now);
    const std::string path = path_of_tenant(name);
    if (is_new) {
      notify(name, kPath, kObjectManager, "InterfacesAdded",
             [&](sd_bus_message* to) { return append_added(to, kTenants, path, *this); });
    } else {
      notify(name, path.c_str(), kPropertiesChanged, "PropertiesChanged",
             [&](sd_bus_message* to) { return append_changed(to, kTenants, path, kChangingOfTenant, *this); });
    }
  }
  report_removed_tenants(names);
}

void BusObjects::report_removed_tenants(const std::vector<std::string>& names) {
  const std::set<std::string_view> there(names.begin(), names.end());
  for (auto it = tenants_->begin(); it != tenants_->end();) {
    if (there.contains(it->first)) {
      ++it;
      continue;
    }
    if (connection_.congested()) return;
    const std::string path = path_of_tenant(it->first);
    notify(it->first, kPath, kObjectManager, "InterfacesRemoved",
           [&](sd_bus_message* to) { return sd_bus_message_append(to, "oas", path.c_str(), 1, kTenant); });
    it = tenants_->erase(it);
  }
}

// Asks polkit again about subscribers with an old answer.
void BusObjects::refresh_subscribers() {
  for (auto& [name, subscriber] : subscribers_) {
    if (subscriber->is_refreshing || !authority_.is_stale(name)) continue;
    subscriber->is_refreshing = true;
    tasks_.spawn(refresh(name));
  }
}

Task<> BusObjects::refresh(std::string name) {
  auto viewer = co_await authority_.view_of(name);
  const auto subscriber = subscribers_.find(name);
  if (subscriber == subscribers_.end()) co_return;
  subscriber->second->viewer = viewer ? *std::move(viewer) : Viewer{};
  subscriber->second->is_refreshing = false;
}

}  // namespace bus

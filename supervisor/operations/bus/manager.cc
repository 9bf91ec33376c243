// org.warder.Warder1.Manager: its table and its methods.
#include <fmt/format.h>

#include "supervisor/base/log.h"
#include "supervisor/operations/bus/bus_objects.h"
#include "supervisor/records/journal/journal.h"
#include "supervisor/tenants/executions.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tenants/workspace.h"

namespace bus {
namespace {

constexpr size_t kMaxSubscribers = 512, kMaxSubscribersOfUser = 16;
constexpr uint32_t kMaxRead = 256 << 10;  // bytes of output in one answer

// These texts quote files of administrators.
template <auto Member>
constexpr bool kIsProblem = false;
template <>
constexpr bool kIsProblem<&ManagerProperties::reload_problem> = true;
template <>
constexpr bool kIsProblem<&ManagerProperties::configuration_problem> = true;

template <auto Member>
int manager_property(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* data, sd_bus_error*) {
  auto& objects = *static_cast<BusObjects*>(data);
  const auto& value = objects.properties().*Member;
  if constexpr (kIsProblem<Member>)
    return append(reply, objects.problem_text(value));
  else
    return append(reply, value);
}

int get_of_room(sd_bus*, const char*, const char*, const char* name, sd_bus_message* reply, void* data, sd_bus_error*) {
  return append_value_of(static_cast<BusObjects*>(data)->properties().of_rooms, name, reply);
}

struct Property {
  const char* name;
  bool (*same)(const ManagerProperties& one, const ManagerProperties& other);
};
template <auto Member>
bool same(const ManagerProperties& a, const ManagerProperties& b) {
  return a.*Member == b.*Member;
}
constexpr Property kAnnounced[] = {
#include "supervisor/operations/bus/manager_announced.h"
};

Result<std::string> read_text(sd_bus_message* call) {
  const char* text = nullptr;
  if (int r = sd_bus_message_read(call, "s", &text); r < 0) return fail_errno(-r, "read the argument", Code::invalid);
  return std::string(text);
}

// Reads the argument of SetLogLevel, or the value of the property that LogControl1 sets. The property has the names of
// syslog(3).
Result<std::string> read_level(sd_bus_message* call) {
  const char* text = nullptr;
  const bool property = sd_bus_message_has_signature(call, "ssv") > 0;
  const int r = property ? sd_bus_message_read(call, "v", "s", &text) : sd_bus_message_read(call, "s", &text);
  if (r < 0) return fail_errno(-r, "read the log level", Code::invalid);
  const std::string name(text);
  if (name == "emerg" || name == "alert" || name == "crit" || name == "err") return std::string("error");
  return name;
}

bool keeps(tenants::Tenant& tenant, const std::string& id) {
  auto saved = tenant.executions().read(id, tenants::Stream::out, 0, 0);
  return saved || (saved.error().code != Code::not_found && saved.error().code != Code::invalid);
}

// The tenant of `names` that stores the output of execution `id`; nullptr: no tenant does.
std::shared_ptr<tenants::Tenant> keeper_of(const std::string& id, const tenants::Registry& registry,
                                           const std::vector<std::string>& names) {
  for (const auto& name : names) {
    for (auto& tenant : registry.of_account(name))
      if (keeps(*tenant, id)) return tenant;
  }
  return nullptr;
}

tl::unexpected<Error> unknown_execution(const std::string& id) {
  return fail(Code::not_found, "no execution '" + id.substr(0, 64) + "' waits, runs, or ended in the last minute",
              "list the executions: warder ps --all");
}

}  // namespace

std::vector<const char*> changed_properties(const ManagerProperties& before, const ManagerProperties& after) {
  std::vector<const char*> names;
  for (const Property& property : kAnnounced)
    if (!property.same(before, after)) names.push_back(property.name);
  for (const auto& [name, value] : after.of_rooms) {
    const auto former = before.of_rooms.find(name);
    if (former == before.of_rooms.end() || former->second != value) names.push_back(name.c_str());
  }
  return names;
}

std::vector<sd_bus_vtable> manager_table_with(const OfferedMembers& members) {
  const sd_bus_vtable* end = kManagerTable;
  while (end->type != _SD_BUS_VTABLE_END) end++;
  std::vector<sd_bus_vtable> table(kManagerTable, end);
  for (const sd_bus_vtable& row : members.rows(get_of_room, call_of_room, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE))
    table.push_back(row);
  table.push_back(*end);
  return table;
}

const sd_bus_vtable kManagerTable[] = {
    SD_BUS_VTABLE_START(0),
#include "supervisor/operations/bus/manager_rows.h"
    SD_BUS_VTABLE_END,
};

Task<Result<MessagePtr>> BusObjects::list_executions(MessagePtr call) {
  CO_TRY(Viewer viewer, co_await authority_.view(share(call.get())));
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  int r = sd_bus_message_open_container(reply.get(), 'a', "(sosssu)");
  for (const auto& execution : services_.executions.all()) {
    if (!viewer.sees(execution->tenant.account)) continue;
    const std::string path = path_of(*execution), stage(executions::stage_name(execution->stage));
    if (r >= 0)
      r = sd_bus_message_append(reply.get(), "(sosssu)", execution->id.c_str(), path.c_str(),
                                execution->tenant.account.c_str(), execution->language.c_str(), stage.c_str(),
                                execution->uid);
  }
  if (r >= 0) r = sd_bus_message_close_container(reply.get());
  if (r < 0) co_return fail_errno(-r, "list the executions");
  co_return reply;
}

Task<Result<MessagePtr>> BusObjects::list_tenants(MessagePtr call) {
  CO_TRY(Viewer viewer, co_await authority_.view(share(call.get())));
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  int r = sd_bus_message_open_container(reply.get(), 'a', "(so)");
  for (const auto& name : services_.registry.names()) {
    if (r >= 0 && viewer.sees(name))
      r = sd_bus_message_append(reply.get(), "(so)", name.c_str(), path_of_tenant(name).c_str());
  }
  if (r >= 0) r = sd_bus_message_close_container(reply.get());
  if (r < 0) co_return fail_errno(-r, "list the tenants");
  co_return reply;
}

Task<Result<MessagePtr>> BusObjects::get_execution(MessagePtr call) {
  CO_TRY(std::string id, read_text(call.get()));
  CO_TRY(Viewer viewer, co_await authority_.view(share(call.get())));
  const auto execution = services_.executions.find(id);
  if (!execution || !viewer.sees(execution->tenant.account)) co_return unknown_execution(id);
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  sd_bus_message_append(reply.get(), "o", path_of(*execution).c_str());
  co_return reply;
}

Task<Result<MessagePtr>> BusObjects::get_tenant(MessagePtr call) {
  CO_TRY(std::string name, read_text(call.get()));
  CO_TRY(Viewer viewer, co_await authority_.view(share(call.get())));
  const auto tenant = services_.registry.find_text(name);
  if (!tenant || !viewer.sees(tenant->account()))
    co_return fail(Code::not_found, "no tenant of that name has connected since the daemon started",
                   "list them with ListTenants");
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  sd_bus_message_append(reply.get(), "o", path_of_tenant(name).c_str());
  co_return reply;
}

Task<Result<MessagePtr>> BusObjects::kill_execution(MessagePtr call) {
  CO_TRY(std::string id, read_text(call.get()));
  CO_TRY(executions::ExecutionRecordPtr execution, co_await allowed(share(call.get()), id));
  CO_CHECKED(services_.executions.cancel(*execution));
  co_return reply_to(call.get());
}

Task<Result<std::shared_ptr<tenants::Tenant>>> BusObjects::readable(MessagePtr call, std::string id) {
  if (const auto execution = services_.executions.find(id)) {
    const tenants::TenantId tenant = execution->tenant;
    CO_TRY(auto caller, co_await authority_.allow(std::move(call), Right::manage_executions, tenant.account));
    (void)caller;
    auto keeper = services_.registry.find(tenant);
    if (!keeper) co_return unknown_execution(id);
    co_return keeper;
  }
  // The execution ended long ago. Only callers that may read it learn that it exists.
  CO_TRY(auto caller, co_await authority_.identify(share(call.get())));
  const std::string own = authority_.tenant_of(caller);
  auto keeper = keeper_of(id, services_.registry, {own});
  if (!keeper) {
    auto admin = co_await authority_.allow(std::move(call), Right::manage_executions, std::string());
    if (!admin && !own.empty() && admin.error().code == Code::denied) co_return unknown_execution(id);
    if (!admin) co_return tl::unexpected<Error>(std::move(admin).error());
    keeper = keeper_of(id, services_.registry, services_.registry.names());
  }
  if (!keeper) co_return unknown_execution(id);
  co_return keeper;
}

Task<Result<MessagePtr>> BusObjects::read_output(MessagePtr call) {
  const char *id_text = nullptr, *stream_text = nullptr;
  uint64_t offset = 0;
  uint32_t limit = 0;
  int r = sd_bus_message_read(call.get(), "sstu", &id_text, &stream_text, &offset, &limit);
  if (r < 0) co_return fail_errno(-r, "read the arguments", Code::invalid);
  const std::string id(id_text);
  CO_TRY(tenants::Stream stream, tenants::parse_stream(stream_text));
  const auto execution = services_.executions.find(id);
  CO_TRY(auto keeper, co_await readable(share(call.get()), id));
  const bool ended =
      !execution || execution->stage == executions::Stage::ended;  // before the read: all output was there
  tenants::FileRange range;
  if (keeps(*keeper, id)) {
    CO_TRY(range, keeper->executions().read(id, stream, offset, std::min(limit, kMaxRead)));
  }
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  r = sd_bus_message_append_array(reply.get(), 'y', range.bytes.data(), range.bytes.size());
  if (r >= 0) r = sd_bus_message_append(reply.get(), "tb", range.size, static_cast<int>(ended));
  if (r < 0) co_return fail_errno(-r, "answer with output");
  co_return reply;
}

Task<Result<MessagePtr>> BusObjects::reload(MessagePtr call) {
  CO_TRY(auto caller, co_await authority_.allow(share(call.get()), Right::configure, std::string()));
  log_notice("D-Bus: user {} asks for a reload", caller.uid);
  CO_CHECKED(co_await services_.commands.reload());
  co_return reply_to(call.get());
}

Task<Result<MessagePtr>> BusObjects::drain(MessagePtr call) {
  CO_TRY(auto caller, co_await authority_.allow(share(call.get()), Right::configure, std::string()));
  log_notice("D-Bus: user {} ends the daemon after the running calls", caller.uid);
  services_.commands.drain();
  co_return reply_to(call.get());
}

Task<Result<MessagePtr>> BusObjects::set_log_level(MessagePtr call) {
  CO_TRY(std::string name, read_level(call.get()));
  LogLevel level = LogLevel::info;
  if (!parse_log_level(name, level))
    co_return fail(Code::invalid, "this is not a log level", "use error, warning, notice, info or debug");
  CO_TRY(auto caller, co_await authority_.allow(share(call.get()), Right::configure, std::string()));
  log_notice("D-Bus: user {} sets the log level to {}", caller.uid, name);
  ::set_log_level(level);
  co_return reply_to(call.get());
}

Task<Result<MessagePtr>> BusObjects::subscribe(MessagePtr call) {
  const char* sender = sd_bus_message_get_sender(call.get());
  const std::string name = sender ? sender : "";
  if (subscribers_.contains(name)) co_return reply_to(call.get());
  // Before the match: a sender that leaves during a question to polkit must not be added afterwards.
  CO_TRY(Viewer viewer, co_await authority_.view(share(call.get())));
  auto created = std::unique_ptr<Subscriber>(new Subscriber{*this, name, 0, std::move(viewer), false, nullptr});
  const std::string rule = fmt::format(
      "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='{}"
      "'",
      name);
  auto removed = [](sd_bus_message*, void* data, sd_bus_error*) {
    const Subscriber& subscriber = *static_cast<Subscriber*>(data);
    subscriber.owner.subscribers_.erase(std::string(subscriber.name));
    return 0;
  };
  auto installed = [](sd_bus_message*, void*, sd_bus_error*) { return 0; };
  sd_bus_slot* slot = nullptr;
  const int r = sd_bus_add_match_async(connection_.get(), &slot, rule.c_str(), removed, installed, created.get());
  if (r < 0) co_return fail_errno(-r, "watch the subscriber");
  created->exited.reset(slot);
  // Asked after the match was queued: identify() fails for a sender that has left, and the match reports one that
  // leaves later.
  auto caller = co_await authority_.identify(share(call.get()));
  if (!caller) co_return tl::unexpected<Error>(std::move(caller).error());
  created->uid = caller->uid;
  created->viewer = authority_.known_view(name).value_or(Viewer{});  // a reload may have changed it meanwhile
  const auto of_user = std::count_if(subscribers_.begin(), subscribers_.end(),
                                     [&](const auto& item) { return item.second->uid == caller->uid; });
  if (subscribers_.size() >= kMaxSubscribers || of_user >= static_cast<ptrdiff_t>(kMaxSubscribersOfUser))
    co_return fail(Code::exhausted, fmt::format("user {} already has {} subscriptions", caller->uid, of_user),
                   "end a subscription, or share one");
  note_tenants_of(created->viewer);
  subscribers_.try_emplace(name, std::move(created));
  co_return reply_to(call.get());
}

Task<Result<MessagePtr>> BusObjects::unsubscribe(MessagePtr call) {
  const char* sender = sd_bus_message_get_sender(call.get());
  if (subscribers_.erase(sender ? sender : "") == 0) co_return fail(Code::invalid, "this caller has not subscribed");
  co_return reply_to(call.get());
}

Task<Result<executions::ExecutionRecordPtr>> BusObjects::allowed(MessagePtr call, std::string id) {
  auto execution = services_.executions.find(id);
  if (!execution) co_return unknown_execution(id);
  const std::string tenant = execution->tenant.account;
  CO_TRY(auto caller, co_await authority_.allow(share(call.get()), Right::manage_executions, tenant));
  log_notice("D-Bus: user {}: {} of execution {}", caller.uid, sd_bus_message_get_member(call.get()), id);
  co_return execution;
}

}  // namespace bus

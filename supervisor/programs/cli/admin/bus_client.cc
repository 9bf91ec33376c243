#include "supervisor/programs/cli/admin/bus_client.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "supervisor/programs/cli/admin/daemon_state.h"

namespace admin {
namespace {

constexpr char kName[] = "org.warder.Warder1";
constexpr uint64_t kPatienceUsec = 130'000'000;     // polkit may ask the user to authenticate
constexpr uint64_t kReadPatienceUsec = 10'000'000;  // no person is asked

constexpr char kLogSaysMore[] = "its log may say why: journalctl -u warder";
constexpr char kOwnErrors[] = "org.warder.Warder1.Error.";

// The code for an error name of warderd's own, without its prefix.
Code refusal(std::string_view name) {
  if (name == "Invalid") return Code::invalid;
  if (name == "NotFound") return Code::not_found;
  return name == "Denied" ? Code::denied : Code::internal;
}

struct Unref {
  void operator()(sd_bus_message* message) const { sd_bus_message_unref(message); }
};
using MessagePtr = std::unique_ptr<sd_bus_message, Unref>;

Error no_daemon_here() {
  return {Code::unavailable,
          0,
          "no warderd is on this bus",
          "start it with --bus system (or session, or an address), and name that bus here with --bus",
          {}};
}

// The text of warderd's errors ends with the remedy after "; ", and may have several lines.
struct Failure {
  sd_bus_error error{};
  ~Failure() { sd_bus_error_free(&error); }
  bool is(const char* name) const { return sd_bus_error_has_name(&error, name) != 0; }
  Error reported(int r) const {
    if (is(SD_BUS_ERROR_SERVICE_UNKNOWN) || is(SD_BUS_ERROR_NAME_HAS_NO_OWNER)) return no_daemon_here();
    if (is(SD_BUS_ERROR_ACCESS_DENIED)) return {Code::denied, 0, "the bus refuses this call", "call as root", {}};
    if (is(SD_BUS_ERROR_NO_REPLY))  // of the bus, when the connection of the called program ends
      return {Code::unavailable, 0, "warderd ended before it answered", kLogSaysMore, {}};
    if (is(SD_BUS_ERROR_TIMEOUT) || r == -ETIMEDOUT)
      return {Code::unavailable, ETIMEDOUT, "warderd does not answer", kLogSaysMore, {}};
    if (is(SD_BUS_ERROR_UNKNOWN_METHOD) || is(SD_BUS_ERROR_UNKNOWN_OBJECT))
      return {
          Code::unavailable, 0, "this warderd does not have this command", "use warder and warderd of one version", {}};
    if (error.name && std::string_view(error.name).starts_with(kOwnErrors))
      return {refusal(error.name + sizeof kOwnErrors - 1), 0, error.message ? error.message : "refused", {}, {}};
    if (error.message) return {Code::unavailable, 0, std::string("the bus answers: ") + error.message, {}, {}};
    return fail_errno(-r, "call warderd over D-Bus", Code::unavailable).value();
  }
};

int append_dictionary(sd_bus_message* to, const Json& object) {
  int r = sd_bus_message_open_container(to, 'a', "{sv}");
  for (const auto& [name, value] : object.items()) {
    const char* key = name.c_str();
    if (r >= 0 && value.is_string())
      r = sd_bus_message_append(to, "{sv}", key, "s", value.get_ref<const std::string&>().c_str());
    if (r >= 0 && value.is_number()) r = sd_bus_message_append(to, "{sv}", key, "t", value.get<uint64_t>());
    if (r >= 0 && value.is_boolean()) r = sd_bus_message_append(to, "{sv}", key, "b", value.get<bool>() ? 1 : 0);
  }
  return r < 0 ? r : sd_bus_message_close_container(to);
}

Result<sd_bus*> open_bus(const std::string& where) {
  sd_bus* bus = nullptr;
  int r = 0;
  if (where == "system") {
    r = sd_bus_open_system(&bus);
  } else if (where == "session") {
    r = sd_bus_open_user(&bus);
  } else {
    r = sd_bus_new(&bus);
    if (r >= 0) r = sd_bus_set_address(bus, where.c_str());
    if (r >= 0) r = sd_bus_set_bus_client(bus, 1);
    if (r >= 0) r = sd_bus_start(bus);
  }
  if (r >= 0) return bus;
  sd_bus_unref(bus);
  auto failed = fail_errno(-r, "connect to the bus '" + where + "'", Code::unavailable);
  failed.value().hint = "name the bus that warderd was started with: --bus system, session or an address";
  return failed;
}

std::string owner_on(sd_bus* bus) {
  sd_bus_message* answer = nullptr;
  const int r = sd_bus_call_method(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                   "GetNameOwner", nullptr, &answer, "s", kName);
  const MessagePtr reply(answer);
  const char* owner = nullptr;
  return r >= 0 && sd_bus_message_read(answer, "s", &owner) > 0 ? owner : std::string();
}

bool is_on(sd_bus* bus) { return !owner_on(bus).empty(); }

// The properties of all objects that have the interface.
std::vector<Json> objects_with(const Json& all, const char* interface) {
  std::vector<Json> match;
  if (!all.is_object()) return match;
  for (const auto& [path, interfaces] : all.items())
    if (const Json& item = member(interfaces, interface); item.is_object()) match.push_back(item);
  return match;
}

}  // namespace

Result<BusClient> BusClient::connect(const std::string& where, Reach reach) {
  const char* requested = std::getenv("WARDER_BUS");
  std::string name = !where.empty() ? where : requested ? requested : "system";
  BusClient client;
  auto opened = open_bus(name);
  if (opened) client.bus_.reset(*opened);
  if (where.empty() && !requested && !(opened && is_on(*opened))) {
    if (auto own = open_bus("session")) {
      std::unique_ptr<sd_bus, Close> mine(*own);
      if (!opened || is_on(mine.get())) {
        client.bus_ = std::move(mine);
        name = "session";
      }
    }
  }
  if (!client.bus_) return tl::unexpected<Error>(std::move(opened).error());
  if (reach == Reach::bus || client.has_daemon()) return client;
  CHECKED(start_daemon(
      client.bus_.get(), name, [&client] { return client.has_daemon(); }, no_daemon_here()));
  return client;
}

bool BusClient::has_daemon() const { return is_on(bus_.get()); }
std::string BusClient::daemon_connection() const { return owner_on(bus_.get()); }

Result<Json> BusClient::exchange(const std::string& path, const std::string& interface, const std::string& member,
                                 const Append& append, MayAsk may_ask) const {
  sd_bus_message *created = nullptr, *answer = nullptr;
  int r = sd_bus_message_new_method_call(bus_.get(), &created, kName, path.c_str(), interface.c_str(), member.c_str());
  if (r < 0) return fail_errno(-r, "call warderd over D-Bus");
  const MessagePtr message(created);
  sd_bus_message_set_auto_start(created, 0);  // connect() has started it, and knows what to say if it cannot
  sd_bus_message_set_allow_interactive_authorization(created, may_ask == MayAsk::yes);
  if (append) r = append(created);
  if (r < 0) return fail_errno(-r, "call warderd over D-Bus");
  Failure failure;
  const uint64_t patience_usec = patience_usec_           ? patience_usec_
                                 : may_ask == MayAsk::yes ? kPatienceUsec
                                                          : kReadPatienceUsec;
  r = sd_bus_call(bus_.get(), created, patience_usec, &failure.error, &answer);
  if (r < 0) return tl::unexpected<Error>(failure.reported(r));
  const MessagePtr reply(answer);
  TRY(auto values, read_values(answer));
  if (values.empty()) return Json();
  if (values.size() == 1) return std::move(values.front());
  return Json(std::move(values));
}

Result<Json> BusClient::call_with(const std::string& path, const std::string& interface, const std::string& member,
                                  const Append& append) const {
  return exchange(path, interface, member, append, may_ask_);
}

int append_arguments(sd_bus_message* to, const BusClient::Arguments& arguments) {
  int r = 0;
  for (size_t i = 0; i < arguments.types.size() && r >= 0; i++) {
    const Json& value = arguments.values[i];
    if (arguments.types[i] == 's') r = sd_bus_message_append(to, "s", value.get_ref<const std::string&>().c_str());
    if (arguments.types[i] == 't') r = sd_bus_message_append(to, "t", value.get<uint64_t>());
    if (arguments.types[i] == 'a') r = append_dictionary(to, value);
    if (arguments.types[i] == 'b') r = sd_bus_message_append(to, "b", value.get<bool>() ? 1 : 0);
    if (arguments.types[i] == 'u') r = sd_bus_message_append(to, "u", value.get<uint32_t>());
  }
  return r;
}

Result<Json> BusClient::call(const std::string& path, const std::string& interface, const std::string& member,
                             const Arguments& arguments) const {
  return call_with(path, interface, member,
                   [&arguments](sd_bus_message* to) { return append_arguments(to, arguments); });
}

Result<Json> BusClient::read(const std::string& path, const std::string& interface, const std::string& member,
                             const Append& append) const {
  return exchange(path, interface, member, append, MayAsk::no);
}

Result<Json> BusClient::properties(const std::string& path, const std::string& interface) const {
  return read(path, "org.freedesktop.DBus.Properties", "GetAll",
              [&interface](sd_bus_message* to) { return sd_bus_message_append(to, "s", interface.c_str()); });
}

std::string execution_path(const std::string& id) {
  char* encoded = nullptr;
  if (sd_bus_path_encode("/org/warder/Warder1/execution", id.c_str(), &encoded) < 0) return "/";
  const std::unique_ptr<char, decltype(&std::free)> path(encoded, &std::free);
  return path.get();
}

std::vector<Json> executions_in(const Json& objects) {
  std::vector<Json> match = objects_with(objects, kExecution);
  std::sort(match.begin(), match.end(), [](const Json& a, const Json& b) {
    const bool first = text(a, "State") == "ended", second = text(b, "State") == "ended";
    if (first != second) return second;
    return number(a, "AskedUSec") < number(b, "AskedUSec");
  });
  return match;
}

std::vector<Json> tenants_in(const Json& objects) {
  std::vector<Json> match = objects_with(objects, kTenant);
  std::sort(match.begin(), match.end(), [](const Json& a, const Json& b) { return text(a, "Name") < text(b, "Name"); });
  return match;
}

Result<std::vector<Json>> BusClient::tenants() const {
  TRY(Json all, read(kPath, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"));
  return tenants_in(all);
}

Result<std::vector<Json>> BusClient::executions() const {
  TRY(Json all, read(kPath, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"));
  return executions_in(all);
}

Result<std::vector<std::string>> BusClient::execution_ids() const {
  TRY(Json listed, read(kPath, kManager, "ListExecutions"));  // id, object, tenant, language, state, uid
  std::vector<std::string> ids;
  for (const Json& item : listed) ids.push_back(text(element(item, 0)));
  return ids;
}

Result<> BusClient::follow(const Take& take) const {
  struct Taking {
    const Take& take;
    bool more = true, exited = false;
  } taking{take};
  auto received = [](sd_bus_message* message, void* data, sd_bus_error*) {
    auto& state = *static_cast<Taking*>(data);
    const char* name = sd_bus_message_get_member(message);
    auto values = read_values(message);
    if (values && state.more) state.more = state.take(name ? name : "", Json(*std::move(values)));
    return 0;
  };
  auto removed = [](sd_bus_message*, void* data, sd_bus_error*) {
    static_cast<Taking*>(data)->exited = true;
    return 0;
  };
  const std::string owner =
      std::string("type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='") + kName + "'";
  int r = sd_bus_match_signal(bus_.get(), nullptr, kName, kPath, kManager, nullptr, received, &taking);
  if (r >= 0) r = sd_bus_add_match(bus_.get(), nullptr, owner.c_str(), removed, &taking);
  if (r < 0) return fail_errno(-r, "receive signals of warderd", Code::unavailable);
  TRY(Json subscribed, call(kPath, kManager, "Subscribe"));
  while (taking.more && !taking.exited) {
    const int done = sd_bus_process(bus_.get(), nullptr);
    if (done < 0) return fail_errno(-done, "the connection to the bus ended", Code::unavailable);
    if (done == 0) sd_bus_wait(bus_.get(), UINT64_MAX);
  }
  if (taking.exited) return fail(Code::unavailable, "warderd has left the bus", "systemctl status warder says why");
  return {};
}

}  // namespace admin

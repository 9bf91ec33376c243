#include "supervisor/cli/admin/bus_client.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace admin {
namespace {

constexpr char kName[] = "org.warder.Warder1";
constexpr uint64_t kPatienceUsec = 130'000'000;  // polkit may ask the user to authenticate

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

struct Failure {
  sd_bus_error error{};
  ~Failure() { sd_bus_error_free(&error); }
  Error told(int r, const std::string& what) const {
    if (sd_bus_error_has_name(&error, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
        sd_bus_error_has_name(&error, SD_BUS_ERROR_NAME_HAS_NO_OWNER))
      return {Code::unavailable,
              0,
              "no warderd is on this bus",
              "start it with --bus system (or session, or an address), and name that bus here with --bus",
              {}};
    if (sd_bus_error_has_name(&error, SD_BUS_ERROR_ACCESS_DENIED))
      return {Code::denied, 0, what + ": the bus refused it", "call as root", {}};
    if (error.name && std::string_view(error.name).starts_with(kOwnErrors))
      return {refusal(error.name + sizeof kOwnErrors - 1), 0, error.message ? error.message : what, {}, {}};
    if (error.message) return {Code::unavailable, 0, what + ": " + error.message, {}, {}};
    return fail_errno(-r, what, Code::unavailable).value();
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

bool is_on(sd_bus* bus) {
  MessagePtr reply;
  sd_bus_message* answer = nullptr;
  sd_bus_error error{};
  const int r = sd_bus_call_method(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                   "NameHasOwner", &error, &answer, "s", kName);
  reply.reset(answer);
  sd_bus_error_free(&error);
  int owned = 0;
  return r >= 0 && sd_bus_message_read(answer, "b", &owned) > 0 && owned;
}

// The properties of all objects that have the interface.
std::vector<Json> objects_with(const Json& all, const char* interface) {
  std::vector<Json> found;
  if (!all.is_object()) return found;
  for (const auto& [path, interfaces] : all.items())
    if (const Json& one = member(interfaces, interface); one.is_object()) found.push_back(one);
  return found;
}

}  // namespace

Result<BusClient> BusClient::connect(const std::string& where) {
  const char* asked = std::getenv("WARDER_BUS");
  const std::string first = !where.empty() ? where : asked ? asked : "system";
  BusClient client;
  auto opened = open_bus(first);
  if (opened) client.bus_.reset(*opened);
  if (!where.empty() || asked || (opened && is_on(*opened))) {
    if (!opened) return tl::unexpected<Error>(std::move(opened).error());
    return client;
  }
  if (auto own = open_bus("session")) {
    std::unique_ptr<sd_bus, Close> mine(*own);
    if (!opened || is_on(mine.get())) client.bus_ = std::move(mine);
    return client;
  }
  if (!opened) return tl::unexpected<Error>(std::move(opened).error());
  return client;
}

bool BusClient::has_daemon() const { return is_on(bus_.get()); }

Result<Json> BusClient::call(const std::string& path, const std::string& interface, const std::string& member,
                             const Arguments& arguments) const {
  sd_bus_message *made = nullptr, *answer = nullptr;
  int r = sd_bus_message_new_method_call(bus_.get(), &made, kName, path.c_str(), interface.c_str(), member.c_str());
  if (r < 0) return fail_errno(-r, "call " + member);
  MessagePtr message(made);
  sd_bus_message_set_allow_interactive_authorization(made, may_ask_);
  for (size_t i = 0; i < arguments.types.size() && r >= 0; i++) {
    const Json& value = arguments.values[i];
    if (arguments.types[i] == 's') r = sd_bus_message_append(made, "s", value.get_ref<const std::string&>().c_str());
    if (arguments.types[i] == 't') r = sd_bus_message_append(made, "t", value.get<uint64_t>());
    if (arguments.types[i] == 'a') r = append_dictionary(made, value);
    if (arguments.types[i] == 'b') r = sd_bus_message_append(made, "b", value.get<bool>() ? 1 : 0);
    if (arguments.types[i] == 'u') r = sd_bus_message_append(made, "u", value.get<uint32_t>());
  }
  if (r < 0) return fail_errno(-r, "call " + member);
  Failure failure;
  r = sd_bus_call(bus_.get(), made, kPatienceUsec, &failure.error, &answer);
  if (r < 0) return tl::unexpected<Error>(failure.told(r, member));
  MessagePtr reply(answer);
  TRY(auto values, read_values(answer));
  if (values.empty()) return Json();
  if (values.size() == 1) return std::move(values.front());
  return Json(std::move(values));
}

Result<Json> BusClient::properties(const std::string& path, const std::string& interface) const {
  return call(path, "org.freedesktop.DBus.Properties", "GetAll", {"s", {interface}});
}

std::vector<Json> executions_in(const Json& objects) {
  std::vector<Json> found = objects_with(objects, kExecution);
  std::sort(found.begin(), found.end(), [](const Json& one, const Json& other) {
    const bool first = text(one, "State") == "ended", second = text(other, "State") == "ended";
    if (first != second) return second;
    return number(one, "AskedUSec") < number(other, "AskedUSec");
  });
  return found;
}

std::vector<Json> tenants_in(const Json& objects) {
  std::vector<Json> found = objects_with(objects, kTenant);
  std::sort(found.begin(), found.end(),
            [](const Json& one, const Json& other) { return text(one, "Name") < text(other, "Name"); });
  return found;
}

Result<std::vector<Json>> BusClient::tenants() const {
  TRY(Json all, call(kPath, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"));
  return tenants_in(all);
}

Result<std::vector<Json>> BusClient::executions() const {
  TRY(Json all, call(kPath, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"));
  return executions_in(all);
}

Result<> BusClient::follow(const Take& take) const {
  struct Taking {
    const Take& take;
    bool more = true, gone = false;
  } taking{take};
  auto heard = [](sd_bus_message* message, void* data, sd_bus_error*) {
    auto& state = *static_cast<Taking*>(data);
    const char* name = sd_bus_message_get_member(message);
    auto values = read_values(message);
    if (values && state.more) state.more = state.take(name ? name : "", Json(*std::move(values)));
    return 0;
  };
  auto gone = [](sd_bus_message*, void* data, sd_bus_error*) {
    static_cast<Taking*>(data)->gone = true;
    return 0;
  };
  const std::string owner =
      std::string("type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='") + kName + "'";
  int r = sd_bus_match_signal(bus_.get(), nullptr, kName, kPath, kManager, nullptr, heard, &taking);
  if (r >= 0) r = sd_bus_add_match(bus_.get(), nullptr, owner.c_str(), gone, &taking);
  if (r < 0) return fail_errno(-r, "receive signals of warderd", Code::unavailable);
  TRY(Json subscribed, call(kPath, kManager, "Subscribe"));
  while (taking.more && !taking.gone) {
    const int done = sd_bus_process(bus_.get(), nullptr);
    if (done < 0) return fail_errno(-done, "the connection to the bus ended", Code::unavailable);
    if (done == 0) sd_bus_wait(bus_.get(), UINT64_MAX);
  }
  if (taking.gone) return fail(Code::unavailable, "warderd has left the bus", "systemctl status warder says why");
  return {};
}

}  // namespace admin

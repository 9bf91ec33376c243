// Reads of the Manager, of executions and of tenants: Properties.Get and GetAll, ObjectManager.GetManagedObjects, and
// the list of objects in Introspect. They are answered here instead of by sd-bus, because a reader sees its own tenant
// only, unless it has the right to see all (caller.h), and that is known only after a question to the bus. An object
// that the reader may not see is answered like one that does not exist.
#include <fmt/format.h>

#include "supervisor/operations/bus/object_values.h"
#include "supervisor/tenants/tenant.h"

namespace bus {
namespace {

constexpr char kPropertiesInterface[] = "org.freedesktop.DBus.Properties";
constexpr char kObjectManagerInterface[] = "org.freedesktop.DBus.ObjectManager";

bool is_below(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() + 1 && path.starts_with(folder) && path[folder.size()] == '/';
}

tl::unexpected<Error> no_such_object() {
  return fail(Code::not_found, "this user sees no object of this name",
              "list the objects: busctl tree org.warder.Warder1");
}

Result<const ObjectKind*> kind_of(std::string_view path) {
  for (const ObjectKind* kind : {&kExecutions, &kTenants})
    if (is_below(path, kind->folder)) return kind;
  return no_such_object();
}

Result<> check_interface(const ObjectKind& kind, std::string_view name, bool standard_too) {
  if (name.empty() || name == kind.interface) return {};
  for (const char* standard : kStandardInterfaces)
    if (standard_too && name == standard) return {};
  return fail(Code::invalid, "this object lacks the interface", fmt::format("use {}", kind.interface));
}

Result<MessagePtr> full(MessagePtr reply, int r) {
  if (r == -ENOENT) return no_such_object();
  if (r == -ENXIO) return fail(Code::invalid, "this object lacks the property", "busctl introspect lists them");
  if (r < 0) return fail_errno(-r, "answer with properties");
  return reply;
}

}  // namespace

std::string BusObjects::problem_text(const std::string& text) const {
  if (text.empty() || reader_sees_all_) return text;
  return "a file has a mistake: the log and `warder config check` name it to administrators";
}

Task<Result<MessagePtr>> BusObjects::get_manager_property(MessagePtr call) {
  const char *interface = nullptr, *name = nullptr;
  if (int r = sd_bus_message_read(call.get(), "ss", &interface, &name); r < 0)
    co_return fail_errno(-r, "read the arguments", Code::invalid);
  const ObjectKind kind = kind_of_interface(interface);
  CO_CHECKED(check_interface(kind, interface, false));
  CO_TRY(Viewer viewer, co_await authority_.view(share(call.get())));
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  reader_sees_all_ = viewer.sees_all;
  const int r = append_property(reply.get(), kind, kPath, name, *this);
  reader_sees_all_ = false;
  co_return full(std::move(reply), r);
}

Task<Result<MessagePtr>> BusObjects::get_manager_properties(MessagePtr call) {
  const char* interface = nullptr;
  if (int r = sd_bus_message_read(call.get(), "s", &interface); r < 0)
    co_return fail_errno(-r, "read the argument", Code::invalid);
  const std::string_view request = interface;
  const ObjectKind kind = kind_of_interface(request);
  if (request != kObjectManagerInterface) CO_CHECKED(check_interface(kind, request, true));
  const bool is_own = request.empty() || request == kind.interface;
  CO_TRY(Viewer viewer, co_await authority_.view(share(call.get())));
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  static const std::vector<std::string_view> kNone;
  reader_sees_all_ = viewer.sees_all;
  const int r = append_properties(reply.get(), kind, kPath, *this, is_own ? nullptr : &kNone);
  reader_sees_all_ = false;
  co_return full(std::move(reply), r);
}

// The account that an object belongs to; empty: there is no such object.
std::string BusObjects::account_at(const char* path) const {
  if (const auto execution = execution_at(path)) return execution->tenant.account;
  const auto tenant = tenant_at(path);
  return tenant ? tenant->account() : std::string();
}

Task<Result<MessagePtr>> BusObjects::get_property(MessagePtr call) {
  const std::string path = sd_bus_message_get_path(call.get());
  const char *interface = nullptr, *name = nullptr;
  if (int r = sd_bus_message_read(call.get(), "ss", &interface, &name); r < 0)
    co_return fail_errno(-r, "read the arguments", Code::invalid);
  CO_TRY(const ObjectKind* kind, kind_of(path));
  CO_CHECKED(check_interface(*kind, interface, false));
  CO_TRY(Viewer viewer, co_await authority_.view(share(call.get())));
  const std::string account = account_at(path.c_str());
  if (account.empty() || !viewer.sees(account)) co_return no_such_object();
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  const int r = append_property(reply.get(), *kind, path, name, *this);
  co_return full(std::move(reply), r);
}

Task<Result<MessagePtr>> BusObjects::get_properties(MessagePtr call) {
  const std::string path = sd_bus_message_get_path(call.get());
  const char* interface = nullptr;
  if (int r = sd_bus_message_read(call.get(), "s", &interface); r < 0)
    co_return fail_errno(-r, "read the argument", Code::invalid);
  CO_TRY(const ObjectKind* kind, kind_of(path));
  CO_CHECKED(check_interface(*kind, interface, true));
  const bool is_own = std::string_view(interface).empty() || std::string_view(interface) == kind->interface;
  CO_TRY(Viewer viewer, co_await authority_.view(share(call.get())));
  const std::string account = account_at(path.c_str());
  if (account.empty() || !viewer.sees(account)) co_return no_such_object();
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  static const std::vector<std::string_view> kNone;
  const int r = append_properties(reply.get(), *kind, path, *this, is_own ? nullptr : &kNone);
  co_return full(std::move(reply), r);
}

std::vector<std::string> BusObjects::paths_for(const Viewer& viewer, const ObjectKind& kind) const {
  std::vector<std::string> paths;
  if (&kind == &kExecutions) {
    for (const auto& execution : services_.executions.all())
      if (viewer.sees(execution->tenant.account)) paths.push_back(path_of(*execution));
  } else if (viewer.sees_all) {
    for (const auto& name : services_.registry.names()) paths.push_back(path_of_tenant(name));
  } else if (!viewer.tenant.empty() && services_.registry.find({viewer.tenant})) {
    paths.push_back(path_of_tenant(viewer.tenant));
  }
  return paths;
}

Task<Result<MessagePtr>> BusObjects::get_objects(MessagePtr call) {
  CO_TRY(Viewer viewer, co_await authority_.view(share(call.get())));
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  int r = sd_bus_message_open_container(reply.get(), 'a', "{oa{sa{sv}}}");
  for (const ObjectKind* kind : {&kExecutions, &kTenants}) {
    for (const std::string& path : paths_for(viewer, *kind)) {
      if (r >= 0) r = sd_bus_message_open_container(reply.get(), 'e', "oa{sa{sv}}");
      if (r >= 0) r = sd_bus_message_append(reply.get(), "o", path.c_str());
      if (r >= 0) r = append_interfaces(reply.get(), *kind, path, *this);
      if (r >= 0) r = sd_bus_message_close_container(reply.get());
    }
  }
  if (r >= 0) r = sd_bus_message_close_container(reply.get());
  co_return full(std::move(reply), r);
}

// Introspect of the parent of the executions or the tenants: the children that the reader may see.
Task<Result<MessagePtr>> BusObjects::introspect_folder(MessagePtr call) {
  const bool of_executions = std::string_view(sd_bus_message_get_path(call.get())) == kExecutions.folder;
  const ObjectKind& kind = of_executions ? kExecutions : kTenants;
  CO_TRY(Viewer viewer, co_await authority_.view(share(call.get())));
  std::string xml =
      "<!DOCTYPE node PUBLIC \"-//freedesktop//DTD D-BUS Object Introspection 1.0//EN\"\n"
      "\"http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd\">\n<node>\n";
  const size_t prefix = std::string_view(kind.folder).size() + 1;
  for (const std::string& path : paths_for(viewer, kind))
    xml += fmt::format(" <node name=\"{}\"/>\n", path.substr(prefix));
  xml += "</node>\n";
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  const int r = sd_bus_message_append(reply.get(), "s", xml.c_str());
  co_return full(std::move(reply), r);
}

// Called before the tables see a message.
int handle_read(sd_bus_message* call, void* data, sd_bus_error*) {
  auto& objects = *static_cast<BusObjects*>(data);
  const std::string_view path = sd_bus_message_get_path(call);
  if (sd_bus_message_is_method_call(call, kObjectManagerInterface, "GetManagedObjects") > 0) {
    if (path != kPath) return 0;
    objects.answer(share(call), objects.get_objects(share(call)));
    return 1;
  }
  if (path == kPath) {
    if (sd_bus_message_is_method_call(call, kPropertiesInterface, "Get") > 0) {
      objects.answer(share(call), objects.get_manager_property(share(call)));
      return 1;
    }
    if (sd_bus_message_is_method_call(call, kPropertiesInterface, "GetAll") > 0) {
      objects.answer(share(call), objects.get_manager_properties(share(call)));
      return 1;
    }
    return 0;
  }
  if (path == kExecutions.folder || path == kTenants.folder) {
    if (sd_bus_message_is_method_call(call, "org.freedesktop.DBus.Introspectable", "Introspect") <= 0) return 0;
    objects.answer(share(call), objects.introspect_folder(share(call)));
    return 1;
  }
  if (!is_below(path, kExecutions.folder) && !is_below(path, kTenants.folder)) return 0;
  if (sd_bus_message_is_method_call(call, kPropertiesInterface, "Get") > 0) {
    objects.answer(share(call), objects.get_property(share(call)));
    return 1;
  }
  if (sd_bus_message_is_method_call(call, kPropertiesInterface, "GetAll") > 0) {
    objects.answer(share(call), objects.get_properties(share(call)));
    return 1;
  }
  return 0;
}

}  // namespace bus

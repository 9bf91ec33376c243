// warder-docgen NAME [FILE...]: prints warder.1, warderd.8, warder.bash, or org.warder.Warder1.5, which is made of
// units/dbus/*.xml. Run by the build; not installed.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string_view>

#include "supervisor/cli/declaration.h"
#include "supervisor/docgen/docgen.h"
#include "supervisor/flags.h"

namespace {

using docgen::ManualText;

const ManualText& text_of_warder() {
  static const ManualText text{
      1,
      "runs code in single-use jails",
      {{"environment",
        "WARDER_SOCKET: the daemon's socket, if --socket is not given.\n\nWARDER_BUS: the bus that the daemon is on, "
        "if --bus is not given.\n\nXDG_RUNTIME_DIR: the folder with the socket of a user's own daemon."},
       {"files",
        "/run/warder/mcp.sock: the socket of the system's daemon.\n\n/usr/lib/warder/policies, /etc/warder/policies: "
        "the rights of tenants. A file in the second folder replaces the file of the same name in the first."},
       {"exit status",
        "Each command above names its own. All commands: 0 success; 1 the request was refused or an object was not "
        "found; 2 the command line is not valid; 125 no daemon answers."},
       {"see also", "warderd(8), org.warder.Warder1(5), busctl(1), systemctl(1), journalctl(1)"}}};
  return text;
}

const ManualText& text_of_warderd() {
  static const ManualText text{
      8,
      "runs the code of AI agents in jails, over MCP",
      {{"files",
        "/run/warder/mcp.sock: the socket of a daemon that root started; of a user: "
        "$XDG_RUNTIME_DIR/warder/mcp.sock.\n\n"
        "/var/lib/warder: workspaces, records and keys; of a user: $XDG_STATE_HOME/warder.\n\n"
        "/usr/lib/warder/policies, /etc/warder/policies: the rights of tenants. A file in the second folder replaces "
        "the file of the same name in the first.\n\n"
        "/etc/warder/catalog: definitions of further tools, if the folder exists and no other folder is named. "
        "/usr/share/doc/warder/examples/catalog has examples of such files; the daemon does not read them.\n\n"
        "/etc/default/warder: the options of the service, as WARDERD_OPTIONS.\n\n"
        "/usr/lib/systemd/user/warder.socket, warder.service: the service of one user, enabled by `systemctl --user "
        "enable --now warder.socket`. Its policies: /usr/lib/warder/user-policies and ~/.config/warder/policies. Its "
        "options: WARDERD_OPTIONS in ~/.config/warder/options."},
       {"exit status",
        "0 after SIGTERM or SIGINT; 1 if the daemon cannot serve on this machine, or its jailer ended; 64 if a flag, "
        "the configuration, a policy or a folder is not valid."},
       {"see also", "warder(1), org.warder.Warder1(5), busctl(1), systemctl(1), systemd.resource-control(5)"}}};
  return text;
}

const ManualText& text_of_bus() {
  static const ManualText text{
      5,
      "warderd on D-Bus",
      {{"description",
        "warderd --bus system owns this name on the system bus; a call starts the daemon. The object "
        "/org/warder/Warder1 is the Manager, and lists the other objects by org.freedesktop.DBus.ObjectManager: "
        "/org/warder/Warder1/execution/ID while an execution waits or runs and for one minute after its end, "
        "/org/warder/Warder1/tenant/NAME for each tenant that has connected. Programs are started over MCP, never over "
        "D-Bus."},
       {"examples",
        "busctl tree org.warder.Warder1\n\n"
        "busctl get-property org.warder.Warder1 /org/warder/Warder1 org.warder.Warder1.Manager Running Outcomes\n\n"
        "busctl call org.warder.Warder1 /org/warder/Warder1 org.warder.Warder1.Manager KillExecution s ID"}}};
  return text;
}

std::string page_of_bus(int count, char** files) {
  std::vector<docgen::Interface> interfaces;
  for (int i = 0; i < count; i++) {
    std::ifstream in(files[i]);
    const std::string xml(std::istreambuf_iterator<char>(in), {});
    auto interface = docgen::read_interface(xml);
    if (!interface) {
      std::fprintf(stderr, "%s: %s\n", files[i], interface.error().what.c_str());
      return {};
    }
    interfaces.push_back(*std::move(interface));
  }
  return docgen::interface_page(interfaces, text_of_bus());
}

docgen::Description describe_warder() {
  CLI::App app(cli::kDescription, "warder");
  cli::Arguments arguments;
  (void)cli::declare(app, arguments);
  return docgen::describe(app);
}

docgen::Description describe_warderd() {
  CLI::App app(kDaemonDescription, "warderd");
  app.set_version_flag("--version", "");
  Flags flags;
  declare_flags(app, flags);
  return docgen::describe(app);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc >= 2 ? argv[1] : "";
  std::string text;
  if (name == "warder.1") text = docgen::manual_page(describe_warder(), text_of_warder());
  if (name == "warderd.8") text = docgen::manual_page(describe_warderd(), text_of_warderd());
  if (name == "warder.bash") text = docgen::bash_completion(describe_warder());
  if (name == "org.warder.Warder1.5" && argc > 2) text = page_of_bus(argc - 2, argv + 2);
  if (text.empty()) {
    std::fputs("usage: warder-docgen warder.1|warderd.8|warder.bash|org.warder.Warder1.5 FILE...\n", stderr);
    return 2;
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

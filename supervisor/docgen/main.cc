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
        "WARDER_SOCKET: the daemon's socket, where --socket is not given.\n\nWARDER_BUS: the bus that the daemon is "
        "on, "
        "where --bus is not given.\n\nXDG_RUNTIME_DIR: where a daemon of one's own listens."},
       {"files",
        "/run/warder/mcp.sock: the socket of the system's daemon.\n\n/usr/lib/warder/policies, /etc/warder/policies: "
        "what tenants may do; a file of the second masks that of the same name in the first."},
       {"exit status",
        "Each command's own, as said above. Of all: 0; 1 for what was refused or not found; 2 for a command line that "
        "cannot be understood; 125 where no daemon answers."},
       {"see also", "warderd(8), org.warder.Warder1(5), busctl(1), systemctl(1), journalctl(1)"}}};
  return text;
}

const ManualText& text_of_warderd() {
  static const ManualText text{
      8,
      "runs the code of AI agents in jails, over MCP",
      {{"files",
        "/run/warder/mcp.sock: where it serves, started as root; a user's daemon: $XDG_RUNTIME_DIR/warder/mcp.sock.\n\n"
        "/var/lib/warder: workspaces, records, keys; a user's: $XDG_STATE_HOME/warder.\n\n"
        "/usr/lib/warder/policies, /etc/warder/policies: what tenants may do; a file of the second masks that of the "
        "same name in the first.\n\n"
        "/etc/default/warder: WARDERD_OPTIONS of the service."},
       {"exit status",
        "0 after SIGTERM or SIGINT; 1 when it cannot serve here, or its jailer ended; 64 when a flag, the "
        "configuration, a policy or a folder cannot be used."},
       {"see also", "warder(1), org.warder.Warder1(5), busctl(1), systemctl(1), systemd.resource-control(5)"}}};
  return text;
}

const ManualText& text_of_bus() {
  static const ManualText text{
      5,
      "warderd on D-Bus",
      {{"description",
        "warderd --bus system has this name on the system bus; a call starts it. The object /org/warder/Warder1 is the "
        "Manager, and lists the others by org.freedesktop.DBus.ObjectManager: /org/warder/Warder1/execution/ID while "
        "an "
        "execution waits or runs and for a minute after, /org/warder/Warder1/tenant/NAME for each tenant that has "
        "connected. Programs are run over MCP, never over D-Bus."},
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

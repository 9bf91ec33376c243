#include "supervisor/flags.h"

#include <CLI/CLI.hpp>

void declare_flags(CLI::App& app, Flags& flags) {
  app.add_option("--config", flags.config, "Configuration file (JSON)")->type_name("FILE");
  app.add_option("--socket", flags.socket, "Unix socket to serve MCP on")->type_name("PATH");
  app.add_option("--state", flags.state, "Folder of tenants' files and records")->type_name("DIR");
  app.add_option("--policies", flags.policies, "Folder of policies, instead of the installed ones")->type_name("DIR");
  app.add_option("--catalog", flags.catalog, "Folder of tool definitions")->type_name("DIR");
  app.add_option("--bus", flags.bus, "D-Bus: system, session, off, or an address")->type_name("BUS");
  app.add_option("--journal", flags.journal,
                 "Answers wait until their record is on the disk (durable) or written (buffered)")
      ->type_name("durable|buffered");
  app.add_option("--log-level", flags.log_level, "From which level on something is logged")
      ->type_name("error|warning|notice|info|debug");
  app.add_option("--metrics", flags.metrics, "Unix socket to serve OpenMetrics text on, to the daemon's user and group")
      ->type_name("PATH");
  app.add_option("--traces", flags.traces,
                 "Collector that executions' spans are sent to, by OTLP/HTTP: http://HOST:PORT, https://..., "
                 "unix:///SOCKET")
      ->type_name("URL");
  app.add_flag("--keep-connections", flags.keep_connections,
               "Leave clients' connections with systemd over a restart (FileDescriptorStoreMax=)");
  app.footer("Signals: SIGHUP reloads the policies, SIGTERM ends after the running calls.");
}

#include "supervisor/flags.h"

#include <CLI/CLI.hpp>

void declare_flags(CLI::App& app, Flags& flags) {
  app.add_option("--config", flags.config,
                 "The configuration file, in JSON, with the folder FILE.d/ of further files. Default: "
                 "/etc/warder/warderd.json; of an ordinary user, $XDG_CONFIG_HOME/warder/warderd.json")
      ->type_name("FILE");
  auto* check = app.add_flag("--check", flags.check,
                             "Read the configuration and the policies as a start does, print every problem, and end: "
                             "exit status 1 if there is one. Makes no change");
  app.add_flag("--reload", flags.reload,
               "Make the running daemon of this state folder reload, wait, and end: exit status 1 if the reload failed")
      ->excludes(check);
  app.add_option("--socket", flags.socket, "The Unix socket that serves MCP")->type_name("PATH");
  app.add_option("--state", flags.state, "The folder for the tenants' files and the daemon's records")
      ->type_name("DIR");
  app.add_option(
         "--policies", flags.policies,
         "The folder with policies, instead of the installed policies; several: DIR:DIR, and a later one replaces "
         "files of the same name")
      ->type_name("DIR");
  app.add_option("--catalog", flags.catalog,
                 "The folder with definitions of further tools (default: /etc/warder/catalog, if it exists)")
      ->type_name("DIR");
  app.add_option("--bus", flags.bus, "The D-Bus bus to serve on: system, session, off or an address")->type_name("BUS");
  app.add_option("--journal", flags.journal,
                 "An answer waits until its record is on the disk (durable) or written to the file (buffered)")
      ->type_name("durable|buffered");
  app.add_option("--log-level", flags.log_level, "The lowest logged level")
      ->type_name("error|warning|notice|info|debug");
  app.add_option("--metrics", flags.metrics,
                 "The Unix socket that serves OpenMetrics text to the daemon's user and group, or 127.0.0.1:PORT or "
                 "[::1]:PORT, which serves it to every user of this machine, without the tenants")
      ->type_name("PATH|ADDRESS");
  app.add_option(
         "--http", flags.http,
         "Serve MCP over HTTP at this address of the machine itself, too, with tokens only; several: repeat the "
         "flag. Other addresses: \"http\" in the configuration. The Unix socket takes HTTP without this flag")
      ->type_name("ADDRESS:PORT")
      ->allow_extra_args(false);
  app.add_option("--traces", flags.traces,
                 "The collector that receives the spans of executions, by OTLP/HTTP: http://HOST:PORT, https://..., "
                 "unix:///SOCKET")
      ->type_name("URL");
  app.add_flag("--keep-connections", flags.keep_connections,
               "Store the clients' connections in systemd while the daemon restarts (FileDescriptorStoreMax=)");
  app.footer(
      "Signals: SIGHUP reloads the configuration and the policies. SIGTERM ends the daemon after the running calls.");
}

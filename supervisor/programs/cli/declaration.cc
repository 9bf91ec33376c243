#include "supervisor/programs/cli/declaration.h"

#include <CLI/CLI.hpp>

#include "supervisor/base/version.h"
#include "supervisor/programs/cli/admin/declare.h"

namespace cli {
namespace {

CLI::App* declare_run(CLI::App& app, RunArguments& arguments) {
  auto* command = app.add_subcommand("run",
                                     "Run one program. Exit status: that of the program; 1 error, 124 timeout, 137 out "
                                     "of memory, 125 no daemon answers");
  auto* file = command->add_option("file", arguments.file, "The file with the program; '-' reads standard input")
                   ->type_name("FILE");
  command->add_option("-c", arguments.code, "The code of the program")->type_name("CODE")->excludes(file);
  command
      ->add_option("-l,--language", arguments.language,
                   "python, javascript, typescript or shell; default: by the name of FILE")
      ->check(CLI::IsMember({"python", "javascript", "typescript", "shell"}));
  command->add_option("--timeout", arguments.timeout, "Wall-clock limit")->type_name("SECONDS");
  command->add_option("--memory", arguments.memory, "Memory limit")->type_name("MB");
  command->add_option("--context", arguments.context, "A variable for the program; VALUE may be JSON")
      ->type_name("NAME=VALUE")
      ->take_all();
  command
      ->add_option(
          "--workflow", arguments.workflow,
          "The workflow that the program uses: its steps are forgotten when the program has succeeded, so that "
          "the next run begins again; after a failure the next run continues")
      ->type_name("NAME");
  command->add_flag("--json", arguments.json, "Print the answer as JSON; pictures and links are its member `content`");
  command->add_flag("--receipt", arguments.receipt,
                    "Print the receipt, the protections of the jail, on standard error");
  return command;
}

}  // namespace

WarderCommands declare(CLI::App& app, Arguments& arguments) {
  app.set_version_flag("--version", std::string("warder ") + kWarderVersion);
  app.require_subcommand(1);
  app.fallthrough();
  admin::declare_socket(app, arguments.socket);
  WarderCommands commands{};
  commands.mcp = app.add_subcommand("mcp", "Speak MCP on standard input and output. MCP clients start this command");
  commands.run = declare_run(app, arguments.run);
  commands.agent = declare_agent(app, arguments.agent);
  commands.config = app.add_subcommand("config", "Print the configuration entry that connects an MCP client to Warder");
  auto* client = commands.config->add_option("client", arguments.client, "The name of the client, from --list")
                     ->type_name("CLIENT");
  commands.config
      ->add_option("--http", arguments.http_url,
                   "The entry of a client that connects to this URL with a token, instead of starting warder mcp")
      ->type_name("URL");
  commands.config->add_flag("--list", arguments.list_clients, "List the known clients")->excludes(client);
  admin::declare_commands(app, arguments.admin);
  return commands;
}

}  // namespace cli

// `warder ps` and `warder kill`.
#include <cstdio>

#include "supervisor/cli/admin/bus_client.h"
#include "supervisor/cli/admin/command.h"
#include "supervisor/cli/admin/executions.h"
#include "supervisor/cli/terminal.h"

namespace admin {

Result<int> run_ps(const Given& given) {
  TRY(BusClient warderd, BusClient::connect(given.bus));
  TRY(auto all, warderd.executions());
  if (!given.has("all")) std::erase_if(all, [](const Json& execution) { return text(execution, "State") == "ended"; });
  if (given.json) {
    print_json(Json(all));
    return 0;
  }
  for (const auto& line : executions_table(all, terminal_width())) std::printf("%s\n", line.c_str());
  return 0;
}

Result<int> run_kill(const Given& given) {
  TRY(BusClient warderd, BusClient::connect(given.bus));
  Json told = Json::array();
  int status = 0;
  for (const auto& id : given.words) {
    auto killed = warderd.call(kPath, kManager, "KillExecution", {"s", {id}});
    if (!killed && killed.error().code == Code::unavailable) return tl::unexpected<Error>(std::move(killed).error());
    told.push_back({{"id", id}, {"killed", killed.has_value()}});
    if (killed) continue;
    status = 1;
    told.back()["error"] = killed.error().what;
    if (!given.json) cli::print_text(stderr, "warder kill: " + id + ": " + killed.error().what + "\n");
  }
  if (given.json) print_json(told);
  return status;
}

}  // namespace admin

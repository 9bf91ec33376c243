// `warder approvals`, `warder approve` and `warder deny`.
#include <cstdio>

#include "supervisor/cli/admin/bus_client.h"
#include "supervisor/cli/admin/command.h"
#include "supervisor/cli/admin/text.h"
#include "supervisor/cli/terminal.h"

namespace admin {
namespace {

Result<int> decide(const Given& given, const char* word, const char* method, const std::string& reason) {
  TRY(BusClient warderd, BusClient::connect(given.bus));
  const bool denies = std::string_view(method) == "Deny";
  Json told = Json::array();
  int status = 0;
  for (const auto& id : given.words) {
    BusClient::Arguments arguments{"s", {id}};
    if (denies) arguments = {"ss", {id, reason}};
    auto done = warderd.call(kPath, kManager, method, arguments);
    if (!done && done.error().code == Code::unavailable) return tl::unexpected<Error>(std::move(done).error());
    told.push_back({{"id", id}, {"done", done.has_value()}});
    if (done) continue;
    status = 1;
    told.back()["error"] = done.error().what;
    if (!given.json)
      cli::print_text(stderr, std::string("warder ") + word + ": " + id + ": " + done.error().what + "\n");
  }
  if (given.json) print_json(told);
  return status;
}

}  // namespace

Result<int> run_approvals(const Given& given) {
  TRY(BusClient warderd, BusClient::connect(given.bus));
  if (!given.has("all")) warderd.ask_nobody_to_authenticate();  // a user may list its own calls
  TRY(const Json all, warderd.call(kPath, kManager, "ListApprovals"));
  if (given.json) {
    print_json(all);
    return 0;
  }
  for (const Json& one : all) {
    const auto execution = text(one, "Execution"), why = text(one, "Why");
    std::string shown = text(one, "Id") + "  " + text(one, "Tool") + " " + text(one, "Arguments") + "\n    tenant " +
                        text(one, "Tenant") + ", " + (execution.empty() ? "a direct call" : "execution " + execution) +
                        ", " + text(one, "Rule") + (why.empty() ? "" : ": " + why) + "\n";
    cli::print_text(stdout, shown);
  }
  return 0;
}

Result<int> run_approve(const Given& given) { return decide(given, "approve", "Approve", ""); }
Result<int> run_deny(const Given& given) { return decide(given, "deny", "Deny", given.value("reason", "")); }

}  // namespace admin

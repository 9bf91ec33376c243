// The MCP server as a part of the daemon. It is destroyed before the services that its handlers use. When parts that
// add tools are destroyed before it, their handlers are not called any more, because the connections have ended.
#include "jail/host.h"
#include "policies/policy_parts.h"
#include "supervisor/base/version.h"
#include "supervisor/daemon/absent_annexes.h"
#include "supervisor/executions/runs/execute_environment.h"
#include "supervisor/executions/skill_stores/tenant_skills.h"
#include "supervisor/operations/metrics/text.h"
#include "supervisor/parts.h"
#include "supervisor/protocol/mcp/server.h"
#include "supervisor/tenants/requester.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tools/execution/shown_limits.h"
#include "supervisor/tools/nearest_tool.h"
#include "supervisor/tools/proposals/commit_workspace.h"

namespace {

constexpr char kInstructions[] =
    "Run code in isolated, single-use jails next to your data instead of calling tools one by one: execute_code runs "
    "Python, JavaScript or shell with files in a persistent /workspace, and returns only what the code computes. "
    "Filter and summarise large data in code; keep intermediate results in files. search_tools finds other servers' "
    "tools and saved skills; save_skill keeps code for `from skills import name`. ";
constexpr char kWorkflowInstructions[] =
    "Long work: a finished step of warder.workflow in code is kept over failures and restarts, and does not run "
    "again. ";
constexpr char kPiiInstructions[] =
    "sanitize_pii, and tokenize_pii in code, put tokens in the place of personal data before you read it.";

mcp::ServerInfo server_info() {
  mcp::ServerInfo info;
  info.name = "warder";
  info.version = kWarderVersion;
  info.title = "Warder";
  const std::string of_workflows = is_annex_absent("workflows") ? "" : kWorkflowInstructions;
  info.instructions = kInstructions + of_workflows + kPiiInstructions;
  return info;
}

// Which tools a client sees, and their limits in the definitions.
void choose_tools(mcp::Server& server) {
  using User = std::shared_ptr<mcp::ConnectionUser>;
  server.set_tool_choice([](const User& user) -> std::function<bool(std::string_view)> {
    const auto policy = tenants::member_of(user).policy;
    const bool hides_commit = !tools::offers_commit(*policy);
    if (policies::offers_every_tool(*policy) && !hides_commit) return nullptr;
    return [policy, hides_commit](std::string_view name) {
      return policies::offers_tool(*policy, name) && !(hides_commit && name == "commit_workspace");
    };
  });
  server.set_tool_variants([](const User& user) { return tools::shown_limits(*tenants::member_of(user).policy); },
                           tools::show_limits);
}

// The part needs execute_code's services and the skills only to be destroyed before them: its handlers use them.
class ServerPart final : public Part, public Drainer, public MetricSource {
 public:
  explicit ServerPart(Loop& loop) : server_(loop, server_info()) {}

  static Result<std::unique_ptr<ServerPart>> open(jail::Host& host, runs::ExecuteEnvironment&,
                                                  skill_stores::TenantSkills&) {
    auto part = std::make_unique<ServerPart>(host.loop);
    part->server_.set_work(host.work);
    part->server_.set_loop_shares(host.shares);
    part->server_.set_nearest_tool(tools::nearest_tool);
    choose_tools(part->server_);
    return part;
  }
  std::tuple<mcp::Server&> services() { return {server_}; }

  void refuse_calls() override { server_.drain(); }
  Task<> finish_calls() override { return server_.drained(); }

  void write_metrics(metrics::OpenMetricsText& text, Reader) const override {
    text.family("warder_unread_bytes", "gauge", "bytes", "Answers that clients have not read.");
    text.sample("", {}, server_.unread()->bytes());
  }

 private:
  mcp::Server server_;
};

}  // namespace

PartEntry server_part() { return part_entry_of("MCP server", ServerPart::open); }

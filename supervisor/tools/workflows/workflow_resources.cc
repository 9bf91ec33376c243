#include "supervisor/tools/workflows/workflow_resources.h"

#include <fmt/format.h>

#include <charconv>

#include "supervisor/base/clock.h"
#include "supervisor/base/elapsed_clock.h"
#include "supervisor/base/json/json.h"
#include "supervisor/tenants/quota.h"
#include "supervisor/tenants/tenant.h"

namespace tools {
namespace {

using workflows::WorkflowDisk;
using workflows::WorkflowId;

constexpr uint32_t kMaxListedSteps = 1000;  // the last ones

tl::unexpected<Error> no_such_workflow() {
  return fail(Code::not_found, "this workflow or step does not exist",
              "resources are workflow:///<name> and workflow:///<name>/<position>, of workflows of this workspace");
}

// The time as people read it; `ms` since 1970.
std::string at(int64_t ms) { return iso_time(ms * 1'000'000); }

Json step_json(const WorkflowDisk::StepHead& head) {
  Json report = {{"position", head.step.position},
                 {"name", head.step.name},
                 {"state", workflows::state_name(head.step.state)},
                 {"attempts", head.step.attempts},
                 {"execution_id", head.step.execution},
                 {"ended_at", at(head.step.ended_ms)}};
  if (head.step.state == workflows::StepState::failed)
    report["error"] = head.step.value;
  else
    report["bytes"] = head.bytes;
  return report;
}

Task<Result<std::string>> read_workflow(workflows::WorkflowStore& store, WorkflowId id) {
  CO_TRY(const auto it, co_await store.disk().find(id));
  if (!it) co_return no_such_workflow();
  const std::string holder = store.holder(id);
  const uint32_t first = it->steps > kMaxListedSteps ? it->steps - kMaxListedSteps : 0;
  Json report = {{"workflow", id.name},
                 {"state", holder.empty() ? "idle" : "running"},
                 {"execution_id", holder.empty() ? it->execution : holder},
                 {"created_at", at(it->created_ms)},
                 {"updated_at", at(it->updated_ms)},
                 {"expires_at", at(wall_of_retention_ms(it->expires_ms))},
                 {"steps_recorded", it->steps},
                 {"bytes", it->bytes}};
  if (first > 0) report["first_shown"] = first;
  report["steps"] = Json::array();
  CO_TRY(const auto heads, co_await store.disk().heads(std::move(id), first, kMaxListedSteps));
  for (const auto& head : heads) report["steps"].push_back(step_json(head));
  co_return dump_json(report);
}

Task<Result<std::string>> read_step_value(workflows::WorkflowStore& store, WorkflowId id, std::string_view text) {
  uint32_t position = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), position);
  if (error != std::errc() || end != text.data() + text.size()) co_return no_such_workflow();
  CO_TRY(auto steps, co_await store.disk().steps(std::move(id), position, 1, UINT64_MAX));
  if (steps.empty()) co_return no_such_workflow();
  if (steps.front().state == workflows::StepState::failed)
    co_return dump_json(Json{{"error", std::move(steps.front().value)}});
  co_return std::move(steps.front().value);
}

Task<Result<std::vector<mcp::ResourceContents>>> read_of(workflows::WorkflowStore& store,
                                                         Result<tenants::Requester> requester, std::string uri) {
  if (!requester) co_return tl::unexpected<Error>(std::move(requester).error());
  if (!uri.starts_with(kWorkflowScheme)) co_return no_such_workflow();
  const std::string_view rest = std::string_view(uri).substr(kWorkflowScheme.size());
  const size_t slash = rest.find('/');
  WorkflowId id{requester->tenant->name(), std::string(rest.substr(0, slash))};
  if (!workflows::check_workflow_name(id.name)) co_return no_such_workflow();
  auto reading = slash == rest.npos ? read_workflow(store, std::move(id))
                                    : read_step_value(store, std::move(id), rest.substr(slash + 1));
  CO_TRY(std::string text, co_await std::move(reading));
  co_return mcp::json_contents(std::move(uri), std::move(text));
}

Task<Result<mcp::ResourcePage>> list_of(workflows::WorkflowStore& store, Result<tenants::Requester> requester) {
  if (!requester) co_return tl::unexpected<Error>(std::move(requester).error());
  CO_TRY(const auto all, co_await store.disk().list(requester->tenant->name()));
  mcp::ResourcePage page;
  for (const auto& item : all) {
    mcp::Resource resource;
    resource.uri = std::string(kWorkflowScheme) + item.name;
    resource.name = fmt::format("workflow {}, {} steps", item.name, item.workflow.steps);
    resource.mime_type = "application/json";
    page.resources.push_back(std::move(resource));
  }
  co_return page;
}

}  // namespace

mcp::ResourceProvider workflow_resources(const tenants::RequesterOf& requester_of, workflows::WorkflowStore& store) {
  mcp::ResourceProvider provider;
  provider.list = [requester_of, &store](mcp::RequestContext& context, std::string) {
    return list_of(store, requester_of(context));
  };
  provider.read = [requester_of, &store](mcp::RequestContext& context, std::string uri) {
    return read_of(store, requester_of(context), std::move(uri));
  };
  provider.prefixes = {std::string(kWorkflowScheme)};
  mcp::ResourceTemplate workflow;
  workflow.uri_template = std::string(kWorkflowScheme) + "{name}";
  workflow.name = "workflow";
  workflow.description = "The steps that a workflow of jailed code has recorded; with /<position> one step's value";
  workflow.mime_type = "application/json";
  provider.templates = {workflow};
  return provider;
}

Task<Result<Json>> delete_workflow(workflows::WorkflowStore& store, const tenants::Requester& requester,
                                   std::string uri) {
  const std::string name = uri.substr(kWorkflowScheme.size());
  workflows::WorkflowId id{requester.tenant->name(), name};
  CO_TRY(const auto removed, co_await store.remove(std::move(id)));
  requester.tenant->workspace().set_held(tenants::Holder::workflows, {removed.tenant_bytes, 0});
  Json answer = {{"success", true}, {"message", "Deleted workflow " + name + " with its recorded steps"}};
  co_return answer;
}

}  // namespace tools

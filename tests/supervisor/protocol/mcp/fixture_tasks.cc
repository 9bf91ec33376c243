#include "tests/supervisor/protocol/mcp/fixture_tasks.h"

#include <fmt/format.h>

#include <stdexcept>

#include "supervisor/protocol/mcp/context.h"
#include "supervisor/protocol/mcp/elicitation.h"

namespace {

using namespace std::chrono_literals;
using Support = mcp::ToolDefinition::Tasks;

constexpr char kConfirmForm[] =
    R"({"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]})";
constexpr char kUserNameForm[] = R"({"type":"object","properties":{"name":{"type":"string"}},"required":["name"]})";

mcp::ToolDefinition task_tool(std::string name, Support support, Json properties = Json::object()) {
  mcp::ToolDefinition definition;
  definition.name = std::move(name);
  definition.description = "For tests of tasks.";
  definition.input_schema = {{"type", "object"}, {"properties", std::move(properties)}};
  definition.tasks = support;
  return definition;
}

// A question that has been asked; `done` fires when it is answered.
struct TaskQuestion {
  Event done;
  mcp::Elicited answer;
  std::shared_ptr<mcp::Elicitation> question;
  TaskQuestion(mcp::RequestContext& context, std::string key, std::string schema) {
    mcp::ElicitationForm form;
    form.message = "Please answer " + key;
    form.key = std::move(key);
    form.schema = std::move(schema);
    question = context.elicit(std::move(form), [this](mcp::Elicited input) {
      answer = std::move(input);
      done.fire();
    });
    if (!question) done.fire();
  }
};

Task<> become_task_if_known(mcp::RequestContext& context) {
  if (!context.can_become_task()) co_return;
  auto done = co_await context.become_task();
  if (!done) throw std::runtime_error(done.error().what);
}

Task<mcp::ToolResult> slow_compute(mcp::RequestContext& context, Json arguments) {
  const std::chrono::milliseconds duration(static_cast<int64_t>(arguments.value("seconds", 0.0) * 1000));
  if (duration > 0ms) co_await become_task_if_known(context);
  co_await sleep_for(context.loop, duration);
  co_return mcp::ToolResult::text("computed " + arguments.value("label", ""));
}

Task<mcp::ToolResult> failing_job(mcp::RequestContext& context, Json) {
  co_await become_task_if_known(context);
  co_await sleep_for(context.loop, 1s);
  co_return mcp::ToolResult::error("the job failed");
}

Task<mcp::ToolResult> protocol_error_job(mcp::RequestContext& context, Json) {
  co_await become_task_if_known(context);
  co_await sleep_for(context.loop, 50ms);
  throw std::runtime_error("this job always fails in this way");
}

Task<mcp::ToolResult> confirm_delete(mcp::RequestContext& context, Json arguments) {
  co_await become_task_if_known(context);
  TaskQuestion question(context, "confirm", kConfirmForm);
  co_await question.done;
  const bool confirmed = question.answer.action == mcp::Elicited::Action::accept;
  co_return mcp::ToolResult::text((confirmed ? "deleted " : "kept ") + arguments.value("filename", ""));
}

Task<mcp::ToolResult> multi_input(mcp::RequestContext& context, Json) {
  co_await become_task_if_known(context);
  TaskQuestion first(context, "first", kUserNameForm), second(context, "second", kUserNameForm);
  co_await first.done;
  co_await second.done;
  co_return mcp::ToolResult::text("both were answered");
}

// Asks before it is a task.
Task<mcp::ToolResult> ask_then_task(mcp::RequestContext& context, Json) {
  TaskQuestion question(context, "user_name", kUserNameForm);
  co_await question.done;
  co_await become_task_if_known(context);
  co_await sleep_for(context.loop, 50ms);
  const Json& content = question.answer.content;
  const std::string name = content.is_object() && !content.empty() && content.begin()->is_string()
                               ? content.begin()->get<std::string>()
                               : "";
  co_return mcp::ToolResult::text("Hello, " + name);
}

}  // namespace

void add_task_fixtures(mcp::Server& server) {
  const Json text = {{"type", "string"}};
  server.add_tool(task_tool("greet", Support::forbidden, {{"name", text}}),
                  [](mcp::RequestContext&, Json arguments) -> Task<mcp::ToolResult> {
                    co_return mcp::ToolResult::text("Hello, " + arguments.value("name", "") + "!");
                  });
  server.add_tool(task_tool("slow_compute", Support::optional, {{"seconds", {{"type", "number"}}}, {"label", text}}),
                  slow_compute);
  server.add_tool(task_tool("failing_job", Support::required), failing_job);
  server.add_tool(task_tool("protocol_error_job", Support::optional), protocol_error_job);
  server.add_tool(task_tool("confirm_delete", Support::optional, {{"filename", text}}), confirm_delete);
  server.add_tool(task_tool("multi_input", Support::optional), multi_input);
  server.add_tool(task_tool("test_tool_with_task", Support::required), ask_then_task);
}

#include "tests/supervisor/protocol/mcp/fixture_questions.h"

#include <fmt/format.h>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/protocol/mcp/elicitation.h"

namespace {

using Kind = mcp::ElicitationForm::Kind;

constexpr char kNameForm[] = R"({"type":"object","properties":{"name":{"type":"string"}},"required":["name"]})";
constexpr char kColorForm[] = R"({"type":"object","properties":{"color":{"type":"string"}},"required":["color"]})";
constexpr char kOkForm[] = R"({"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]})";
constexpr char kContextForm[] =
    R"({"type":"object","properties":{"context":{"type":"string"}},"required":["context"]})";
constexpr char kUserForm[] =
    R"({"type":"object","properties":{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}},"required":["username","email"]})";
constexpr char kDefaultsForm[] =
    R"({"type":"object","properties":{"name":{"type":"string","description":"User name","default":"John Doe"},"age":{"type":"integer","description":"User age","default":30},"score":{"type":"number","description":"User score","default":95.5},"status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","description":"Verification status","default":true}},"required":[]})";
constexpr char kEnumsForm[] =
    R"({"type":"object","properties":{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}},"required":[]})";

mcp::ElicitationForm form_of(std::string key, std::string message, std::string schema) {
  mcp::ElicitationForm form;
  form.key = std::move(key);
  form.message = std::move(message);
  form.schema = std::move(schema);
  return form;
}

mcp::ElicitationForm sampling_of(std::string key, const std::string& prompt, int max_tokens) {
  mcp::ElicitationForm form;
  form.key = std::move(key);
  form.kind = Kind::sampling;
  const Json message = {{"role", "user"}, {"content", {{"type", "text"}, {"text", prompt}}}};
  form.params = {{"messages", Json::array({message})}, {"maxTokens", max_tokens}};
  return form;
}

mcp::ElicitationForm roots_of(std::string key) {
  mcp::ElicitationForm form;
  form.key = std::move(key);
  form.kind = Kind::roots;
  return form;
}

// One question, asked when it is made. `answer` is set when the client has answered; the client cannot be asked:
// unable.
struct Asked {
  Event done;
  mcp::Elicited answer;
  std::shared_ptr<mcp::Elicitation> question;
  Asked(mcp::RequestContext& context, mcp::ElicitationForm form) {
    question = context.elicit(std::move(form), [this](mcp::Elicited input) {
      answer = std::move(input);
      done.fire();
    });
    if (!question) done.fire();
  }
};

std::string displayed(const mcp::Elicited& answer) {
  static constexpr const char* kActions[] = {"accept", "decline", "cancel", "unable"};
  return fmt::format("action={}, content={}", kActions[static_cast<int>(answer.action)], dump_json(answer.content));
}

mcp::ToolDefinition tool(std::string name, Json properties = Json::object()) {
  mcp::ToolDefinition definition;
  definition.name = std::move(name);
  definition.description = "Asks the client.";
  definition.input_schema = {{"type", "object"}, {"properties", std::move(properties)}};
  return definition;
}

// A tool that asks its questions together, and answers with `before` and the answers. Questions that the client did not
// declare to answer are left out.
using Questions = std::function<std::vector<mcp::ElicitationForm>(const Json& arguments)>;
void add_tool(mcp::Server& server, mcp::ToolDefinition definition, std::string before, Questions questions) {
  server.add_tool(std::move(definition),
                  [before, questions](mcp::RequestContext& context, Json arguments) -> Task<mcp::ToolResult> {
                    std::vector<std::unique_ptr<Asked>> all;
                    for (auto& form : questions(arguments))
                      all.push_back(std::make_unique<Asked>(context, std::move(form)));
                    std::string text = before;
                    bool any = false;
                    for (const auto& request : all) {
                      co_await request->done;
                      if (!request->question) continue;
                      any = true;
                      text += " " + displayed(request->answer);
                    }
                    if (!any) co_return mcp::ToolResult::error("the client declared no capability to be asked");
                    co_return mcp::ToolResult::text(text);
                  });
}

void add_entry(mcp::Server& server, std::string name, std::string before, mcp::ElicitationForm form) {
  add_tool(server, tool(std::move(name)), std::move(before),
           [form](const Json&) { return std::vector<mcp::ElicitationForm>{form}; });
}

void add_legacy_tools(mcp::Server& server) {
  const Json text = {{"type", "string"}};
  const auto item = [](mcp::ElicitationForm form) { return std::vector<mcp::ElicitationForm>{std::move(form)}; };
  server.add_tool(tool("test_sampling", {{"prompt", text}}),
                  [](mcp::RequestContext& context, Json arguments) -> Task<mcp::ToolResult> {
                    Asked request(context, sampling_of({}, arguments.value("prompt", ""), 100));
                    co_await request.done;
                    const Json content = request.answer.content.value("content", Json::object());
                    if (!request.question || !content.is_object())
                      co_return mcp::ToolResult::error("the client cannot sample");
                    co_return mcp::ToolResult::text("LLM response: " + content.value("text", ""));
                  });
  add_tool(server, tool("test_elicitation", {{"message", text}}), "User response:", [item](const Json& arguments) {
    return item(form_of({}, arguments.value("message", ""), kUserForm));
  });
  add_entry(server, "test_elicitation_sep1034_defaults",
            "Elicitation completed:", form_of({}, "Please check.", kDefaultsForm));
  add_entry(server, "test_elicitation_sep1330_enums",
            "Elicitation completed:", form_of({}, "Please choose.", kEnumsForm));
}

void add_modern_tools(mcp::Server& server) {
  const std::string name = "test_input_required_result_";
  const auto user_name = form_of("user_name", "What is your name?", kNameForm);
  add_entry(server, name + "elicitation", "Hello:", user_name);
  add_entry(server, name + "sampling",
            "The answer:", sampling_of("capital_question", "What is the capital of France?", 100));
  add_entry(server, name + "list_roots", "The roots:", roots_of("client_roots"));
  add_entry(server, name + "request_state", "state-ok", form_of("confirm", "Please confirm", kOkForm));
  add_entry(server, name + "tampered_state", "state-ok", form_of("confirm", "Please confirm", kOkForm));
  add_entry(server, "test_streaming_elicitation", "Hello:", user_name);
  add_tool(server, tool(name + "multiple_inputs"), "All:", [user_name](const Json&) {
    return std::vector<mcp::ElicitationForm>{user_name, sampling_of("greeting", "Generate a greeting", 50),
                                             roots_of("client_roots")};
  });
  add_tool(server, tool(name + "capabilities"), "Declared:", [user_name](const Json&) {
    return std::vector<mcp::ElicitationForm>{user_name,
                                             sampling_of("capital_question", "What is the capital of France?", 100)};
  });
  server.add_tool(tool(name + "multi_round"), [](mcp::RequestContext& context, Json) -> Task<mcp::ToolResult> {
    Asked first(context, form_of("step1", "Step 1: What is your name?", kNameForm));
    co_await first.done;
    Asked second(context, form_of("step2", "Step 2: What is your favorite color?", kColorForm));
    co_await second.done;
    co_return mcp::ToolResult::text(displayed(first.answer) + " " + displayed(second.answer));
  });
  server.add_prompt({"test_input_required_result_prompt", "", "Asks for its context.", {}},
                    [](mcp::RequestContext& context, Json) -> Task<Result<mcp::PromptResult>> {
                      Asked request(context,
                                    form_of("user_context", "What context should the prompt use?", kContextForm));
                      co_await request.done;
                      mcp::PromptResult result;
                      result.messages.push_back({mcp::PromptMessage::Role::user, mcp::Text{displayed(request.answer)}});
                      co_return result;
                    });
}

// Tools that report a change of a list, which has not changed.
void add_triggers(mcp::Server& server) {
  server.set_tool_choice({});  // the lists of tools and prompts may change: clients may subscribe
  auto none = [](mcp::RequestContext&) -> Task<Result<std::vector<mcp::Prompt>>> {
    co_return std::vector<mcp::Prompt>();
  };
  auto unknown = [](mcp::RequestContext&, std::string, Json) -> Task<Result<mcp::PromptResult>> {
    co_return fail(Code::not_found, "no such prompt");
  };
  server.add_prompts({none, unknown, {}});
  const auto add = [&server](const char* name, mcp::Changed subject) {
    server.add_tool(tool(name), [&server, subject](mcp::RequestContext&, Json) -> Task<mcp::ToolResult> {
      server.lists_changed(subject);
      co_return mcp::ToolResult::text("reported");
    });
  };
  add("test_trigger_tool_change", mcp::Changed::tools);
  add("test_trigger_prompt_change", mcp::Changed::prompts);
}

}  // namespace

void add_asking_fixtures(mcp::Server& server) {
  add_legacy_tools(server);
  add_modern_tools(server);
  add_triggers(server);
  server.add_tool(tool("test_x_mcp_header", {{"region", {{"type", "string"}, {"x-mcp-header", "Region"}}},
                                             {"level", {{"type", "integer"}, {"x-mcp-header", "Level"}}}}),
                  [](mcp::RequestContext&, Json) -> Task<mcp::ToolResult> { co_return mcp::ToolResult::text("fine"); });
  server.add_tool(tool("test_reconnection"), [](mcp::RequestContext& context, Json) -> Task<mcp::ToolResult> {
    co_await sleep_for(context.loop, std::chrono::milliseconds(300));
    co_return mcp::ToolResult::text("Reconnection test completed successfully.");
  });
}

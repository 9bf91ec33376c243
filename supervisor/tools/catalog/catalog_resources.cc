#include "supervisor/tools/catalog/catalog_resources.h"

#include <fmt/format.h>

#include <set>

#include "jail/language.h"
#include "policies/policy_parts.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/percent.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/upstream/calls/call_context.h"

namespace tools {
namespace {

using CompletionKind = mcp::CompletionRequest::Kind;
using Catalog = std::shared_ptr<const catalog::Catalog>;

constexpr size_t kMaxToolsOffered = 100;  // the protocol's limit
constexpr char kPrompt[] = "solve_with_code";
constexpr const char* kLanguages[] = {"python", "javascript", "typescript", "shell"};

Task<Result<mcp::ResourcePage>> list_nothing() { co_return mcp::ResourcePage{}; }

Task<Result<std::vector<mcp::ResourceContents>>> read_tool(Catalog catalog, Work& work, Work::Owner owner,
                                                           std::string uri) {
  CO_TRY(const std::string path, decode_percent(std::string_view(uri).substr(kToolScheme.size())));
  const size_t slash = path.find('/');
  if (slash == path.npos)
    co_return fail(Code::not_found, "no tool has this URI", "as in " + std::string(kToolTemplate));
  std::function<Result<std::string>()> job = [catalog, path, slash]() -> Result<std::string> {
    const Json request{{"server", path.substr(0, slash)}, {"tool_name", path.substr(slash + 1)}};
    const auto tool_definition = get_tool_definition(*catalog, request);
    if (!tool_definition) return fail(Code::not_found, "no tool has this URI", "find it with search_tools");
    return dump_json(*tool_definition);
  };
  mcp::ResourceContents contents;
  CO_TRY(contents.data, co_await work.run(std::move(owner), 0, std::move(job)));
  contents.uri = std::move(uri);
  contents.mime_type = "application/json";
  std::vector<mcp::ResourceContents> all;
  all.push_back(std::move(contents));
  co_return all;
}

// Completes the name of a server, or of a tool. Tools are those of the chosen server; without one, of all servers.
mcp::Completion complete_tool(const catalog::Catalog& catalog, const mcp::CompletionRequest& request) {
  const auto chosen = request.resolved.find("server");
  const std::string server = chosen != request.resolved.end() && chosen->is_string() ? chosen->get<std::string>() : "";
  std::set<std::string_view> values, uncallable;
  for (uint32_t number = 0; number < catalog.size(); number++) {
    const catalog::ToolView tool = catalog.tool(number);
    const bool named = request.argument == "tool";
    if (tool.kind != catalog::ToolKind::tool || (named && !server.empty() && tool.server != server)) continue;
    const std::string_view value = named ? tool.name : tool.server;
    if (value.starts_with(request.value)) (tool.callable ? values : uncallable).insert(value);
  }
  for (std::string_view value : values) uncallable.erase(value);
  mcp::Completion completion;
  completion.total = values.size() + uncallable.size();
  for (const auto* all : {&values, &uncallable})
    for (std::string_view value : *all)
      if (completion.values.size() < kMaxToolsOffered) completion.values.emplace_back(value);
  return completion;
}

Task<Result<mcp::Completion>> complete_catalog(Catalog catalog, Work& work, Result<tenants::Requester> requester,
                                               mcp::CompletionRequest request) {
  if (!requester) co_return tl::unexpected<Error>(std::move(requester).error());
  if (request.kind == CompletionKind::resource && request.reference == kToolTemplate &&
      (request.argument == "server" || request.argument == "tool")) {
    std::function<Result<mcp::Completion>()> job = [catalog, request] { return complete_tool(*catalog, request); };
    auto completion = co_await work.run(calls::owner_of(*requester), 0, std::move(job));
    co_return completion;
  }
  if (request.kind != CompletionKind::prompt || request.reference != kPrompt ||
      (request.argument != "language" && request.argument != "task"))
    co_return fail(Code::not_found, "this reference or argument is not known");
  mcp::Completion completion;
  for (const char* language : kLanguages) {
    const bool fits = std::string_view(language).starts_with(request.value) &&
                      policies::allows_language(*requester->policy, language);
    if (request.argument == "language" && fits) completion.values.emplace_back(language);
  }
  completion.total = completion.values.size();
  co_return completion;
}

mcp::Prompt solve_with_code() {
  mcp::Prompt prompt;
  prompt.name = kPrompt;
  prompt.title = "Solve with code";
  prompt.description = "Solve a task by code in a jail, which searches for tools and returns a summary";
  mcp::PromptArgument task;
  task.name = "task";
  task.description = "The task";
  task.need = mcp::PromptArgument::Need::required;
  mcp::PromptArgument language;
  language.name = "language";
  language.description = "python, javascript, typescript or shell";
  prompt.arguments = {task, language};
  return prompt;
}

Task<Result<mcp::PromptResult>> solve(Json arguments) {
  const std::string language = arguments.value("language", "python");
  if (!jail::find_language(language))
    co_return fail(Code::invalid, "language: not python, javascript, typescript or shell", "name one of these");
  mcp::PromptMessage message;
  message.content = mcp::Text{fmt::format(
      "Do this with execute_code, in {}: find tools with search_tools where some are needed, call them from the code, "
      "keep data in its variables and in /workspace, and return only what answers the task.\n\n{}",
      language, arguments["task"].get<std::string>())};
  mcp::PromptResult result;
  result.description = "A task for code in a jail";
  result.messages.push_back(std::move(message));
  co_return result;
}

}  // namespace

void add_catalog_resources(mcp::Server& server, const discovery::CatalogOf& catalog_of,
                           const tenants::RequesterOf& requester_of, Work& work) {
  mcp::ResourceProvider provider;
  provider.prefixes = {std::string(kToolScheme)};
  provider.list = [](mcp::RequestContext&, std::string) { return list_nothing(); };
  provider.read = [catalog_of, &work](mcp::RequestContext& context, std::string uri) {
    return read_tool(catalog_of(), work, Work::Owner{context.principal.displayed()}, std::move(uri));
  };
  mcp::ResourceTemplate tool;
  tool.uri_template = kToolTemplate;
  tool.name = "tool definition";
  tool.description = "All about one tool of another server: its schemas, how to call it";
  tool.mime_type = "application/json";
  provider.templates = {tool};
  server.add_resources(std::move(provider));
  server.add_completion(
      [catalog_of, requester_of, &work](mcp::RequestContext& context, mcp::CompletionRequest request) {
        return complete_catalog(catalog_of(), work, requester_of(context), std::move(request));
      });
  server.add_prompt(solve_with_code(),
                    [](mcp::RequestContext&, Json arguments) { return solve(std::move(arguments)); });
}

}  // namespace tools

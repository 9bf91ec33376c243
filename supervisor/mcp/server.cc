#include "supervisor/mcp/server.h"

#include <algorithm>
#include <stdexcept>

#include "supervisor/base/json.h"
#include "supervisor/base/log.h"
#include "supervisor/mcp/arguments.h"
#include "supervisor/mcp/definitions.h"

using nlohmann::json;
using nlohmann::ordered_json;

namespace mcp {

namespace {

struct MethodRow {
  std::string_view name;
  Method method;
  bool legacy, modern;
  bool immediate;
};
constexpr MethodRow kMethods[] = {
    {"initialize", Method::initialize, true, false, true},
    {"ping", Method::ping, true, false, true},
    {"server/discover", Method::discover, false, true, true},
    {"logging/setLevel", Method::set_level, true, false, true},
    {"tools/list", Method::tools_list, true, true, true},
    {"tools/call", Method::tools_call, true, true, false},
    {"resources/list", Method::resources_list, true, true, false},
    {"resources/templates/list", Method::templates_list, true, true, true},
    {"resources/read", Method::resources_read, true, true, false},
    {"prompts/list", Method::prompts_list, true, true, true},
    {"prompts/get", Method::prompts_get, true, true, false},
    {"completion/complete", Method::complete, true, true, false},
};
constexpr size_t kMostCompletions = 100;  // the specification's limit

const MethodRow* row_of(std::string_view name) {
  for (const MethodRow& row : kMethods) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

auto refuse(ErrorCode code, std::string message, ordered_json data = {}) {
  return tl::unexpected(RpcError{code, std::move(message), std::move(data)});
}

// A failure of a handler that has no other words for it.
RpcError rpc_error(const Error& error) {
  const bool callers_fault = error.code == Code::invalid || error.code == Code::not_found;
  ordered_json data = {{"code", code_name(error.code)}};
  if (!error.rule.empty()) data["rule"] = error.rule;
  if (!error.hint.empty()) data["remedy"] = error.hint;
  return {callers_fault ? ErrorCode::invalid_params : ErrorCode::internal_error, error.what, std::move(data)};
}

tl::expected<std::string, RpcError> string_in(const json& object, const char* key, const char* shown) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) {
    return refuse(ErrorCode::invalid_params, fmt::format("Invalid params: {} must be a string", shown));
  }
  return found->get<std::string>();
}

RpcError bad_cursor() { return {ErrorCode::invalid_params, "Invalid params: unknown cursor", {}}; }

bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") == name.npos;
}

}  // namespace

Server::Server(Loop& loop, ServerInfo info) : loop_(loop), info_(std::move(info)) {
  append_server_info(identity_, info_, kNewestModern);
}

void Server::add_tool(ToolDefinition tool, ToolHandler handler) {
  if (tool.input_schema.is_null()) tool.input_schema = {{"type", "object"}};
  if (!is_tool_name(tool.name)) throw std::invalid_argument("bad tool name '" + tool.name + "'");
  if (!tool.input_schema.is_object() || tool.input_schema.value("type", "") != "object") {
    throw std::invalid_argument("input schema of '" + tool.name + "' is not an object's");
  }
  if (!tool_handlers_.emplace(tool.name, std::move(handler)).second) {
    throw std::invalid_argument("tool '" + tool.name + "' is registered twice");
  }
  tools_.push_back(std::move(tool));
  cache_.clear();
}

void Server::set_resources(ResourceProvider provider) {
  resources_ = std::move(provider);
  cache_.clear();
}

void Server::add_prompt(Prompt prompt, PromptHandler handler) {
  if (!prompt_handlers_.emplace(prompt.name, std::move(handler)).second) {
    throw std::invalid_argument("prompt '" + prompt.name + "' is registered twice");
  }
  prompts_.push_back(std::move(prompt));
  cache_.clear();
}

void Server::set_completion(CompletionHandler handler) {
  completion_ = std::move(handler);
  cache_.clear();
}

void Server::enable_logging() {
  logging_ = true;
  cache_.clear();
}

void Server::set_list_caching(Caching caching) {
  list_caching_ = caching;
  cache_.clear();
}

void Server::drain() { draining_ = true; }

Task<> Server::drained() {
  while (busy_ > 0) {
    idle_ = std::make_shared<Event>();
    std::shared_ptr<Event> idle = idle_;
    co_await *idle;
  }
}

Server::Busy::Busy(Server& server, Kind kind) : server_(server), kind_(kind) {
  server_.busy_++;
  if (kind_ == Kind::call) server_.calls_++;
}

Server::Busy::~Busy() {
  server_.busy_--;
  if (kind_ == Kind::call) server_.calls_--;
  if (server_.busy_ > 0 || !server_.idle_) return;
  server_.loop_.defer([idle = std::weak_ptr<Event>(server_.idle_)] {  // not now: a request's task is on the stack
    if (auto event = idle.lock()) event->fire();
  });
}

bool Server::offers(Method method) const {
  switch (method) {
    case Method::tools_list:
    case Method::tools_call:
      return !tools_.empty();
    case Method::resources_list:
    case Method::templates_list:
    case Method::resources_read:
      return resources_.has_value();
    case Method::prompts_list:
    case Method::prompts_get:
      return !prompts_.empty();
    case Method::complete:
      return completion_ != nullptr;
    case Method::initialize:
    case Method::ping:
    case Method::discover:
    case Method::set_level:
      return true;
  }
  return false;
}

std::optional<Method> Server::find_method(std::string_view name, Era era) const {
  const MethodRow* row = row_of(name);
  if (row == nullptr || !(era == Era::legacy ? row->legacy : row->modern) || !offers(row->method)) return {};
  return row->method;
}

bool Server::is_known(std::string_view name) { return row_of(name) != nullptr; }

bool Server::is_immediate(Method method) {
  for (const MethodRow& row : kMethods) {
    if (row.method == method) return row.immediate;
  }
  return false;
}

std::string Server::capabilities(Version version) const {
  ordered_json offered = ordered_json::object();
  if (!tools_.empty()) offered["tools"] = ordered_json::object();
  if (resources_) offered["resources"] = ordered_json::object();
  if (!prompts_.empty()) offered["prompts"] = ordered_json::object();
  if (completion_ && version >= Version::v2025_03_26) offered["completions"] = ordered_json::object();
  if (logging_) offered["logging"] = ordered_json::object();
  return dump_json(offered);
}

std::string Server::initialize_members(Version version) const {
  std::string members;
  append_key(members, "protocolVersion");
  append_json_string(members, version_name(version));
  append_key(members, "capabilities");
  members += capabilities(version);
  append_key(members, "serverInfo");
  append_server_info(members, info_, version);
  if (!info_.instructions.empty()) {
    append_key(members, "instructions");
    append_json_string(members, info_.instructions);
  }
  return members;
}

std::string Server::discover_members() const {
  std::string members;
  append_key(members, "supportedVersions");
  members += '[';
  append_json_string(members, version_name(kNewestModern));
  members += ']';
  append_key(members, "capabilities");
  members += capabilities(kNewestModern);
  if (!info_.instructions.empty()) {
    append_key(members, "instructions");
    append_json_string(members, info_.instructions);
  }
  finish_result(members, kNewestModern, identity_, {}, list_caching_);
  return members;
}

std::string Server::list_members(Method method, Version version) const {
  std::string members;
  Caching caching = list_caching_;
  if (method == Method::discover) return discover_members();
  if (method == Method::tools_list) append_list(members, "tools", tools_, version, append_tool);
  if (method == Method::prompts_list) append_list(members, "prompts", prompts_, version, append_prompt);
  if (method == Method::templates_list) {
    append_list(members, "resourceTemplates", resources_->templates, version, append_template);
    caching = resources_->caching;
  }
  finish_result(members, version, identity_, {}, caching);
  return members;
}

const std::string& Server::cached(Method method, Version version) {
  std::string& members = cache_[{method, version}];
  if (members.empty()) members = list_members(method, version);
  return members;
}

Server::Answer Server::answer_now(Method method, Version version, const json& params) {
  if (method == Method::ping) return std::string();
  const auto cursor = params.find("cursor");
  if (cursor != params.end() && !cursor->is_null()) return tl::unexpected(bad_cursor());  // each list is one page
  return cached(method, version);
}

Task<std::string> Server::answer(Method method, RequestContext& context, json params, size_t max_bytes) {
  Answer members = tl::unexpected(RpcError{ErrorCode::internal_error, "Internal error", {}});
  try {
    Answer answered = co_await answer_or_throw(method, context, std::move(params), max_bytes);
    members = std::move(answered);
  } catch (const std::exception& e) {
    log_error("bug in a handler of {}: {}", info_.name, e.what());
  } catch (...) {
    log_error("bug in a handler of {}: an exception that is no std::exception", info_.name);
  }
  if (members && members->size() > max_bytes) {
    members = refuse(ErrorCode::internal_error,
                     fmt::format("the answer has {} bytes, more than the {} that are sent at once; ask for less",
                                 members->size(), max_bytes));
  }
  if (!members) co_return error_line(context.id, members.error());
  co_return result_line(context.id, *members);
}

Task<Server::Answer> Server::answer_or_throw(Method method, RequestContext& context, json params, size_t max_bytes) {
  switch (method) {
    case Method::tools_call: {
      Answer answer = co_await call_tool(context, std::move(params), max_bytes);
      co_return answer;
    }
    case Method::resources_list: {
      Answer answer = co_await list_resources(context, std::move(params));
      co_return answer;
    }
    case Method::resources_read: {
      Answer answer = co_await read_resource(context, std::move(params));
      co_return answer;
    }
    case Method::prompts_get: {
      Answer answer = co_await get_prompt(context, std::move(params));
      co_return answer;
    }
    case Method::complete: {
      Answer answer = co_await complete(context, std::move(params));
      co_return answer;
    }
    default:
      break;
  }
  co_return answer_now(method, context.version, params);
}

Server::Answer Server::tool_answer(const RequestContext& context, const ToolResult& result, size_t max_bytes) const {
  size_t needed = least_size(result);
  std::string members;
  if (needed <= max_bytes) {
    members.reserve(needed + needed / 8 + 256);
    append_tool_result(members, result, context.version);
    finish_result(members, context.version, identity_, result.meta);
    needed = members.size();
  }
  if (needed <= max_bytes) return members;
  members.clear();
  const auto shorter = ToolResult::error(fmt::format(
      "The result has {} bytes, more than the {} that are sent at once. Ask for less: a range, a filter, or a file.",
      needed, max_bytes));
  append_tool_result(members, shorter, context.version);
  finish_result(members, context.version, identity_);
  return members;
}

Task<Server::Answer> Server::call_tool(RequestContext& context, json params, size_t max_bytes) {
  auto name = string_in(params, "name", "name");
  if (!name) co_return tl::unexpected(std::move(name).error());
  const auto handler = tool_handlers_.find(*name);
  if (handler == tool_handlers_.end()) {
    co_return refuse(ErrorCode::invalid_params, fmt::format("Unknown tool: {}", printable(*name, 128)));
  }
  const auto tool = std::find_if(tools_.begin(), tools_.end(), [&](const auto& t) { return t.name == *name; });

  json arguments = json::object();
  if (auto given = params.find("arguments"); given != params.end() && !given->is_null()) {
    if (!given->is_object()) co_return refuse(ErrorCode::invalid_params, "Invalid params: arguments must be an object");
    arguments = std::move(*given);
  }
  ordered_json missing = ordered_json::object();
  for (const std::string& capability : tool->client_capabilities) {
    if (!context.client->capabilities.contains(capability)) missing[capability] = ordered_json::object();
  }
  if (!missing.empty() && context.era() == Era::modern) {
    co_return refuse(ErrorCode::missing_client_capability,
                     fmt::format("tool '{}' needs capabilities that the client did not declare", *name),
                     {{"requiredCapabilities", std::move(missing)}});
  }
  if (!missing.empty()) {
    auto refused = ToolResult::error("This tool needs a client that can do: " + missing.begin().key());
    co_return tool_answer(context, refused, max_bytes);
  }
  if (draining_) {
    const Error stopping{Code::unavailable,
                         0,
                         "the server is shutting down and takes no new calls",
                         "call again in some seconds, when it has been restarted",
                         {}};
    co_return tool_answer(context, ToolResult::error(stopping), max_bytes);
  }
  if (auto problems = find_problems(tool->input_schema, arguments)) {
    co_return tool_answer(context, ToolResult::error(fmt::format("{}: {}", *name, *problems)), max_bytes);
  }
  ToolResult result = co_await handler->second(context, std::move(arguments));
  context.close();
  co_return tool_answer(context, result, max_bytes);
}

Task<Server::Answer> Server::list_resources(RequestContext& context, json params) {
  std::string cursor;
  if (auto given = params.find("cursor"); given != params.end() && !given->is_null()) {
    if (!given->is_string()) co_return tl::unexpected(bad_cursor());
    cursor = given->get<std::string>();
  }
  auto page = co_await resources_->list(context, std::move(cursor));
  if (!page) co_return tl::unexpected(rpc_error(page.error()));
  std::string members;
  append_list(members, "resources", page->resources, context.version, append_resource);
  if (!page->next_cursor.empty()) {
    append_key(members, "nextCursor");
    append_json_string(members, page->next_cursor);
  }
  finish_result(members, context.version, identity_, {}, resources_->caching);
  co_return members;
}

Task<Server::Answer> Server::read_resource(RequestContext& context, json params) {
  auto uri = string_in(params, "uri", "uri");
  if (!uri) co_return tl::unexpected(std::move(uri).error());
  auto contents = co_await resources_->read(context, *uri);
  if (!contents && contents.error().code != Code::not_found) co_return tl::unexpected(rpc_error(contents.error()));
  if (!contents || contents->empty()) {
    const bool modern = context.era() == Era::modern;
    co_return refuse(modern ? ErrorCode::invalid_params : ErrorCode::resource_not_found, "Resource not found",
                     {{"uri", *uri}});
  }
  std::string members;
  append_list(members, "contents", *contents, context.version,
              [](std::string& out, const ResourceContents& one, Version) { append_contents(out, one); });
  finish_result(members, context.version, identity_, {}, resources_->caching);
  co_return members;
}

Task<Server::Answer> Server::get_prompt(RequestContext& context, json params) {
  auto name = string_in(params, "name", "name");
  if (!name) co_return tl::unexpected(std::move(name).error());
  const auto handler = prompt_handlers_.find(*name);
  if (handler == prompt_handlers_.end()) {
    co_return refuse(ErrorCode::invalid_params, fmt::format("Unknown prompt: {}", printable(*name, 128)));
  }
  const auto prompt = std::find_if(prompts_.begin(), prompts_.end(), [&](const auto& p) { return p.name == *name; });
  json arguments = json::object();
  if (auto given = params.find("arguments"); given != params.end() && !given->is_null()) {
    if (!given->is_object()) co_return refuse(ErrorCode::invalid_params, "Invalid params: arguments must be an object");
    arguments = std::move(*given);
  }
  for (const auto& [key, value] : arguments.items()) {
    if (!value.is_string()) {
      co_return refuse(ErrorCode::invalid_params, fmt::format("Invalid params: argument '{}' must be a string", key));
    }
  }
  for (const PromptArgument& argument : prompt->arguments) {
    if (argument.need == PromptArgument::Need::required && !arguments.contains(argument.name)) {
      co_return refuse(ErrorCode::invalid_params,
                       fmt::format("Invalid params: argument '{}' is missing", argument.name));
    }
  }
  auto result = co_await handler->second(context, std::move(arguments));
  if (!result) co_return tl::unexpected(rpc_error(result.error()));
  std::string members;
  if (!result->description.empty()) {
    append_key(members, "description");
    append_json_string(members, result->description);
  }
  append_list(members, "messages", result->messages, context.version,
              [](std::string& out, const PromptMessage& message, Version version) {
                out += message.role == PromptMessage::Role::user ? R"({"role":"user","content":)"
                                                                 : R"({"role":"assistant","content":)";
                append_block(out, message.content, version);
                out += '}';
              });
  finish_result(members, context.version, identity_);
  co_return members;
}

Task<Server::Answer> Server::complete(RequestContext& context, json params) {
  const json nothing = json::object();
  auto object_in = [&](const json& from, const char* key) -> const json& {
    const auto found = from.find(key);
    return found != from.end() && found->is_object() ? *found : nothing;
  };
  const json& reference = object_in(params, "ref");
  const json& argument = object_in(params, "argument");
  CompletionRequest request;
  auto type = string_in(reference, "type", "ref.type");
  if (!type) co_return tl::unexpected(std::move(type).error());
  if (*type != "ref/prompt" && *type != "ref/resource") {
    co_return refuse(ErrorCode::invalid_params, "Invalid params: ref.type must be ref/prompt or ref/resource");
  }
  request.kind = *type == "ref/prompt" ? CompletionRequest::Kind::prompt : CompletionRequest::Kind::resource;
  auto target = string_in(reference, *type == "ref/prompt" ? "name" : "uri", "ref's name or uri");
  if (!target) co_return tl::unexpected(std::move(target).error());
  auto name = string_in(argument, "name", "argument.name");
  if (!name) co_return tl::unexpected(std::move(name).error());
  auto value = string_in(argument, "value", "argument.value");
  if (!value) co_return tl::unexpected(std::move(value).error());
  request.reference = *std::move(target);
  request.argument = *std::move(name);
  request.value = *std::move(value);
  request.resolved = object_in(object_in(params, "context"), "arguments");

  auto found = co_await completion_(context, std::move(request));
  if (!found) co_return tl::unexpected(rpc_error(found.error()));
  const bool has_more = found->values.size() > kMostCompletions || found->total.value_or(0) > found->values.size();
  if (found->values.size() > kMostCompletions) found->values.resize(kMostCompletions);
  ordered_json completion = {{"values", found->values}};
  if (found->total) completion["total"] = *found->total;
  completion["hasMore"] = has_more;
  std::string members;
  append_key(members, "completion");
  members += dump_json(completion);
  finish_result(members, context.version, identity_);
  co_return members;
}

}  // namespace mcp

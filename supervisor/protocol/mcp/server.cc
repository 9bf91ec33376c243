#include "supervisor/protocol/mcp/server.h"

#include <algorithm>
#include <stdexcept>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/large_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/tool_name.h"
#include "supervisor/protocol/mcp/arguments.h"
#include "supervisor/protocol/mcp/definitions.h"
#include "supervisor/protocol/mcp/parked_calls.h"
#include "supervisor/protocol/mcp/task_calls.h"

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
    {"resources/subscribe", Method::subscribe, true, false, true},
    {"resources/unsubscribe", Method::unsubscribe, true, false, true},
    {"subscriptions/listen", Method::listen, false, true, false},
    {"prompts/list", Method::prompts_list, true, true, false},
    {"prompts/get", Method::prompts_get, true, true, false},
    {"completion/complete", Method::complete, true, true, false},
    {"tasks/get", Method::tasks_get, true, true, false},
    {"tasks/update", Method::tasks_update, false, true, false},
    {"tasks/result", Method::tasks_result, true, false, false},
    {"tasks/list", Method::tasks_list, true, false, false},
    {"tasks/cancel", Method::tasks_cancel, true, true, false},
};

const MethodRow* row_of(std::string_view name) {
  for (const MethodRow& row : kMethods) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// Gemini CLI copies the text of a result without structured content into it, and gives its model both if the call
// failed (0.61, packages/core/src/tools/mcp-compliance-transport.ts). It replaces no object, also not an empty one.
bool doubles_failures(const ClientInfo& client) { return text_member(client.info, "name") == "gemini-cli-mcp-client"; }

}  // namespace

Server::Server(Loop& loop, ServerInfo info)
    : loop_(loop),
      info_(std::move(info)),
      subscriptions_(loop),
      unread_(std::make_shared<UnreadBudget>(loop)),
      parked_calls_(std::make_unique<ParkedCalls>(loop)) {
  append_server_info(identity_, info_, kNewestModern);
}

Server::~Server() = default;

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

void Server::add_resources(ResourceProvider provider) {
  if (provider.changes == ResourceProvider::Changes::reported) reported_.insert(Changed::resources);
  resources_.add(std::move(provider));
  cache_.clear();
}

void Server::add_prompt(Prompt prompt, PromptHandler handler) {
  prompts_.add(std::move(prompt), std::move(handler));
  cache_.clear();
}

void Server::add_prompts(PromptProvider provider) {
  reported_.insert(Changed::prompts);
  prompts_.add(std::move(provider));
  cache_.clear();
}

void Server::add_completion(CompletionHandler handler) {
  completions_.add(std::move(handler));
  cache_.clear();
}

void Server::add_extension(std::string name, Json settings) {
  extensions_[std::move(name)] = std::move(settings);
  cache_.clear();
}

void Server::add_method(std::string name, ExtensionHandler handler, std::optional<Caching> caching) {
  if (is_known(name)) throw std::invalid_argument("method '" + name + "' exists already");
  methods_.emplace(std::move(name), Extension{std::move(handler), caching});
}

void Server::enable_logging() {
  logging_ = true;
  cache_.clear();
}

void Server::lists_changed(Changed subject, const UserFilter& concerned) {
  subscriptions_.lists_changed(subject, concerned);
}

void Server::resource_updated(const std::string& uri, const UserFilter& concerned) {
  subscriptions_.resource_updated(uri, concerned);
}

void Server::drain() {
  draining_ = true;
  for (const auto& item : std::exchange(listening_, {})) {
    loop_.defer([item] {  // later: the caller of drain() may be a task itself
      const auto listening = item.lock();
      if (!listening) return;
      listening->is_ending = true;
      const auto wake = listening->wake;
      wake->fire();
    });
  }
}

Task<> Server::drained() {
  bool is_silent = false;
  uint64_t read = 0;
  std::optional<Deadline> silence;
  while (busy_ > 0) {
    idle_ = std::make_shared<Event>();
    const std::shared_ptr<Event> idle = idle_;
    if (calls_ > 0) {
      silence.reset();
    } else if (!silence || unread_->late_bytes_read() != read) {
      read = unread_->late_bytes_read();
      is_silent = false;
      silence.emplace(loop_, kMaxSilence, [this, &is_silent] {
        is_silent = true;
        wake_drained();
      });
    }
    co_await *idle;
    if (!is_silent || calls_ > 0 || unread_->late_bytes_read() != read) continue;
    log_warning("clients have not read their last answers for {} s, {} bytes in all: they lose them",
                kMaxSilence.count(), unread_->bytes());
    break;
  }
  idle_ = nullptr;
}

void Server::wake_drained() {
  if (!idle_) return;
  loop_.defer([idle = std::weak_ptr<Event>(idle_)] {  // later: a request's task, or a deadline, is on the stack
    if (auto event = idle.lock()) event->fire();
  });
}

Server::Busy::Busy(Server& server, Kind kind) : server_(server), kind_(kind) {
  server_.busy_++;
  if (kind_ == Kind::call) server_.calls_++;
}

Server::Busy::~Busy() {
  server_.busy_--;
  if (kind_ == Kind::call) server_.calls_--;
  if (server_.calls_ == 0) server_.wake_drained();
}

bool Server::offers(Method method) const {
  switch (method) {
    case Method::tools_list:
    case Method::tools_call:
      return !tools_.empty();
    case Method::resources_list:
    case Method::templates_list:
    case Method::resources_read:
      return !resources_.empty();
    case Method::prompts_list:
    case Method::prompts_get:
      return !prompts_.empty();
    case Method::complete:
      return !completions_.empty();
    case Method::subscribe:
    case Method::unsubscribe:
      return reported_.contains(Changed::resources);
    case Method::listen:
      return !reported_.empty() || task_calls_;
    case Method::tasks_get:
    case Method::tasks_update:
    case Method::tasks_result:
    case Method::tasks_list:
    case Method::tasks_cancel:
      return task_calls_ != nullptr;
    case Method::initialize:
    case Method::ping:
    case Method::discover:
    case Method::set_level:
    case Method::extension:
      return true;
  }
  return false;
}

std::optional<Method> Server::find_method(std::string_view name, Era era) const {
  if (methods_.contains(name)) return Method::extension;
  const MethodRow* row = row_of(name);
  if (row == nullptr || !(era == Era::legacy ? row->legacy : row->modern) || !offers(row->method)) return {};
  return row->method;
}

bool Server::is_known(std::string_view name) const { return row_of(name) != nullptr || methods_.contains(name); }

bool Server::is_immediate(Method method) {
  for (const MethodRow& row : kMethods) {
    if (row.method == method) return row.immediate;
  }
  return false;
}

Answer Server::answer_now(Method method, Version version, const std::shared_ptr<ConnectionUser>& user,
                          const Json& params) {
  if (method == Method::ping) return std::string();
  const auto cursor = cursor_in(params);
  if (!cursor || !cursor->empty()) return tl::unexpected(bad_cursor());  // each list is one page
  return cached(method, version, method == Method::tools_list ? choice_for(user) : std::string());
}

namespace {

// The task of a method that was answered without waiting.
Task<Answer> answered(Answer answer) { co_return answer; }

Task<Answer> redacted(std::shared_ptr<ResponseFilter> filter, RpcError error) {
  auto hidden = co_await redact_answer(std::move(filter), error);
  if (!hidden) error = {error.code, withheld({}).what, {}};
  co_return tl::unexpected(std::move(error));
}

Answer too_large(size_t bytes, size_t max_bytes) {
  return refuse(ErrorCode::internal_error,
                fmt::format("the answer has {} bytes, the limit is {}; ask for less data", bytes, max_bytes));
}

}  // namespace

Task<Answer> Server::answer(Method method, RequestContext& context, Json params, size_t max_bytes) {
  Answer members = tl::unexpected(RpcError{ErrorCode::internal_error, "Internal error", {}});
  try {
    if (interceptor_ && interceptor_->concerns(method, context)) {
      auto far = co_await interceptor_->answer(method, context, params, max_bytes);
      if (far && *far && (*far)->size() > max_bytes) far = too_large((*far)->size(), max_bytes);
      if (far) co_return *std::move(far);
    }
    if (response_filter_) context.response_filter = response_filter_(context);
    members = co_await handle(method, context, std::move(params), max_bytes);
  } catch (const std::exception& e) {
    log_error("bug in a handler of {}: {}", info_.name, e.what());
  } catch (...) {
    log_error("bug in a handler of {}: an exception that is not a std::exception", info_.name);
  }
  if (members && members->size() > max_bytes) members = too_large(members->size(), max_bytes);
  if (!members && context.response_filter) {
    RpcError error = std::move(members).error();
    members = co_await redacted(context.response_filter, std::move(error));
  }
  co_return members;
}

// Calls the handler of the method. This is no coroutine: each call would hold its memory, a subscription for days.
Task<Answer> Server::handle(Method method, RequestContext& context, Json params, size_t max_bytes) {
  switch (method) {
    case Method::tools_call:
      return call_tool(context, std::move(params), max_bytes);
    case Method::resources_list:
      return resources_.list(context, std::move(params), identity_);
    case Method::resources_read:
      return resources_.read(context, std::move(params), identity_);
    case Method::prompts_list:
      return prompts_.list(context, std::move(params), identity_, kListCaching);
    case Method::prompts_get:
      return prompts_.get(context, std::move(params), identity_);
    case Method::complete:
      return completions_.complete(context, std::move(params), identity_);
    case Method::listen:
      return listen(context, std::move(params));
    case Method::tasks_get:
    case Method::tasks_update:
    case Method::tasks_result:
    case Method::tasks_list:
    case Method::tasks_cancel:
      return task_method(method, context, std::move(params));
    case Method::extension:
      return call_extension(context, std::move(params));
    default:
      return answered(answer_now(method, context.version, context.user, params));
  }
}

Task<Answer> Server::call_extension(RequestContext& context, Json params) {
  const Extension& extension = methods_.find(context.method)->second;
  auto result = co_await extension.handler(context, std::move(params));
  if (!result) co_return tl::unexpected(rpc_error(result.error()));
  auto hidden = co_await redact_answer(context.response_filter, *result);
  if (!hidden) co_return tl::unexpected(rpc_error(hidden.error()));
  std::string members;
  for (const auto& [key, value] : result->items()) {
    append_key(members, key);
    members += dump_json(value);
  }
  finish_result(members, context.version, identity_, {}, extension.caching);
  co_return members;
}

Task<Answer> Server::call_tool(RequestContext& context, Json params, size_t max_bytes) {
  auto built = co_await tool_result(context, std::move(params));
  if (!built) co_return tl::unexpected(std::move(built).error());
  ToolResult& result = *built;
  if (result.is_error && doubles_failures(*context.client)) result.structured = Json::object();
  size_t needed = min_size(result);
  if (!context.task.empty()) {
    const size_t max = task_calls_->store().limits().result_bytes;
    if (needed > max / 2) result = shortened(std::move(result), needed, max / 16), needed = min_size(result);
    if (context.era() == Era::legacy) result.meta.merge(related_task(context.task));
  }
  context.note_answer_size(needed * copies_of_answer(context.response_filter));
  if (needed <= max_bytes) {  // a result too large to be sent is not redacted
    auto hidden = co_await redact_answer(context.response_filter, result);
    if (!hidden) {
      ToolResult failed = ToolResult::error(hidden.error());
      failed.meta = std::move(result.meta);
      result = std::move(failed);
    }
    needed = min_size(result);
  }
  std::string members;
  if (needed <= max_bytes && work_ && needed > Work::kSmall) {
    auto written = co_await write_beside(context, std::move(result), needed);
    if (!written) co_return tl::unexpected(rpc_error(written.error()));
    members = *std::move(written);
    needed = members.size();
  } else if (needed > max_bytes) {
    if (work_) work_->free_elsewhere(std::move(result));
  } else {
    const NamedWork named_work(LoopWork::answer);
    members.reserve(needed + needed / 8 + 256);
    append_tool_result(members, result, context.version);
    finish_result(members, context.version, identity_, result.meta);
    needed = members.size();
  }
  context.is_error = result.is_error || needed > max_bytes;
  if (needed <= max_bytes) co_return members;
  members.clear();
  const auto shorter =
      ToolResult::error(Error{Code::exhausted,
                              0,
                              fmt::format("the result has {} bytes, the limit is {}", needed, max_bytes),
                              "ask for less data: use a range, a filter, or a file",
                              {}});
  append_tool_result(members, shorter, context.version);
  finish_result(members, context.version, identity_);
  co_return members;
}

bool Server::queues(const Json& params) const {
  const auto name = params.find("name");
  if (name == params.end() || !name->is_string()) return false;
  const auto& requested = name->get_ref<const std::string&>();
  return std::any_of(tools_.begin(), tools_.end(),
                     [&](const auto& tool) { return tool.queues && tool.name == requested; });
}

const ToolDefinition* Server::find_tool(std::string_view name) const {
  const auto it = std::find_if(tools_.begin(), tools_.end(), [&](const auto& item) { return item.name == name; });
  return it == tools_.end() ? nullptr : &*it;
}

const Json* Server::input_schema(std::string_view tool) const {
  const ToolDefinition* found = find_tool(tool);
  return found ? &found->input_schema : nullptr;
}

RpcError Server::unknown_tool(const std::shared_ptr<ConnectionUser>& user, const std::string& name) const {
  RpcError error{ErrorCode::invalid_params, fmt::format("Unknown tool: {}", printable(name, 128)), {}};
  if (!nearest_tool_) return error;
  std::vector<std::string_view> offered;
  for (const ToolDefinition& tool : tools_)
    if (is_offered(user, tool.name)) offered.push_back(tool.name);
  const std::string_view nearest = nearest_tool_(name, offered);
  if (nearest.empty()) return error;
  error.message += fmt::format("; the nearest is {}", nearest);
  if (nearest == "call_tool" && name.find("__") != std::string::npos)  // a tool of an upstream server
    error.message += fmt::format(R"(: call it with {{"name": "{}", "arguments": {{...}}}})", printable(name, 128));
  error.data = {{"nearest", nearest}};
  return error;
}

std::optional<Error> Server::wrong_with(RequestContext& context, const ToolDefinition& tool,
                                        const CheckedArguments& checked) {
  if (!context.hold(checked.bytes)) {
    return Error{Code::exhausted,
                 0,
                 "your requests that run or wait take too much memory; this request did not run",
                 "wait for some answers, then send the request again",
                 {}};
  }
  if (!checked.problems) return {};
  return Error{Code::invalid, 0, fmt::format("{}: {}", tool.name, *checked.problems), {}, {}};
}

Task<tl::expected<ToolResult, RpcError>> Server::tool_result(RequestContext& context, Json params) {
  const FreesBeside frees(work_, params);
  auto name = string_in(params, "name", "name");
  if (!name) co_return tl::unexpected(std::move(name).error());
  const auto handler = tool_handlers_.find(*name);
  if (handler == tool_handlers_.end() || !is_offered(context.user, *name)) {
    co_return tl::unexpected(unknown_tool(context.user, *name));
  }
  const ToolDefinition* tool = find_tool(*name);
  if (tool->tasks == ToolDefinition::Tasks::required && task_calls_ && !context.can_become_task()) {
    if (context.era() == Era::modern) co_return tl::unexpected(tasks_not_declared());
    co_return refuse(ErrorCode::method_not_found, fmt::format("tool '{}' runs only as a task", *name));
  }
  auto arguments = arguments_in(params);
  if (!arguments) co_return tl::unexpected(std::move(arguments).error());
  Json missing = Json::object();
  for (const std::string& capability : tool->client_capabilities) {
    if (!context.client->capabilities.contains(capability)) missing[capability] = Json::object();
  }
  if (!missing.empty() && context.era() == Era::modern) {
    co_return refuse(ErrorCode::missing_client_capability,
                     fmt::format("tool '{}' needs capabilities that the client did not declare", *name),
                     {{"requiredCapabilities", std::move(missing)}});
  }
  if (!missing.empty()) {
    const Error lacks{Code::denied, 0, "this tool needs a client that can do: " + missing.begin().key(), {}, {}};
    co_return ToolResult::error(lacks);
  }
  if (draining_) co_return not_run_while_draining();
  FreedBeside freed_beside(work_, *std::move(arguments));
  CheckedArguments checked;
  if (work_ && (is_large(*freed_beside) || checking_.any_of(context.principal.name()))) {
    auto checked_call = co_await check_beside(context, *tool, std::move(*freed_beside));
    if (!checked_call) co_return ToolResult::error(checked_call.error());
    checked = std::move(checked_call->first);
    *freed_beside = std::move(checked_call->second);
    if (draining_) co_return not_run_while_draining();
  } else {
    const NamedWork named_work(LoopWork::arguments);
    checked = check_arguments(tool->input_schema, tool->spellings, *freed_beside);
  }
  if (auto wrong = wrong_with(context, *tool, checked)) co_return ToolResult::error(*wrong);
  if (observer_.started) observer_.started(context, *name, *freed_beside);
  ToolResult result = co_await handler->second(context, std::move(*freed_beside));
  context.close();
  if (observer_.answered) observer_.answered(context, *name, result);
  co_return std::move(result);
}

}  // namespace mcp

// Server: holds all registered tools, prompts, resources and methods, and answers every MCP method. It knows no
// sockets: each Conversation passes requests, each with a RequestContext. Register all definitions before the first
// connection. It must outlive tasks that wait for drained(), and every Listener and Connection that uses it.
// Errors: JSON-RPC errors for the client. An exception of a handler is a bug: it is logged, and the client gets the
// error "Internal error".
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/base/under_way.h"
#include "supervisor/base/work.h"
#include "supervisor/protocol/mcp/account.h"
#include "supervisor/protocol/mcp/answers.h"
#include "supervisor/protocol/mcp/arguments.h"
#include "supervisor/protocol/mcp/completions.h"
#include "supervisor/protocol/mcp/connection_user.h"
#include "supervisor/protocol/mcp/method.h"
#include "supervisor/protocol/mcp/prompts.h"
#include "supervisor/protocol/mcp/registry.h"
#include "supervisor/protocol/mcp/request_interceptor.h"
#include "supervisor/protocol/mcp/resources.h"
#include "supervisor/protocol/mcp/response_filter.h"
#include "supervisor/protocol/mcp/subscriptions.h"
#include "supervisor/protocol/mcp/unread.h"
#include "supervisor/protocol/tasks/task_store.h"

namespace mcp {

class ParkedCalls;
class TaskCalls;
struct TaskRules;

// The error for a client that does not know tasks.
RpcError tasks_not_declared();

class Server {
 public:
  Server(Loop& loop, ServerInfo info);
  ~Server();

  // Throws std::invalid_argument for a bad or repeated name, or a schema without "type": "object": a bug of the
  // program.
  void add_tool(ToolDefinition tool, ToolHandler handler);
  // Providers are asked in the order of registration.
  void add_resources(ResourceProvider provider);
  void add_prompt(Prompt prompt, PromptHandler handler);
  void add_prompts(PromptProvider provider);
  void add_completion(CompletionHandler handler);
  // capabilities.extensions[name] = settings (an object), for versions that have extensions.
  void add_extension(std::string name, Json settings);
  // Throws std::invalid_argument for a method that exists already. `caching` is sent to modern clients.
  void add_method(std::string name, ExtensionHandler handler, std::optional<Caching> caching = {});
  void observe_calls(CallObserver observer) { observer_ = std::move(observer); }
  // Which tools a connection's user is offered. Other tools are neither listed nor called. An empty function: all
  // tools. Clients learn that the choice may change; the program reports a change with lists_changed(Changed::tools).
  using ToolsOf =
      std::function<std::function<bool(std::string_view name)>(const std::shared_ptr<ConnectionUser>& user)>;
  void set_tool_choice(ToolsOf tools_of) {
    tools_of_ = std::move(tools_of);
    reported_.insert(Changed::tools);
  }
  // Finds the offered tool most similar to an unknown name; empty: no tool is similar. The error names the tool.
  using NearestTool =
      std::function<std::string_view(std::string_view name, const std::vector<std::string_view>& offered)>;
  void set_nearest_tool(NearestTool nearest) { nearest_tool_ = std::move(nearest); }
  // Changes tool definitions in a user's list; calls are still checked against the registered definition. `variant_of`
  // returns the name of the user's variant, any text. `adapt` changes a definition for that variant.
  using VariantOf = std::function<std::string(const std::shared_ptr<ConnectionUser>& user)>;
  using Adapt = std::function<void(ToolDefinition& tool, std::string_view variant)>;
  void set_tool_variants(VariantOf variant_of, Adapt adapt) {
    variant_of_ = std::move(variant_of);
    adapt_ = std::move(adapt);
  }
  // Large lines, arguments and results are processed by `work`, charged to their users. Without `work` they are
  // processed on the loop. `work` must outlive every connection.
  void set_work(Work& work) { work_ = &work; }
  // `shares` divides the loop's time between users and its other owners. It must outlive every connection.
  void set_loop_shares(LoopShares& shares) { loop_shares_ = &shares; }
  // Requests that `interceptor` answers are not answered here. It must outlive every connection.
  void set_interceptor(RequestInterceptor& interceptor) { interceptor_ = &interceptor; }
  // Makes the filter that redacts the texts of each request's answer.
  void set_response_filter(ResponseFilterOf response_filter) { response_filter_ = std::move(response_filter); }
  // Lets calls become tasks, which `store` keeps (task_calls.h). It must outlive the server.
  void set_tasks(tasks::TaskStore& store, TaskRules rules);
  // Declares that tools may log to the client. Deprecated since 2026-07-28, but legacy clients check it.
  void enable_logging();

  // Both notify the clients that subscribed to the change, and for which `concerned` is true.
  void lists_changed(Changed subject, const UserFilter& concerned = {});
  void resource_updated(const std::string& uri, const UserFilter& concerned = {});
  // `watch` is called for each resource that a client subscribes to.
  void watch_resources(Subscriptions::Watch watch) { subscriptions_.set_watch(std::move(watch)); }

  // Refuses new tools/call requests with an error. Requests that run continue; subscriptions end.
  void drain();
  bool draining() const { return draining_; }
  // Done when no request runs and every answer has been written (or its client has left), or when for kMaxSilence no
  // client has read enough of its last answer (some 160 kB) for its socket to take more. One waiter at a time.
  static constexpr std::chrono::seconds kMaxSilence{5};
  Task<> drained();
  // Requests in work, over all connections.
  size_t calls() const { return calls_; }

  // For connections.
  // The method with that name, if this era has it and the server offers it.
  std::optional<Method> find_method(std::string_view name, Era era) const;
  bool is_known(std::string_view name) const;
  // True for a method without a handler: Conversation answers it at once, by itself or with answer_now().
  static bool is_immediate(Method method);
  // The input schema of a registered tool; nullptr: there is no such tool.
  const Json* input_schema(std::string_view tool) const;
  // Whether params of a tools/call name a tool with ToolDefinition::queues.
  bool queues(const Json& params) const;
  Answer answer_now(Method method, Version version, const std::shared_ptr<ConnectionUser>& user, const Json& params);
  // Runs the handler and returns the answer's members. The caller adds the id that the client waits for by then. Never
  // throws. An answer larger than `max_bytes` becomes an error.
  Task<Answer> answer(Method method, RequestContext& context, Json params, size_t max_bytes);
  std::string initialize_members(Version version) const;
  const std::string& identity() const { return identity_; }  // the server's name as JSON text, for _meta

  Work* work() const { return work_; }
  LoopShares& loop_shares() { return *loop_shares_; }
  Subscriptions& subscriptions() { return subscriptions_; }
  // The memory of answers that clients have not read yet, over all connections.
  const std::shared_ptr<UnreadBudget>& unread() const { return unread_; }
  Accounts& accounts() { return accounts_; }
  // Calls that wait for their clients to repeat the request, of all principals.
  ParkedCalls& parked_calls() { return *parked_calls_; }
  // Calls that go on without their request; nullptr: set_tasks() was not called.
  TaskCalls* task_calls() { return task_calls_.get(); }
  bool may_be_task(const Json& params) const;
  tl::expected<std::optional<int64_t>, RpcError> requested_task_ttl(const Json& params) const;
  // The lists for which changes are reported to clients.
  const std::set<Changed>& reported() const { return reported_; }

  // While a Busy exists, the server is not drained.
  class Busy {
   public:
    enum class Kind { call, output };
    Busy(Server& server, Kind kind);
    ~Busy();
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    Server& server_;
    Kind kind_;
  };

 private:
  Task<Answer> handle(Method method, RequestContext& context, Json params, size_t max_bytes);
  Task<Answer> call_tool(RequestContext& context, Json params, size_t max_bytes);
  Task<Answer> call_extension(RequestContext& context, Json params);

  void wake_drained();

  // subscriptions/listen: listen.cc.
  Task<Answer> listen(RequestContext& context, Json params);
  tl::expected<void, RpcError> choose_tasks(const RequestContext& context, std::set<std::string>& ids) const;

  // Methods of tasks: task_methods.cc.
  Task<Answer> task_method(Method method, RequestContext& context, Json params);
  // The members of a task as tasks/get shows it, without those of every result.
  Task<Answer> task_members(RequestContext& context, std::string id);
  Task<Answer> task_result(RequestContext& context, std::string id);
  Answer list_tasks(const RequestContext& context, const Json& params) const;
  const ToolDefinition* find_tool(std::string_view name) const;

  bool offers(Method method) const;
  RpcError unknown_tool(const std::shared_ptr<ConnectionUser>& user, const std::string& name) const;
  static std::optional<Error> wrong_with(RequestContext& context, const ToolDefinition& tool,
                                         const CheckedArguments& checked);
  // Both process large values on a thread beside the loop (large_calls.cc). A user's calls keep their order.
  Task<Result<std::pair<CheckedArguments, Json>>> check_beside(const RequestContext& context,
                                                               const ToolDefinition& tool, Json arguments);
  Task<Result<std::string>> write_beside(const RequestContext& context, ToolResult result, size_t bytes);
  Task<tl::expected<ToolResult, RpcError>> tool_result(RequestContext& context, Json params);
  std::string capabilities(Version version) const;
  std::string discover_members() const;
  // `choice`: one character for each tool, '1' for a listed tool, else '0'; then the variant's name.
  std::string list_members(Method method, Version version, const std::string& choice) const;
  const std::string& cached(Method method, Version version, std::string choice);
  bool is_offered(const std::shared_ptr<ConnectionUser>& user, std::string_view tool) const;
  std::string choice_for(const std::shared_ptr<ConnectionUser>& user) const;

  Loop& loop_;
  ServerInfo info_;
  std::vector<ToolDefinition> tools_;  // in the order of registration, which is the order of the list
  std::map<std::string, ToolHandler, std::less<>> tool_handlers_;
  CallObserver observer_;
  Resources resources_;
  Prompts prompts_;
  Completions completions_;
  Subscriptions subscriptions_;
  std::shared_ptr<UnreadBudget> unread_;
  Accounts accounts_{unread_};
  std::set<Changed> reported_;
  struct Listening {                                          // one subscriptions/listen
    std::shared_ptr<Event> wake = std::make_shared<Event>();  // fired after a change of the members below
    bool is_ending = false;
    std::set<std::string> tasks;  // ids of tasks whose new state the client has not got
  };
  std::vector<std::weak_ptr<Listening>> listening_;
  struct Extension {
    ExtensionHandler handler;
    std::optional<Caching> caching;
  };
  std::map<std::string, Extension, std::less<>> methods_;
  Json extensions_ = Json::object();
  ResponseFilterOf response_filter_;
  RequestInterceptor* interceptor_ = nullptr;  // nullptr: this server answers all requests
  ToolsOf tools_of_;
  NearestTool nearest_tool_;
  VariantOf variant_of_;
  Adapt adapt_;
  Work* work_ = nullptr;
  LoopShares own_shares_{loop_};
  LoopShares* loop_shares_ = &own_shares_;
  UnderWay<std::string> checking_;  // calls of each principal with arguments in check_beside()
  bool logging_ = false;
  // The caching of the lists of tools and prompts by modern clients: 5 minutes.
  static constexpr Caching kListCaching{300'000, Caching::Scope::all_users};

  std::string identity_;                                                   // the server's name as JSON text, for _meta
  std::map<std::tuple<Method, Version, std::string>, std::string> cache_;  // members of lists, by choice
  bool draining_ = false;
  size_t calls_ = 0;
  size_t busy_ = 0;
  std::shared_ptr<Event> idle_;                // set while a task waits in drained()
  std::unique_ptr<TaskCalls> task_calls_;      // may be null
  std::unique_ptr<ParkedCalls> parked_calls_;  // destroyed first: its handlers use the members above
};

}  // namespace mcp

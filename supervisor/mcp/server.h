// Server: everything that is offered, and the answer to every method. Knows no sockets; connections bring it
// requests and a RequestContext each. Register all before the first connection.
// Must outlive the Loop's tasks that wait for drained(), and every Listener and Connection on it.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json_work.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/under_way.h"
#include "supervisor/mcp/account.h"
#include "supervisor/mcp/answers.h"
#include "supervisor/mcp/arguments.h"
#include "supervisor/mcp/completions.h"
#include "supervisor/mcp/prompts.h"
#include "supervisor/mcp/registry.h"
#include "supervisor/mcp/resources.h"
#include "supervisor/mcp/response_filter.h"
#include "supervisor/mcp/subscriptions.h"
#include "supervisor/mcp/unread.h"

namespace mcp {

enum class Method {
  initialize,
  ping,
  discover,
  set_level,
  tools_list,
  tools_call,
  resources_list,
  templates_list,
  resources_read,
  prompts_list,
  prompts_get,
  complete,
  subscribe,
  unsubscribe,
  listen,
  extension,  // one that a program has added
};

class Server {
 public:
  Server(Loop& loop, ServerInfo info);

  // Throws std::invalid_argument for a bad or repeated name, or a schema that is not an object's: our own bug.
  void add_tool(ToolDefinition tool, ToolHandler handler);
  // Providers are asked in the order of registration.
  void add_resources(ResourceProvider provider);
  void add_prompt(Prompt prompt, PromptHandler handler);
  void add_prompts(PromptProvider provider);
  void add_completion(CompletionHandler handler);
  // capabilities.extensions[name] = settings (an object), for versions that have extensions.
  void add_extension(std::string name, Json settings);
  // Throws std::invalid_argument for a method that exists already. With `caching`, modern clients are told it.
  void add_method(std::string name, ExtensionHandler handler, std::optional<Caching> caching = {});
  void observe_calls(CallObserver observer) { observer_ = std::move(observer); }
  // Which tools a connection's user is offered: others are neither listed nor called. Empty: all are. Clients are told
  // that the choice may change; lists_changed(Changed::tools) says when it has.
  using ToolsOf = std::function<std::function<bool(std::string_view name)>(const std::shared_ptr<void>& user)>;
  void set_tool_choice(ToolsOf tools_of) {
    tools_of_ = std::move(tools_of);
    told_.insert(Changed::tools);
  }
  // Which of the offered tools somebody means who calls one that there is not; empty: none. The error names it.
  using NearestTool =
      std::function<std::string_view(std::string_view name, const std::vector<std::string_view>& offered)>;
  void set_nearest_tool(NearestTool nearest) { nearest_tool_ = std::move(nearest); }
  // What a user's list shows of a tool otherwise than it is checked. `variant_of` names the variant of a user's list,
  // any text; `adapt` makes it of each definition.
  using VariantOf = std::function<std::string(const std::shared_ptr<void>& user)>;
  using Adapt = std::function<void(ToolDefinition& tool, std::string_view variant)>;
  void set_tool_variants(VariantOf variant_of, Adapt adapt) {
    variant_of_ = std::move(variant_of);
    adapt_ = std::move(adapt);
  }
  // Where lines of more than JsonWork::kSmall are read, on their users' accounts; without it: on the loop. It must
  // outlive every connection.
  void set_json_work(JsonWork& work) { json_work_ = &work; }
  // What parts the loop between users, and others who have a share in it. It must outlive every connection.
  void set_loop_shares(LoopShares& shares) { loop_shares_ = &shares; }
  // What looks at the texts of each request's answer before it leaves.
  void set_response_filter(ResponseFilterOf response_filter) { response_filter_ = std::move(response_filter); }
  // Says that tools may log to the client. Deprecated since 2026-07-28, but legacy clients look for it.
  void enable_logging();

  // To whoever asked to hear of it and is concerned.
  void lists_changed(Changed what, const Concerned& concerned = {});
  void resource_updated(const std::string& uri, const Concerned& concerned = {});
  // Asked for each resource that somebody subscribes to.
  void watch_resources(Subscriptions::Watch watch) { subscriptions_.set_watch(std::move(watch)); }

  // No new tools/call: they get an error that says so. What runs goes on; subscriptions end.
  void drain();
  bool draining() const { return draining_; }
  // Done when no request is being served and every answer has been written (or its client was lost).
  // One waiter at a time.
  Task<> drained();
  // Requests that handlers are working on, over all connections.
  size_t calls() const { return calls_; }

  // For connections.
  // The method of that name, if this era has it and we offer it.
  std::optional<Method> find_method(std::string_view name, Era era) const;
  bool is_known(std::string_view name) const;
  // True for what needs no handler: answered by answer_now() whatever else is going on.
  static bool is_immediate(Method method);
  // Whether params of a tools/call name a tool whose handler queues.
  bool queues(const Json& params) const;
  Answer answer_now(Method method, Version version, const std::shared_ptr<void>& user, const Json& params);
  // Ready to be sent, under whatever id the client waits for it by then. Never throws.
  Task<Answer> answer(Method method, RequestContext& context, Json params, size_t max_bytes);
  std::string initialize_members(Version version) const;
  const std::string& identity() const { return identity_; }  // our name as JSON text, for _meta

  JsonWork* json_work() const { return json_work_; }
  LoopShares& loop_shares() { return *loop_shares_; }
  Subscriptions& subscriptions() { return subscriptions_; }
  // Answers of all connections that are not read yet.
  const std::shared_ptr<UnreadBudget>& unread() const { return unread_; }
  Accounts& accounts() { return accounts_; }
  // The lists whose changes are told.
  const std::set<Changed>& told() const { return told_; }

  // While one lives, the server is not drained.
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
  Task<Answer> answer_or_throw(Method method, RequestContext& context, Json params, size_t max_bytes);
  Task<Answer> call_tool(RequestContext& context, Json params, size_t max_bytes);
  Task<Answer> listen(RequestContext& context, Json params);
  Task<Answer> call_extension(RequestContext& context, Json params);

  bool offers(Method method) const;
  RpcError unknown_tool(const std::shared_ptr<void>& user, const std::string& name) const;
  static std::optional<Error> wrong_with(RequestContext& context, const ToolDefinition& tool,
                                         const CheckedArguments& checked);
  // What is large, beside the loop: large_calls.cc. A user's calls keep their order.
  Task<Result<std::pair<CheckedArguments, Json>>> check_beside(const RequestContext& context,
                                                               const ToolDefinition& tool, Json arguments);
  Task<Result<std::string>> write_beside(const RequestContext& context, ToolResult result, size_t bytes);
  Task<tl::expected<ToolResult, RpcError>> tool_result(RequestContext& context, Json params);
  std::string capabilities(Version version) const;
  std::string discover_members() const;
  // `choice`: one character for each tool, '1' for those that are listed; behind them the variant.
  std::string list_members(Method method, Version version, const std::string& choice) const;
  const std::string& cached(Method method, Version version, std::string choice);
  bool is_offered(const std::shared_ptr<void>& user, std::string_view tool) const;
  std::string choice_for(const std::shared_ptr<void>& user) const;

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
  std::set<Changed> told_;
  std::vector<std::weak_ptr<Event>> listening_;  // fired when their subscriptions are to end
  struct Extension {
    ExtensionHandler handler;
    std::optional<Caching> caching;
  };
  std::map<std::string, Extension, std::less<>> methods_;
  Json extensions_ = Json::object();
  ResponseFilterOf response_filter_;
  ToolsOf tools_of_;
  NearestTool nearest_tool_;
  VariantOf variant_of_;
  Adapt adapt_;
  JsonWork* json_work_ = nullptr;
  LoopShares own_shares_{loop_};
  LoopShares* loop_shares_ = &own_shares_;
  UnderWay<uid_t> checking_;  // users' calls, whose arguments are looked at
  bool logging_ = false;
  // How long modern clients may keep the lists of tools and prompts.
  static constexpr Caching kListCaching{300'000, Caching::Scope::everybody};

  std::string identity_;                                                   // our name as JSON text, for _meta
  std::map<std::tuple<Method, Version, std::string>, std::string> cache_;  // lists, as they are sent
  bool draining_ = false;
  size_t calls_ = 0;
  size_t busy_ = 0;
  std::shared_ptr<Event> idle_;  // while somebody waits for it
};

}  // namespace mcp

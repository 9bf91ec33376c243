#include "supervisor/executions/runs/named_execution.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "policies/limits.h"
#include "policies/policy_parts.h"
#include "supervisor/base/ascii.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/large_value.h"
#include "supervisor/executions/runs/background.h"
#include "supervisor/executions/runs/execute_answer.h"
#include "supervisor/executions/runs/execute_environment.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/protocol/mcp/written_result.h"
#include "supervisor/tenants/executions.h"
#include "supervisor/tenants/tenant.h"

namespace runs {
namespace {

constexpr char kIdRule[] = "executionId";
constexpr char kKeptKey[] = "org.warder/kept";  // in _meta of an answer that an earlier call got first
constexpr size_t kMinIdBytes = 16;
constexpr size_t kDigestBytes = 16;

std::string digest_text(std::string_view a, std::string_view b) {
  crypto_generichash_state state;
  std::array<unsigned char, kDigestBytes> hash;
  crypto_generichash_init(&state, nullptr, 0, hash.size());
  for (const std::string_view part : {a, std::string_view("\0", 1), b})
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()), part.size());
  crypto_generichash_final(&state, hash.data(), hash.size());
  std::string text;
  for (const unsigned char byte : hash) text += fmt::format("{:02x}", byte);
  return text;
}

// "e" and 16 digits, of an execution without an id of its client; "e" and 32, of one with such an id.
bool is_own_id(std::string_view id) {
  return (id.size() == 17 || id.size() == 33) && id.front() == 'e' &&
         std::all_of(id.begin() + 1, id.end(), is_lower_hex);
}

Result<std::string> chosen_id(const Json& meta) {
  const Json& id = meta[kExecutionIdKey];
  if (!id.is_string()) return fail(Code::invalid, fmt::format("{}: not a string", kExecutionIdKey), "", kIdRule);
  CHECKED(check_chosen_id(id.get_ref<const std::string&>()));
  return id.get<std::string>();
}

Work::Owner owner_of(const tenants::Requester& requester) {
  return {requester.tenant->name(), policies::limits_of(*requester.policy).standard.json_bytes_per_second};
}

// The arguments are in shared memory, because a thread may still read them when the call is cancelled.
Task<Result<std::string>> digest_of_arguments(Work& work, Work::Owner owner, std::shared_ptr<Json> arguments) {
  std::function<Result<std::string>()> job = [arguments]() -> Result<std::string> {
    return digest_text("arguments", dump_json(*arguments));
  };
  if (!is_large(*arguments)) co_return job();
  const size_t bytes = rough_length(*arguments);
  auto digest = co_await work.run(std::move(owner), bytes, std::move(job));
  co_return digest;
}

mcp::ToolResult refuse_other_arguments(const std::string& chosen) {
  return make_refusal({},
                      {Code::invalid, 0,
                       fmt::format("{}: '{}' is the id of an execution with other arguments", kExecutionIdKey, chosen),
                       "choose a new id for each program", kIdRule});
}

// The answer of an execution that was cancelled, where its own answer is lost.
mcp::ToolResult cancelled_answer(const std::string& execution, bool may_have_run) {
  Json answer = {
      {"success", false},
      {"error", may_have_run ? "the execution was cancelled" : "the execution was cancelled before it began"},
      {"outcome", "cancelled"},
      {"may_have_run", may_have_run},
      {"execution_id", execution}};
  return mcp::ToolResult::error(dump_json(answer));
}

// The answer to a second call with the id of an execution that ended with its first call. Between the nodes of a
// cluster the home cannot know whether that call was cancelled or lost.
mcp::ToolResult left_answer(const std::string& execution) {
  Json answer = {{"success", false},
                 {"error", "the execution was ended: its call was cancelled, or the connection of its call was lost"},
                 {"code", code_name(Code::unavailable)},
                 {"outcome", "cancelled"},
                 {"may_have_run", true},
                 {"remedy", "look at what the program has done; to run it again, send it with a new id"},
                 {"execution_id", execution}};
  return mcp::ToolResult::error(dump_json(answer));
}

// NamedEntry: the entry of an execution in the store, from its order to its answer. If it is destroyed before, the
// entry ends as cancelled; but at the end of the daemon it stays, and the next daemon ends it as interrupted.
class NamedEntry {
 public:
  // The environment must outlive it.
  NamedEntry(ExecuteEnvironment& environment, std::string execution, std::string tenant)
      : environment_(environment), execution_(std::move(execution)), tenant_(std::move(tenant)) {}
  ~NamedEntry() {
    if (!is_open_ || environment_.admission.is_closed()) return;
    const mcp::ToolResult answer = left_answer(execution_);
    environment_.named.end(execution_, tasks::TaskState::cancelled, mcp::write_result(answer), true);
  }
  NamedEntry(const NamedEntry&) = delete;
  NamedEntry& operator=(const NamedEntry&) = delete;

  // Returns when the entry is committed.
  Task<Result<>> begin(std::string principal, std::string digest) {
    tasks::NewTask task;
    task.kind = tasks::TaskKind::background;
    task.owner = {tenant_, std::move(principal)};
    task.id = execution_;
    task.digest = std::move(digest);
    auto it = co_await environment_.named.begin(std::move(task));
    if (!it) co_return tl::unexpected<Error>(std::move(it).error());
    is_open_ = true;
    co_return Result<>{};
  }

  // The answer of a background execution is kept with those of all background executions; its call was answered before.
  void end(const mcp::ToolResult& result) {
    is_open_ = false;
    std::string text;
    if (!environment_.tasks.find_of_tenant(execution_, tenant_)) text = text_of(result);
    environment_.named.end(execution_, tasks::TaskState::completed, std::move(text), result.is_error);
  }
  // No program ran: the id may be used again. False: it was cancelled meanwhile, and has its answer.
  bool give_back() {
    is_open_ = false;
    const tasks::StoredTask* found = environment_.named.find_of_tenant(execution_, tenant_);
    if (found && tasks::is_ended(found->state)) return false;
    environment_.named.forget(execution_);
    return true;
  }

 private:
  std::string text_of(const mcp::ToolResult& result) const {
    const size_t max = environment_.named.limits().result_bytes;
    if (mcp::min_size(result) <= max) {
      std::string text = mcp::write_result(result);
      if (text.size() <= max) return text;
    }
    const auto record = environment_.executions.find(execution_);
    mcp::ToolResult shorter =
        mcp::ToolResult::text(saved_text(execution_, result, record ? record->outcome : std::string(), max / 2));
    shorter.is_error = result.is_error;
    shorter.meta = result.meta;
    return mcp::write_result(shorter);
  }

  ExecuteEnvironment& environment_;
  const std::string execution_, tenant_;
  bool is_open_ = false;
};

// The answer that the first call got.
Task<mcp::ToolResult> saved_answer(ExecuteEnvironment& environment, Work::Owner owner, std::string execution,
                                   std::string tenant) {
  auto text = co_await environment.named.result(execution);
  if (text && text->empty()) {
    const tasks::StoredTask* task = environment.tasks.find_of_tenant(execution, tenant);
    co_return background_handle(execution, task ? task->state : tasks::TaskState::completed);
  }
  Result<mcp::ToolResult> result = fail(Code::internal, "");
  if (text) {
    std::function<Result<mcp::ToolResult>()> job = [text = *text] { return mcp::read_result_text(text); };
    const size_t bytes = text->size();
    if (bytes <= Work::kSmall) {
      result = job();
    } else {
      result = co_await environment.host.work.run(std::move(owner), bytes, std::move(job));
    }
  } else {
    result = tl::unexpected<Error>(std::move(text).error());
  }
  if (!result) co_return make_refusal(execution, result.error(), ProgramRan::maybe);
  result->meta[kKeptKey] = "true";
  co_return *std::move(result);
}

// The store in which the tenant's execution `id` has not ended; nullptr: it has, or is unknown.
tasks::TaskStore* working_store(ExecutionStores stores, const std::string& id, const std::string& tenant) {
  for (tasks::TaskStore* store : {&stores.named, &stores.background}) {
    const tasks::StoredTask* found = store->find_of_tenant(id, tenant);
    if (found && !tasks::is_ended(found->state)) return store;
  }
  return nullptr;
}

}  // namespace

bool has_chosen_id(const Json& meta) { return meta.is_object() && meta.contains(kExecutionIdKey); }

Result<> check_chosen_id(std::string_view id) {
  if (id.size() < kMinIdBytes || !tenants::check_execution_id(id))
    return fail(Code::invalid, fmt::format("{}: not 16 to 64 of a-z, 0-9, '-' and '_'", kExecutionIdKey),
                "choose a random id, such as a UUID in small letters", kIdRule);
  if (is_own_id(id))
    return fail(Code::invalid, fmt::format("{}: ids of this form are made by the daemon", kExecutionIdKey),
                "choose a random id, such as a UUID in small letters", kIdRule);
  return {};
}

std::string execution_of_chosen(std::string_view tenant, std::string_view chosen) {
  return "e" + digest_text(tenant, chosen);
}

tasks::TaskLimits named_limits() {
  tasks::TaskLimits limits;
  limits.tasks = 16'384;
  limits.tasks_of_tenant = 2'048;
  limits.running_of_tenant = 256;
  limits.bytes = 128 << 20;
  return limits;
}

std::string interrupted_named(const std::string& execution) {
  return mcp::write_result(mcp::ToolResult::error(interrupted_answer(execution, {})));
}

Task<mcp::ToolResult> execute_named(ExecuteEnvironment& environment, mcp::RequestContext& context, Json arguments,
                                    RunNamed run) {
  const auto chosen = chosen_id(context.meta);
  if (!chosen) co_return make_refusal({}, chosen.error());
  const bool is_of_node = context.principal.kind() == mcp::Principal::Kind::node;
  if (tenants::may_run_anywhere(context.meta) && (!is_of_node || context.meta.contains(tenants::kWorkspaceKey))) {
    const Error why{Code::invalid, 0, "a stateless execution has no id of its client, and no workspace",
                    std::string("leave out _meta ") + tenants::kPlaceKey, kIdRule};
    co_return make_refusal({}, why);
  }
  const auto requester = environment.requester_of(context);
  if (!requester) co_return make_refusal({}, requester.error());
  const std::string tenant = requester->tenant->name();
  const bool in_background = arguments.value("background", false);
  NamedRun named{execution_of_chosen(tenant, *chosen)};
  const std::string& id = named.execution;
  const auto shared = std::make_shared<Json>(std::move(arguments));
  const FreesBeside frees(&environment.host.work, *shared);
  auto digest = co_await digest_of_arguments(environment.host.work, owner_of(*requester), shared);
  if (!digest) co_return make_refusal({}, digest.error());

  // The call that came first is answered first. If its program did not run, the next one takes its place.
  while (const tasks::StoredTask* found = environment.named.find_of_tenant(id, tenant)) {
    if (!found->digest.empty() && found->digest != *digest) co_return refuse_other_arguments(*chosen);
    const auto ended = environment.named.when_ended(id);
    if (!ended) {
      auto answer = co_await saved_answer(environment, owner_of(*requester), id, tenant);
      co_return answer;
    }
    if (in_background) co_return background_handle(id, tasks::TaskState::working);
    co_await *ended;
  }

  NamedEntry entry(environment, id, tenant);
  auto existing =
      start(environment.journal.knows(tenant, id));  // beside the entry's commit: one wait for the disk's thread
  auto it = co_await entry.begin(context.principal.name(), *digest);
  auto before = co_await existing;  // a fork has rows of its branches only
  if (!it) co_return make_refusal({}, it.error());
  if (!before) {
    entry.give_back();
    co_return make_refusal({}, before.error());
  }
  if (*before) {
    const Error error{Code::denied, 0,
                      fmt::format("execution '{}' was asked for before, and its answer is no longer kept", *chosen),
                      "check its effects; to run the program again, choose a new id", kIdRule};
    mcp::ToolResult refused = make_refusal(id, error, ProgramRan::maybe);
    entry.end(refused);
    co_return refused;
  }
  mcp::ToolResult result;
  const bool is_wanted = environment.named.when_ended(id) != nullptr;  // else it was cancelled meanwhile
  if (is_wanted) result = co_await run(std::move(*shared), named);
  if (named.keeps_answer) {
    entry.end(result);
  } else if (!entry.give_back() || !is_wanted) {
    result = co_await saved_answer(environment, owner_of(*requester), id, tenant);
  }
  co_return result;
}

Task<Result<ExecutionResult>> find_result(ExecutionStores stores, tenants::Tenant& tenant, std::string execution) {
  using State = ExecutionResult::State;
  const bool is_chosen = check_chosen_id(execution).has_value();
  const std::string id = is_chosen ? execution_of_chosen(tenant.name(), execution) : execution;
  const bool works = working_store(stores, id, tenant.name()) || stores.background.is_expected(id);
  const std::string written = execution;  // of a branch, whose id has the form of a chosen one
  auto reading = is_chosen ? read_named_result(stores, tenant.name(), std::move(execution))
                           : read_result(stores.background, tenant.name(), std::move(execution));
  auto text = co_await std::move(reading);
  if (text) co_return ExecutionResult{works ? State::working : State::ended, *std::move(text)};
  const bool is_stored = tenant.executions().open_stream(id, tenants::Stream::value) ||
                         tenant.executions().open_stream(written, tenants::Stream::value);
  if (is_stored) co_return ExecutionResult{State::stored, {}};
  co_return tl::unexpected<Error>(std::move(text).error());
}

Task<Result<ExecutionResult>> await_result(Loop& loop, ExecutionStores stores, tenants::Tenant& tenant,
                                           std::string execution, std::chrono::milliseconds wait) {
  const bool is_chosen = check_chosen_id(execution).has_value();
  const std::string id = is_chosen ? execution_of_chosen(tenant.name(), execution) : execution;
  if (tasks::TaskStore* store = working_store(stores, id, tenant.name())) {
    const auto ended = store->when_ended(id);
    const Deadline bound(loop, wait, [ended] { ended->fire(); });
    co_await *ended;
  }
  auto result = co_await find_result(stores, tenant, std::move(execution));
  co_return result;
}

Task<Result<std::string>> read_named_result(ExecutionStores stores, std::string tenant, std::string chosen) {
  const std::string id = execution_of_chosen(tenant, chosen);
  const tasks::StoredTask* found = stores.named.find_of_tenant(id, tenant);
  if (!found) co_return fail(Code::not_found, "no execution '" + chosen + "' is known");
  if (!tasks::is_ended(found->state))
    co_return dump_json(Json{{"execution_id", id}, {"state", tasks::state_name(found->state)}});
  CO_TRY(std::string text, co_await stores.named.result(id));
  if (text.empty()) {
    auto result = co_await read_result(stores.background, std::move(tenant), id);
    co_return result;
  }
  CO_TRY(const mcp::ToolResult answer, mcp::read_result_text(text));
  const auto* block = answer.content.empty() ? nullptr : std::get_if<mcp::Text>(&answer.content.front());
  if (!block) co_return fail(Code::not_found, "the answer has no text");
  co_return block->text;
}

Task<Result<Json>> cancel_named(ExecutionStores stores, tasks::TaskOwner owner, std::string chosen) {
  const std::string id = execution_of_chosen(owner.tenant, chosen);
  const auto done = [](std::string message) { return Json{{"success", true}, {"message", std::move(message)}}; };
  const tasks::StoredTask* found = stores.named.find_of_tenant(id, owner.tenant);
  if (found && tasks::is_ended(found->state)) co_return done(chosen + " has ended; it will not run again");
  if (found) {
    const auto record = stores.executions.find(id);
    const bool runs = record && record->stage != executions::Stage::waiting;
    if (record) static_cast<void>(stores.executions.cancel(*record));
    // The answer of a program that runs says how far it came. Branches of a call that waits may have run.
    if (!runs)
      stores.named.end(id, tasks::TaskState::cancelled, mcp::write_result(cancelled_answer(id, record != nullptr)),
                       true);
    co_return done("Cancelled " + chosen);
  }
  tasks::NewTask fence;
  fence.kind = tasks::TaskKind::background;
  fence.owner = std::move(owner);
  fence.id = id;
  CO_TRY(const tasks::StoredTask fenced, co_await stores.named.begin(std::move(fence)));
  stores.named.end(fenced.id, tasks::TaskState::cancelled, mcp::write_result(cancelled_answer(id, false)), true);
  co_return done("Cancelled " + chosen + ": if it comes later, it will not run");
}

}  // namespace runs

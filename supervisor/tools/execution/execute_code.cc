#include "supervisor/tools/execution/execute_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "jail/execution.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/json.h"
#include "supervisor/base/json_value.h"
#include "supervisor/base/large_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/random.h"
#include "supervisor/base/trace_parent.h"
#include "supervisor/calls/upstream_call.h"
#include "supervisor/executions/context_ledger.h"
#include "supervisor/executions/execution_log.h"
#include "supervisor/executions/execution_span.h"
#include "supervisor/executions/jail_spec.h"
#include "supervisor/executions/session_log.h"
#include "supervisor/executions/workspace_quota_guard.h"
#include "supervisor/journal/tokens.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tools/execution/execute_answer.h"
#include "supervisor/tools/execution/image_files.h"

namespace tools {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstProgress = 200ms, kProgressEvery = 250ms;
constexpr auto kHeartbeat = 5s;  // without output: clients give up on silence
// In _meta, for the session's log: what the call is for, and what the session is for.
constexpr char kTaskKey[] = "org.warder/task", kSessionKey[] = "org.warder/session-description";

constexpr char kUnrecorded[] = "the program did not run, for its record cannot be kept";

constexpr char kDescription[] =
    "Run code in a jail: process data there, return only a summary. "
    "Answers `result` or the last expression, and what is printed. context_vars become variables. "
    "Python has filter_by_field, summarize_list, aggregate_stats, format_output, tokenize_pii. "
    "Files in /workspace stay; so do variables (not shell's) in calls of one session. No network.";

// As models call languages.
const mcp::Spellings kSpellings = {{"language",
                                    {{"py", "python"},
                                     {"python3", "python"},
                                     {"js", "javascript"},
                                     {"node", "javascript"},
                                     {"nodejs", "javascript"},
                                     {"ecmascript", "javascript"},
                                     {"ts", "typescript"},
                                     {"bash", "shell"},
                                     {"sh", "shell"},
                                     {"zsh", "shell"}}}};

Json input_schema() {
  return Json::parse(R"({
    "type": "object",
    "properties": {
      "code": {"type": "string"},
      "context_vars": {"type": "object"},
      "timeout_seconds": {"type": "number", "minimum": 0.001, "maximum": 86400, "default": 30},
      "memory_mb": {"type": "number", "minimum": 1, "maximum": 1048576, "default": 500},
      "language": {"type": "string", "enum": ["python", "javascript", "typescript", "shell"], "default": "python"},
      "session": {"type": "string"},
      "reset_session": {"type": "boolean"}
    },
    "required": ["code"]
  })");
}

std::string make_id() { return "e" + random_hex(8); }

// One call: everything it needs while it runs. Lives in the handler's frame.
struct Call {
  executions::ExecutionSpan& span;
  executions::ExecutionRegistry::Entry& entry;
  mcp::RequestContext& context;
  ExecuteEnvironment& environment;
  tenants::Member& member;
  std::shared_ptr<tenants::Tenant> tenant;         // the member's, or its named workspace
  std::shared_ptr<const policies::Policy> policy;  // the one this execution began with
  std::string id;
  std::vector<policies::Clamp> clamped;
  std::optional<tenants::Snapshot> before;
  Monotonic::time_point asked = Monotonic::now();
  uint64_t fetched_bytes = 0, fetched_tokens = 0;  // answers to the code's own calls
  executions::QuotaHold quota;
  std::string waits_for;  // before it runs
  bool begun = false;     // the journal knows it
  Ran ran = Ran::no;
  std::string last_line;
  bool new_output = false;
};

// Takes the code out of `arguments`.
Result<jail::Request> make_request(Call& call, Json& arguments) {
  const auto& policy = *call.policy;
  auto language = jail::find_language(arguments.value("language", "python"));
  if (!language)
    return fail(Code::invalid, "language: not python, javascript, typescript or shell", "name one of these",
                "languages");
  if (!policy.allows_language(jail::language_name(*language)))
    return fail(Code::denied, fmt::format("policy '{}' does not allow {}", policy.name, jail::language_name(*language)),
                "use a language that is allowed, or ask the administrator to add it to `languages`", "languages");
  policies::LimitRequest asked;
  if (arguments.contains("timeout_seconds"))
    asked.wall = std::chrono::milliseconds(static_cast<int64_t>(arguments["timeout_seconds"].get<double>() * 1000));
  if (arguments.contains("memory_mb"))
    asked.memory_bytes = static_cast<uint64_t>(arguments["memory_mb"].get<double>() * (1 << 20));
  jail::Request request;
  request.id = call.id;
  request.code = std::move(arguments["code"].get_ref<std::string&>());
  policies::Limits limits;
  std::tie(limits, call.clamped) = policies::resolve(policy.limits, asked);
  request.spec = executions::make_spec(policy, *language, limits);
  request.tenant = call.tenant->name();
  request.pool = policy.pool;
  request.seccomp_profile = policy.seccomp;
  request.workspace = call.tenant->workspace().directory();
  if (call.tenant->held_by_kernel()) request.quota = jail::Request::Quota::project;
  request.handle = &call.entry->handle;
  return request;
}

// The text of a value. Large ones are written beside the loop, and were charged when they were read.
Task<Result<std::string>> written(Call& call, Json value) {
  if (!is_large(value)) co_return dump_json(value);
  JsonWork::Owner owner{call.tenant->name(), call.policy->limits.standard.json_bytes_per_second};
  auto text = co_await dump_beside(call.environment.host.json, std::move(owner), std::move(value));
  co_return text;
}

// The turn in the session that the call names, if it names one.
Task<Result<std::optional<executions::Sessions::Turn>>> enter_session(Call& call, const Json& arguments,
                                                                      jail::Request& request) {
  std::optional<executions::Sessions::Turn> turn;
  if (!arguments.contains("session")) co_return std::move(turn);
  executions::Sessions::Ask ask;
  ask.tenant = call.tenant;
  ask.policy = call.policy;
  ask.name = arguments["session"].get<std::string>();
  ask.execution = call.id;
  ask.client = call.context.user;
  ask.language = request.spec.language;
  if (arguments.value("reset_session", false)) ask.begin = executions::Sessions::Begin::anew;
  if (arguments.contains("memory_mb")) ask.memory_bytes = request.spec.limits.memory_bytes;
  auto entered = co_await call.environment.sessions.enter(std::move(ask));
  if (!entered) co_return tl::unexpected<Error>(std::move(entered).error());
  turn.emplace(*std::move(entered));
  request.spec.limits.memory_bytes = turn->memory_bytes();
  co_return std::move(turn);
}

Result<> check_session_arguments(const Json& arguments) {
  if (!arguments.contains("session")) {
    if (!arguments.value("reset_session", false)) return {};
    return fail(Code::invalid, "reset_session: no session is named", "name it in `session`", "session");
  }
  CHECKED(tenants::check_session_id(arguments["session"].get<std::string>()));
  if (jail::find_language(arguments.value("language", "python")) != jail::Language::shell) return {};
  return fail(Code::invalid, "session: shell keeps no variables between calls",
              "leave `session` out, and keep data in workspace files", "session");
}

// Empty code with reset_session: the session ends, and nothing begins.
Task<Result<mcp::ToolResult>> end_session(Call& call, const Json& arguments) {
  executions::Sessions::Ask ask;
  ask.tenant = call.tenant;
  ask.policy = call.policy;
  ask.name = arguments["session"].get<std::string>();
  ask.execution = call.id;
  const std::string name = ask.name;
  CO_TRY(bool lived, co_await call.environment.sessions.end(std::move(ask)));
  jail::Report report;
  report.outcome = jail::Outcome::ok;
  report.receipt = "{}";
  ExecuteAnswer answer;
  answer.execution_id = call.id;
  answer.report = &report;
  answer.session = {{"name", name}, {"ended", lived}};
  co_return make_answer(answer);
}

Task<Result<jail::Report>> run_jail(Call& call, std::optional<executions::Sessions::Turn>& turn,
                                    jail::Request request) {
  if (turn) {
    auto report = co_await turn->run(std::move(request));
    co_return report;
  }
  // A limit of its own: no jail that waits has it, and none is to be built for it ahead.
  if (call.quota.room != executions::QuotaHold::Room::enough) {
    auto report = co_await jail::execute(call.environment.host, std::move(request));
    co_return report;
  }
  auto report = co_await jail::execute(call.environment.host, call.environment.pool, std::move(request));
  co_return report;
}

Error tell_to_make_room(tenants::Tenant& tenant) {
  Error full = tenant.workspace().quota().within().error();
  full.hint = "delete files first: in a call without a session, or with delete_workspace_file";
  return full;
}

std::string text_of_meta(const Call& call, const char* key) {
  const Json& meta = call.context.meta;
  const auto text = meta.is_object() ? meta.find(key) : meta.end();
  return text != meta.end() && text->is_string() ? text->get<std::string>() : std::string();
}

Task<> take_before(Call& call) {
  auto snapshot = co_await call.tenant->workspace().snapshot();
  if (snapshot) call.before = *std::move(snapshot);
}

Task<> tell_progress(Call& call) {
  auto start = Monotonic::now();
  auto told = start;
  bool waited = false;
  for (;;) {
    const bool wanted = call.context.wants_progress();  // or later: a request that is repeated brings a token
    co_await sleep_for(call.context.loop, told == start ? kFirstProgress : wanted ? kProgressEvery : kHeartbeat);
    const auto& waits = call.entry->approvals;
    const bool news = call.new_output || waited == waits.empty();
    waited = !waits.empty();
    if (!news && Monotonic::now() - told < kHeartbeat && told != start) continue;
    call.new_output = false;
    told = Monotonic::now();
    call.context.progress(std::floor(ms_since(start)), {},
                          !call.waits_for.empty()  ? "waits for " + call.waits_for
                          : !waits.empty()         ? "waits for an approval: warder approve " + waits.front()
                          : call.last_line.empty() ? "running " + call.id
                                                   : call.last_line);
  }
}

// After the answer: what the account is now. Keeps the tenant while it counts.
Task<> count_again(std::shared_ptr<tenants::Tenant> tenant) {
  auto counted = co_await tenant->workspace().count();
  if (!counted) log_warning("tenant {}: {}", tenant->name(), counted.error().what);
}

// What a program can have read of its workspace, each file once: files as they were before it or after it, whichever is
// more, and of sparse ones no more than the quota lets be stored.
uint64_t readable_bytes(const tenants::Workspace& workspace, const tenants::Snapshot& before,
                        const tenants::Snapshot& after) {
  auto sum = [](const tenants::Snapshot& snapshot) {
    uint64_t bytes = 0;
    for (const auto& [path, stamp] : snapshot.files) bytes += std::min(stamp.size, UINT64_MAX - bytes);
    return bytes;
  };
  return std::min(std::max(sum(before), sum(after)), workspace.quota().limits().bytes);
}

// Until both rows of the execution are committed; see supervisor/journal/journal.h.
Task<Result<>> record_end(Call& call, journal::Journal::Execution row, const jail::Report& report,
                          const mcp::ToolResult& result, uint64_t read_tokens) {
  journal::Ended ended;
  ended.outcome = jail::outcome_name(report.outcome);
  ended.wall_us = std::llround(report.usage.wall_ms * 1000);
  ended.took_us = std::llround(ms_since(call.asked) * 1000);
  ended.cpu_us = std::llround(report.usage.cpu_ms * 1000);
  ended.memory_peak_bytes = report.usage.memory_peak_bytes;
  ended.processes_peak = report.usage.processes_peak;
  ended.ledger.returned_bytes = mcp::least_size(result);
  ended.ledger.returned_tokens = executions::returned_tokens(result);
  ended.ledger.printed_tokens = journal::estimated_tokens(report.out.bytes, report.out.text) +
                                journal::estimated_tokens(report.err.bytes, report.err.text);
  ended.ledger.fetched_tokens = call.fetched_tokens;
  ended.ledger.read_tokens = read_tokens;
  ended.ledger.printed_bytes = report.out.bytes + report.err.bytes;
  ended.ledger.fetched_bytes = call.fetched_bytes;
  ended.ledger.read_bytes = report.read_bytes;
  if (!std::exchange(call.member.definitions_counted, true)) {
    const executions::DefinitionSize all = executions::definition_size(*call.environment.catalog_of());
    ended.ledger.definitions_avoided_bytes = all.bytes - std::min(all.bytes, call.member.definition_bytes);
    if (all.bytes > 0)
      ended.ledger.definitions_avoided_tokens = all.tokens * ended.ledger.definitions_avoided_bytes / all.bytes;
  }
  auto written = co_await call.environment.journal.end(std::move(row), ended);
  if (written) {
    call.entry.end(report, ended);
    co_return written;
  }
  co_return fail(Code::unavailable, "the program ran, but its record cannot be kept: " + written.error().what,
                 written.error().hint);
}

// No jail could be had.
Task<Result<>> record_failure(Call& call, journal::Journal::Execution row) {
  journal::Ended ended;
  ended.outcome = jail::outcome_name(jail::Outcome::internal);
  ended.took_us = std::llround(ms_since(call.asked) * 1000);
  auto written = co_await call.environment.journal.end(std::move(row), std::move(ended));
  co_return written;
}

Task<Result<mcp::ToolResult>> run(Call& call, Json arguments) {
  CO_TRY(jail::Request request, make_request(call, arguments));
  FreedBeside variables(&call.environment.host.json, std::move(arguments["context_vars"]));
  CO_CHECKED(check_session_arguments(arguments));
  auto& admission = call.environment.admission;
  request.trace = call.entry->trace;
  const std::string language(jail::language_name(request.spec.language));
  call.entry->language = language;
  call.entry->withdraw = [&call] {
    call.environment.sessions.withdraw(call.id);
    call.environment.admission.withdraw(call.id);
  };
  if (request.code.empty() && arguments.value("reset_session", false)) {
    CO_TRY(mcp::ToolResult ended, co_await end_session(call, arguments));
    call.entry.pass();
    co_return ended;
  }
  auto& tenant = *call.tenant;
  auto progress = start(tell_progress(call));
  call.span.waits(call.context.loop);
  if (arguments.contains("session")) call.waits_for = "its turn in the session";
  CO_TRY(auto turn, co_await enter_session(call, arguments, request));
  call.waits_for = "a free place";
  executions::Admission::Asker asker{tenant.account(), &call.member};
  CO_TRY(executions::Admission::Permit permit, co_await admission.enter(std::move(asker), *call.policy, call.id));
  call.waits_for.clear();
  call.span.goes_on();
  // Not before: who asks first is first in the session, however much there is to write.
  if (!(*variables).is_null()) {
    CO_TRY(request.context_vars, co_await written(call, std::move(*variables)));
  }
  CO_TRY(call.quota, co_await executions::admit_to(tenant.workspace(), request.spec.limits.file_bytes));
  if (turn && call.quota.room == executions::QuotaHold::Room::none)
    co_return tl::unexpected<Error>(tell_to_make_room(tenant));
  // A session's jail outlives this moment: its limit stays what the policy says.
  // Shell's code is a file in memory.
  const uint64_t code_bytes = request.spec.language == jail::Language::shell ? request.code.size() : 0;
  if (!turn) request.spec.limits.file_bytes = std::max(call.quota.file_bytes, code_bytes);
  call.entry.start(language, request.spec.limits);
  executions::log_started(call.context.loop, call.entry.shared());
  CO_TRY(tenants::Recording recording, tenant.executions().begin(call.id));
  auto row = call.environment.journal.begin(
      {call.id, tenant.name(), language, call.policy->name, request.code.size(), journal::now_ms()});
  if (call.environment.journal.failing()) {
    auto begun = co_await call.environment.journal.begun(row);
    if (!begun) co_return tl::unexpected<Error>(std::move(begun).error().within(kUnrecorded));
  }
  call.begun = true;

  auto keep = [&recording](tenants::Stream stream) {
    return [&recording, stream](std::string_view part) { return recording.append(stream, part).has_value(); };
  };
  request.keep_out = keep(tenants::Stream::out);
  request.keep_err = keep(tenants::Stream::err);
  const tenants::Writers::Turn writing(tenant.writers());
  // Beside the start of the jail, which takes longer.
  auto snapshot = start(take_before(call));
  request.before_code = [&snapshot]() -> Task<> { co_await snapshot; };
  const std::string session = turn ? turn->name() : "";
  const mcp::PeerProcess& peer = call.context.peer;
  calls::NestedCalls nested{{call.tenant, call.policy, peer.uid, peer.pid, call.id, call.context, &call.entry->handle}};
  nested.who.trace = call.span.context();
  if (call.context.wants_progress())
    nested.who.tell = [&call](std::string line) {
      call.last_line = std::move(line);
      call.new_output = true;
    };
  const calls::GuestCaller caller{tenant, *call.policy, call.id, session, &nested};
  request.call = [&call, &caller](std::string name, Json asked) {
    return call.environment.calls.call(caller, std::move(name), std::move(asked));
  };
  request.answered = [&call](std::string_view text) {
    call.fetched_bytes += text.size();
    call.fetched_tokens += journal::estimated_tokens(text);
  };
  request.over_quota = [&call] { return call.quota.over; };
  if (call.context.wants_progress()) {
    request.progressed = [&call](uint64_t, std::string_view line) {
      call.last_line = line;
      call.new_output = true;
    };
  }
  const std::string code = turn ? request.code : "";  // for the session's log
  auto quota = start(executions::hold_quota(call.context.loop, tenant.workspace(), call.quota));
  auto executed = co_await run_jail(call, turn, std::move(request));
  if (!executed) {
    CO_CHECKED(co_await record_failure(call, std::move(row)));
    executed.error().what += "; the program did not run";
    co_return tl::unexpected<Error>(std::move(executed).error());
  }
  call.ran = Ran::maybe;
  jail::Report report = *std::move(executed);

  tenant.workspace().invalidate();
  ExecuteAnswer answer;
  answer.execution_id = call.id;
  answer.report = &report;
  answer.clamped = call.clamped;
  if (report.value && is_large(*report.value)) {
    // A text stays what it is for the session's log.
    Json value = turn && report.value->is_string() ? *report.value : std::move(*report.value);
    auto text = co_await written(call, std::move(value));
    if (!text) answer.notes.push_back("its result was lost: " + text.error().what);
    answer.result = text ? *std::move(text) : "null";
  }
  if (language == "shell") answer.shell_exit_1 = call.policy->shell_exit_1;
  if (std::string told = calls::told_of_calls(nested.calls, call.policy->calls.per_execution); !told.empty())
    answer.notes.push_back(std::move(told) + ": ask for more in one call, or go on in another execution");
  std::optional<tenants::Changes> changes;
  uint64_t read_tokens = 0;
  if (call.before) {
    auto after = co_await tenant.workspace().snapshot();
    if (after) changes = tenants::compare(*call.before, *after);
    if (after && report.read_bytes > 0) {
      // The guest's word alone proves nothing.
      report.read_bytes = std::min(report.read_bytes, readable_bytes(tenant.workspace(), *call.before, *after));
      read_tokens = executions::read_tokens_of(tenant.workspace(), *after, report.read_bytes);
    }
  }
  if (!changes) report.read_bytes = 0;
  answer.quota = executions::judge_quota(tenant.workspace().quota(), call.quota, report);
  if (turn) answer.session = turn->tell();
  answer.images = std::move(report.images);
  if (changes) {
    answer.changes = &*changes;
    if (!changes->empty() && !writing.is_alone())
      answer.notes.emplace_back("others wrote to this workspace meanwhile: `files` has their changes, too");
    append_image_files(answer.images, tenant.workspace(), *changes);
    if (!changes->empty()) call.environment.files_changed(tenant, *changes);
  }
  if (turn) {
    const std::string task_is = text_of_meta(call, kTaskKey), session_is = text_of_meta(call, kSessionKey);
    const executions::SessionLogEntry task{session, call.id, task_is,        session_is,
                                           code,    report,  answer.changes, answer.result};
    executions::log_session_task(tenant, task);
  }
  call.context.loop.spawn(count_again(call.tenant));
  mcp::ToolResult result = make_answer(answer);
  CO_CHECKED(co_await record_end(call, std::move(row), report, result, read_tokens));
  executions::log_ended(call.context.loop, call.entry.shared());
  co_return result;
}

Task<mcp::ToolResult> execute_code(ExecuteEnvironment& environment, mcp::RequestContext& context, Json arguments) {
  auto& member = context.user_as<tenants::Member>();
  auto shown = std::make_shared<executions::ExecutionRecord>();
  shown->id = make_id();
  shown->tenant = member.tenant->account();
  shown->policy = member.policy;
  shown->uid = context.peer.uid;
  shown->pid = context.peer.pid;
  shown->asked_ms = journal::now_ms();
  executions::ExecutionSpan span(environment.spans, read_trace_context(context.meta), shown);
  shown->trace = span.context().parent.text;
  executions::ExecutionRegistry::Entry entry(environment.executions, shown);
  Call call{span, entry, context, environment, member, member.tenant, member.policy, shown->id};
  auto place = environment.tenant_of(context);
  if (!place) {
    entry.refuse(place.error());
    executions::log_refused(context.loop, shown, place.error());
    co_return make_refusal({}, place.error());
  }
  call.tenant = *std::move(place);
  if (call.tenant != member.tenant) shown->workspace = call.tenant->name().substr(shown->tenant.size() + 1);
  auto result = co_await run(call, std::move(arguments));
  if (result) co_return *std::move(result);
  entry.refuse(result.error());
  executions::log_refused(context.loop, shown, result.error());
  mcp::ToolResult refused = make_refusal(call.begun ? call.id : std::string(), result.error(), call.ran);
  const bool jailer_gone = call.ran == Ran::no && environment.host.jailer.is_gone();  // and the daemon ends with it
  if (jailer_gone || (!call.begun && environment.admission.is_closed()))
    refused.meta = mcp::not_run_while_draining().meta;
  co_return refused;
}

}  // namespace

void add_execute_code(mcp::Server& server, ExecuteEnvironment& environment) {
  mcp::ToolDefinition tool;
  tool.name = "execute_code";
  tool.description = kDescription;
  tool.input_schema = input_schema();
  tool.spellings = kSpellings;
  tool.annotations.open_world = false;  // no network
  tool.queues = true;
  server.add_tool(std::move(tool), [&environment](mcp::RequestContext& context, Json arguments) {
    return execute_code(environment, context, std::move(arguments));
  });
}

}  // namespace tools

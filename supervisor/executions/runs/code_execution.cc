#include "supervisor/executions/runs/code_execution.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "jail/execution/execution.h"
#include "policies/policy.h"
#include "policies/policy_parts.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/executions/context_ledger.h"
#include "supervisor/executions/runs/answer_advice.h"
#include "supervisor/executions/runs/execute_request.h"
#include "supervisor/executions/runs/folded_files.h"
#include "supervisor/executions/runs/image_files.h"
#include "supervisor/executions/runs/proposal_conclusion.h"
#include "supervisor/executions/session_log.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/tenants/resource_uris.h"
#include "supervisor/upstream/calls/disk_account.h"
#include "supervisor/upstream/calls/upstream_call.h"

namespace runs {
namespace {

constexpr size_t kMaxBackgroundResult = 512 << 10;  // bytes; the store of tasks has room for 1 MiB with all the rest
constexpr size_t kStoredShown = 2000;               // bytes of a stored result in the answer
constexpr size_t kMaxDiffBytes = 4000;              // bytes; the resource has the whole diff
// Keys of a request's _meta for the session's log: the purpose of the call, and of the session.
constexpr char kTaskKey[] = "org.warder/task", kSessionKey[] = "org.warder/session-description";

std::string lost_changes_note(const Error& error) { return "the staged changes were lost: " + error.what; }

}  // namespace

CodeExecution::CodeExecution(ExecuteEnvironment& environment, calls::CallContext caller,
                             executions::ExecutionRecording& recording)
    : environment_(environment),
      caller_{std::move(caller)},
      recording_(recording),
      progress_(caller_.client, recording.record()),
      workspace_(caller_.client.loop, caller_.tenant),
      network_(network_of(environment.network, environment.upstream_calls, caller_)) {}

CodeExecution::~CodeExecution() { recording_.record().withdraw = nullptr; }

Task<Result<mcp::ToolResult>> CodeExecution::run(Json arguments) {
  FreedBeside variables(&environment_.host.work, Json());
  CO_TRY(ExecuteRequest execute_request, read_execute_request(*caller_.tenant, *caller_.policy, arguments));
  set_hash_seed(execute_request, arguments, environment_.workflows);
  if (const auto it = arguments.find("context_vars"); it != arguments.end()) *variables = std::move(*it);
  CO_CHECKED(check_session_arguments(arguments));
  clamped_ = std::move(execute_request.clamped);
  code_notes_ = std::move(execute_request.notes);
  jail::Request request = std::move(execute_request.jail);
  announce(request);
  if (only_ends_session(request, arguments)) {
    auto ended = co_await end_session(arguments, request);
    co_return ended;
  }
  sending_.emplace(progress_.send());
  CO_CHECKED(co_await wait_for_slot(arguments, request));
  CO_CHECKED(co_await write_variables(std::move(variables), request));
  auto result = co_await run_in_place(std::move(request));
  co_return result;
}

Task<Result<mcp::ToolResult>> CodeExecution::run_branch(Branch branch) {
  form_ = AnswerForm::branch;
  branch_bytes_ = branch.result_bytes;
  language_ = branch.request.spec.language;
  permit_.emplace(std::move(branch.permit));
  auto result = co_await run_in_place(std::move(branch.request));
  co_return result;
}

// With a place among all executions.
Task<Result<mcp::ToolResult>> CodeExecution::run_in_place(jail::Request request) {
  if (environment_.refusal)
    if (auto refused = environment_.refusal()) co_return tl::unexpected<Error>(*std::move(refused));
  CO_CHECKED(co_await stage_workspace(request));
  CO_CHECKED(co_await admit_to_workspace(request));
  if (network_) CO_CHECKED(co_await network_->prepare());
  CO_CHECKED(co_await recording_.begin(*caller_.tenant, request));
  connect(request);
  CO_TRY(jail::Report report, co_await run_program(std::move(request)));
  auto result = co_await answer(std::move(report));
  co_return result;
}

// The registry learns the language, and how an administrator ends the call while it waits.
void CodeExecution::announce(const jail::Request& request) {
  language_ = request.spec.language;
  executions::ExecutionRecord& record = recording_.record();
  record.language = jail::language_name(language_);
  record.workspace = jail::access_name(request.workspace.access);
  record.withdraw = [this] {
    environment_.sessions.withdraw(recording_.id());
    environment_.admission.withdraw(recording_.id());
  };
}

executions::Sessions::Ask CodeExecution::session_request(const Json& arguments, const jail::Request& request) const {
  executions::Sessions::Ask ask;
  ask.tenant = caller_.tenant;
  ask.policy = caller_.policy;
  ask.name = arguments["session"].get<std::string>();
  ask.execution = recording_.id();
  ask.client = caller_.client.user;
  ask.language = request.spec.language;
  if (arguments.value("reset_session", false)) ask.begin = executions::Sessions::Begin::anew;
  if (arguments.contains("memory_mb")) ask.memory_bytes = request.spec.limits.memory_bytes;
  ask.access = request.workspace.access;
  ask.names_access = arguments.contains("workspace");
  return ask;
}

Task<Result<mcp::ToolResult>> CodeExecution::end_session(const Json& arguments, const jail::Request& request) {
  executions::Sessions::Ask ask = session_request(arguments, request);
  const std::string name = ask.name;
  CO_TRY(executions::Sessions::Ended ended, co_await environment_.sessions.end(std::move(ask)));
  recording_.end_without_program();
  jail::Report report;
  report.outcome = jail::Outcome::ok;
  ExecuteAnswer answer;
  answer.execution_id = recording_.id();
  answer.report = &report;
  answer.session = {{"name", name}, {"ended", ended.existed}};
  if (ended.lost) answer.notes.push_back(lost_changes_note(*ended.lost));
  executions::WorkspaceEffects effects;
  if (ended.proposal) {
    effects.changes = executions::changes_of(ended.proposal->files);
    answer.changes = &*effects.changes;
    const jail::Outcome last = ended.ended_well ? jail::Outcome::ok : jail::Outcome::error;
    answer.proposal =
        co_await conclude_proposal(environment_.proposals, caller_, *std::move(ended.proposal), last, kMaxDiffBytes);
  }
  co_return make_answer(answer);
}

// First the turn in the session, if there is one, then a place among all executions.
Task<Result<>> CodeExecution::wait_for_slot(const Json& arguments, jail::Request& request) {
  recording_.begin_wait();
  if (arguments.contains("session")) {
    progress_.set_waits_for("its turn in the session");
    executions::Sessions::Ask ask = session_request(arguments, request);
    CO_TRY(executions::Sessions::Turn turn, co_await environment_.sessions.enter(std::move(ask)));
    request.spec.limits.memory_bytes = turn.memory_bytes();
    request.workspace.access = turn.access();
    recording_.record().workspace = jail::access_name(turn.access());
    session_ = {turn.name(), request.code};
    turn_.emplace(std::move(turn));
  }
  progress_.set_waits_for("a free place");
  executions::Admission::Asker asker{caller_.tenant->account(), caller_.client.user.get()};
  CO_TRY(executions::Admission::Permit permit,
         co_await environment_.admission.enter(std::move(asker), *caller_.policy, recording_.id()));
  permit_.emplace(std::move(permit));
  progress_.set_waits_for("");
  recording_.end_wait();
  co_return Result<>{};
}

// After the wait: requests take their places in the order in which they came, however much there is to write.
Task<Result<>> CodeExecution::write_variables(FreedBeside variables, jail::Request& request) {
  if ((*variables).is_null()) co_return Result<>{};
  CO_TRY(request.context_vars, co_await write_json(std::move(*variables)));
  co_return Result<>{};
}

// Also opens the store where no workspace is staged: what proposals hold counts in the quota.
Task<Result<>> CodeExecution::stage_workspace(jail::Request& request) {
  if (!caller_.policy->staging.offers()) co_return Result<>{};
  CO_TRY(auto store, co_await environment_.proposals.of(caller_.tenant, caller_.policy->staging));
  if (request.workspace.access != jail::WorkspaceAccess::staged) co_return Result<>{};
  if (turn_ && turn_->staging()) {  // the session's jail has its mount
    workspace_.stage(turn_->staging());
    co_return Result<>{};
  }
  CO_CHECKED(co_await store->admit());
  request.workspace.staging = executions::staging_folders(caller_.client.loop, store);
  if (turn_) {
    turn_->stage(std::move(store));
    workspace_.stage(turn_->staging());
  } else {
    workspace_.stage(std::move(store));
  }
  co_return Result<>{};
}

Task<Result<>> CodeExecution::admit_to_workspace(jail::Request& request) {
  policies::Limits& limits = request.spec.limits;
  CO_CHECKED(co_await workspace_.admit(limits.file_bytes));
  if (turn_) {  // the session's jail has the policy's limits, for all of its programs
    if (workspace_.room() == executions::WorkspaceGuard::Room::none) co_return tl::unexpected<Error>(workspace_.full());
    co_return Result<>{};
  }
  // The code of shell is a file in memory.
  const uint64_t code_bytes = language_ == jail::Language::shell ? request.code.size() : 0;
  limits.file_bytes = std::max(workspace_.file_bytes(), code_bytes);
  co_return Result<>{};
}

void CodeExecution::connect(jail::Request& request) {
  request.id = recording_.id();
  request.trace = recording_.record().trace;
  request.handle = &recording_.record().handle;
  recording_.connect(request);
  ::clock_gettime(CLOCK_REALTIME_COARSE, &program_started_);
  workspace_.begin();
  request.before_code = [this] { return workspace_.started(); };
  request.over_quota = [this] { return workspace_.is_over_quota(); };
  request.disk = calls::disk_account_of(
      caller_.tenant, fmt::format("execution {} of tenant {}", recording_.id(), caller_.tenant->name()));
  if (executions::StagedWorkspace* staged = workspace_.staged()) {
    request.staged = [staged](const std::shared_ptr<jail::OverlayFolder>& folder) { staged->begin(folder); };
    request.settles = [staged](const jail::OverlayFolder&) { return staged->has_changes(); };
  } else if (turn_ && turn_->staging()) {
    turn_->staging()->program_begins(about());
    request.staged = [session = turn_->staging()](const std::shared_ptr<jail::OverlayFolder>& folder) {
      session->begin(folder);
    };
  }
  if (network_) request.listens = [this](int listener) { network_->begin(listener); };
  caller_.session = session_.name;
  caller_.is_staged = request.workspace.access == jail::WorkspaceAccess::staged;
  request.call = [this](std::string name, Json params) {
    return environment_.calls.call(caller_, std::move(name), std::move(params));
  };
  if (!caller_.client.wants_progress()) return;
  caller_.notify = [this](const std::string& line) { progress_.set_line(line); };
  request.progressed = [this](uint64_t, std::string_view line) { progress_.set_line(line); };
}

proposals::ProposalAbout CodeExecution::about() const {
  return {recording_.id(), std::string(jail::language_name(language_)), recording_.record().requested_ms};
}

Task<Result<jail::Report>> CodeExecution::run_program(jail::Request request) {
  auto report = co_await run_in_jail(std::move(request));
  if (network_) co_await network_->finish();
  if (!report) {
    CO_CHECKED(co_await recording_.end_without_jail());
    report.error().what += "; the program did not run";
    co_return tl::unexpected<Error>(std::move(report).error());
  }
  ran_ = ProgramRan::maybe;
  co_return report;
}

Task<Result<jail::Report>> CodeExecution::run_in_jail(jail::Request request) {
  if (turn_) {
    auto report = co_await turn_->run(std::move(request));
    co_return report;
  }
  // The call has a limit of its own: no waiting jail has it, and no jail is built ahead for it.
  if (workspace_.room() != executions::WorkspaceGuard::Room::enough) {
    auto report = co_await jail::execute(environment_.host, std::move(request));
    co_return report;
  }
  auto report = co_await jail::execute(environment_.host, environment_.pool, std::move(request));
  co_return report;
}

Task<Result<mcp::ToolResult>> CodeExecution::answer(jail::Report report) {
  ExecuteAnswer answer;
  answer.execution_id = recording_.id();
  answer.report = &report;
  answer.form = form_;
  answer.has_receipt = wants_receipt(caller_.client.meta, *caller_.policy);
  answer.clamped = clamped_;
  answer.notes = code_notes_;
  if (language_ == jail::Language::shell) answer.shell_exit_1 = caller_.policy->shell_exit_1;
  if (std::string text = calls::call_limit_note(caller_.calls, caller_.policy->calls.per_execution); !text.empty())
    answer.notes.push_back(std::move(text) + ": ask for more data in one call, or continue in another execution");
  if (network_) {
    if (!network_->trouble().empty()) answer.notes.push_back("the program had no network: " + network_->trouble());
    answer.network = network_->totals();
    answer.refused = network_->refused();
  }
  executions::WorkspaceEffects effects = co_await workspace_.finish(report, about());
  co_await take_result(report, answer);
  if (workspace_.is_staged()) {
    co_await take_proposal(effects, report, answer);
  } else {
    take_effects(effects, report, answer);
  }
  if (turn_) {
    if (effects.staged && workspace_.is_over_quota()) turn_->end("its staged changes are more than the quota");
    answer.session = turn_->state_json();
    if (effects.staged) answer.session["staged"] = {{"files", effects.staged->files}, {"bytes", effects.staged->bytes}};
    log_session(report, answer);
  }
  answer.ignored = co_await ignored_files(answer);
  if (form_ == AnswerForm::branch) limit_branch_output(report, answer);
  add_advice(report, answer);
  succeeded_ = report.outcome == jail::Outcome::ok;
  mcp::ToolResult result = make_answer(answer);
  const journal::Ledger ledger = ledger_of(result, effects.read_tokens);
  CO_CHECKED(co_await recording_.end(report, ledger, answer.changes));
  co_return result;
}

// Read beside the loop: the file is foreign, and so are its patterns. Without a file that can be read: no path; nor if
// it has changed since the program began, which could else leave its own changes out of the answer.
Task<IgnoredFiles> CodeExecution::ignored_files(const ExecuteAnswer& answer) const {
  std::vector<std::string> paths;
  for (const tenants::Changes* changes : {answer.changes, answer.meanwhile})
    if (changes) add_paths_to_ignore(*changes, paths);
  if (paths.empty()) co_return IgnoredFiles();
  auto file = caller_.tenant->workspace().open_file(RelativePath::parse(".gitignore").value());
  if (!file) co_return IgnoredFiles();
  const size_t bytes = std::accumulate(paths.begin(), paths.end(), kMaxIgnoreBytes,
                                       [](size_t sum, const std::string& path) { return sum + path.size(); });
  auto shared = std::make_shared<const Fd>(*std::move(file));
  std::function<Result<IgnoredFiles>()> job = [shared, paths = std::move(paths),
                                               started = program_started_]() -> Result<IgnoredFiles> {
    struct stat now {};
    if (::fstat(shared->get(), &now) < 0) return fail_errno(errno, "look at .gitignore");
    if (std::pair(now.st_ctim.tv_sec, now.st_ctim.tv_nsec) >= std::pair(started.tv_sec, started.tv_nsec))
      return IgnoredFiles();
    std::string text(kMaxIgnoreBytes, '\0');
    const ssize_t size = ::pread(shared->get(), text.data(), text.size(), 0);
    if (size < 0) return fail_errno(errno, "read .gitignore");
    text.resize(static_cast<size_t>(size));
    return IgnoredFiles(text, paths);
  };
  Work::Owner owner{caller_.tenant->name(), caller_.policy->limits.standard.json_bytes_per_second};
  auto read = co_await environment_.host.work.run(std::move(owner), bytes, std::move(job));
  co_return read ? *std::move(read) : IgnoredFiles();
}

// A large value becomes text beside the loop.
Task<> CodeExecution::take_result(jail::Report& report, ExecuteAnswer& answer) {
  answer.out_left_out = recording_.output().left_out(tenants::Stream::out);
  answer.err_left_out = recording_.output().left_out(tenants::Stream::err);
  if (report.value_form != jail::ValueForm::none) take_stored(report.value_form, answer);
  if (!report.value || (form_ == AnswerForm::call && !is_large(*report.value))) co_return;
  // A text stays in the report: the session's log has it without JSON's quotes.
  Json value = turn_ && report.value->is_string() ? *report.value : std::move(*report.value);
  auto text = co_await write_json(std::move(value));
  if (!text) answer.notes.insert(answer.notes.begin(), "the result was lost: " + text.error().what);
  answer.result = text ? *std::move(text) : "null";
  if (recording_.record().background && answer.result.size() > kMaxBackgroundResult) store_text(report, answer);
}

// Stores a result that its message had room for, but the answer has not.
void CodeExecution::store_text(jail::Report& report, ExecuteAnswer& answer) {
  jail::ValueForm form = jail::ValueForm::json;
  std::string text = std::exchange(answer.result, {});
  if (text.starts_with('"')) {
    if (auto parsed = parse_json(text)) text = parsed->get<std::string>(), form = jail::ValueForm::text;
  }
  report.value.reset();
  if (auto saved = recording_.keep_value(text); saved) return take_stored(form, answer);
  report.outcome = jail::Outcome::error;
  report.error = fmt::format(
      "the result cannot be returned: it is {} bytes, and cannot be stored; write it to a file in the workspace, or "
      "return a summary of it",
      text.size());
}

void CodeExecution::take_stored(jail::ValueForm form, ExecuteAnswer& answer) const {
  StoredValue stored;
  stored.form = form;
  stored.bytes = recording_.output().size(tenants::Stream::value);
  if (auto begin = caller_.tenant->executions().read(recording_.id(), tenants::Stream::value, 0, kStoredShown))
    stored.begins = valid_utf8(std::string_view(begin->bytes).substr(0, whole_utf8_prefix(begin->bytes)));
  // The resource `result` of a background execution is its whole answer.
  const auto part =
      recording_.record().background ? tenants::stream_name(tenants::Stream::value) : tenants::kResultPart;
  stored.uri = fmt::format("{}{}/{}", tenants::kExecutionScheme, recording_.id(), part);
  answer.stored = std::move(stored);
}

// A branch has its share of one answer. A larger result is stored; a larger image is left out.
void CodeExecution::limit_branch_output(jail::Report& report, ExecuteAnswer& answer) {
  constexpr uint64_t kMinText = 2048;
  const size_t text_bytes = std::max(branch_bytes_ / 4, kMinText);
  for (std::string* text : {&report.error, &report.traceback})
    if (text->size() > text_bytes) *text = valid_utf8(text->substr(0, text_bytes)) + " ...";
  uint64_t bytes = answer.result.size();
  if (bytes > branch_bytes_) {
    store_text(report, answer);
    bytes = 0;
  }
  if (answer.stored) {
    std::string& begins = answer.stored->begins;
    begins = valid_utf8(std::string_view(begins).substr(0, std::max<size_t>(branch_bytes_ / 8, 200)));
    bytes = begins.size();
  }
  const size_t images = answer.images.size();
  std::erase_if(answer.images, [&](const jail::GuestImage& image) {
    if (bytes + image.base64.size() > branch_bytes_) return true;
    bytes += image.base64.size();
    return false;
  });
  if (const size_t remaining = images - answer.images.size(); remaining > 0)
    answer.notes.push_back(
        fmt::format("{} image{} left out: {} bytes of the answer are this branch's; save images to "
                    "files in the workspace",
                    remaining, remaining == 1 ? " was" : "s were", branch_bytes_));
}

void CodeExecution::take_effects(const executions::WorkspaceEffects& effects, jail::Report& report,
                                 ExecuteAnswer& answer) {
  answer.quota = effects.quota;
  answer.images = std::move(report.images);
  if (!effects.changes) return;
  const tenants::Changes& changes = *effects.changes;
  answer.changes = &changes;
  append_image_files(answer.images, caller_.tenant->workspace(), changes);
  if (!effects.meanwhile.empty()) {
    answer.meanwhile = &effects.meanwhile;
    if (form_ == AnswerForm::call)
      answer.notes.emplace_back(
          "`changed_meanwhile`: another execution ran in this workspace, and these files may be its changes");
    environment_.files_changed(*caller_.tenant, effects.meanwhile);
  }
  if (changes.empty()) return;
  if (effects.peers_wrote)
    answer.notes.emplace_back(
        "other executions wrote to this workspace meanwhile: `files` contains their changes, too");
  environment_.files_changed(*caller_.tenant, changes);
}

// What becomes of a staged program's changes.
Task<> CodeExecution::take_proposal(executions::WorkspaceEffects& effects, jail::Report& report,
                                    ExecuteAnswer& answer) {
  answer.quota = effects.quota;
  answer.images = std::move(report.images);
  if (effects.lost) answer.notes.push_back(lost_changes_note(*effects.lost));
  if (effects.changes) answer.changes = &*effects.changes;
  if (!effects.proposal) co_return;
  const proposals::ProposalStore& store =
      workspace_.staged() ? workspace_.staged()->store() : turn_->staging()->store();
  if (auto files = store.open_files(effects.proposal->id)) {
    const tenants::Workspace staged(caller_.client.loop, *std::move(files), Fd(), {});
    append_image_files(answer.images, staged, *answer.changes);
  }
  const size_t diff_bytes =
      form_ == AnswerForm::branch ? std::min<size_t>(kMaxDiffBytes, branch_bytes_ / 4) : kMaxDiffBytes;
  auto reported = co_await conclude_proposal(environment_.proposals, caller_, std::move(*effects.proposal),
                                             report.outcome, diff_bytes);
  answer.proposal = std::move(reported);
}

void CodeExecution::add_advice(jail::Report& report, ExecuteAnswer& answer) const {
  const std::string tenant = caller_.tenant->name(), id = recording_.id();
  const AdvisedExecution execution{tenant, id, session_.name, language_};
  if (report.outcome == jail::Outcome::error || report.outcome == jail::Outcome::exit) {
    const std::string advice = earlier_name_advice(environment_.recent_code, execution, report);
    if (!advice.empty()) report.message += (report.message.empty() ? "" : "; ") + advice;
    if (!advice.empty() || language_ != jail::Language::shell) return;
  }
  const auto code = environment_.recent_code.find(tenant, id);
  if (!code || !code->text) return;
  if (answer.result.empty() && !answer.stored)
    if (std::string note = null_result_advice(*code->text, language_, report); !note.empty())
      answer.notes.push_back(std::move(note));
  if (language_ != jail::Language::shell) return;
  if (std::string note = earlier_export_advice(environment_.recent_code, execution, *code->text); !note.empty())
    answer.notes.push_back(std::move(note));
}

void CodeExecution::log_session(const jail::Report& report, const ExecuteAnswer& answer) const {
  const Json& meta = caller_.client.meta;
  const std::string task = text_member(meta, kTaskKey), session = text_member(meta, kSessionKey);
  const executions::SessionLogEntry entry{session_.name, recording_.id(), task,           session,
                                          session_.code, report,          answer.changes, answer.result};
  executions::log_session_task(*caller_.tenant, entry);
}

journal::Ledger CodeExecution::ledger_of(const mcp::ToolResult& result, uint64_t read_tokens) const {
  journal::Ledger ledger;
  ledger.returned_bytes = mcp::min_size(result);
  ledger.returned_tokens = executions::returned_tokens(result);
  ledger.read_tokens = read_tokens;
  tenants::Member& member = tenants::member_of(caller_.client);
  if (std::exchange(member.definitions_counted, true)) return ledger;
  const executions::DefinitionSize all = executions::definition_size(*environment_.catalog_of());
  ledger.definitions_avoided_bytes = all.bytes - std::min(all.bytes, member.definition_bytes);
  if (all.bytes > 0) ledger.definitions_avoided_tokens = all.tokens * ledger.definitions_avoided_bytes / all.bytes;
  return ledger;
}

// Large values are written beside the loop. The tenant's budget was charged when they were read.
Task<Result<std::string>> CodeExecution::write_json(Json value) const {
  if (!is_large(value)) co_return dump_json(value);
  Work::Owner owner{caller_.tenant->name(), caller_.policy->limits.standard.json_bytes_per_second};
  auto text = co_await dump_beside(environment_.host.work, std::move(owner), std::move(value));
  co_return text;
}

}  // namespace runs

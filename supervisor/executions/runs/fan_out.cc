#include "supervisor/executions/runs/fan_out.h"

#include <fmt/format.h>

#include <algorithm>

#include "jail/execution/execution.h"
#include "policies/limits.h"
#include "policies/policy_parts.h"
#include "supervisor/base/json/json.h"
#include "supervisor/protocol/mcp/context.h"

namespace runs {
namespace {

// The shares of a branch of the answer, however many branches there are.
constexpr uint64_t kMinResultBytes = 1024, kMinOutputBytes = 128;
// The orders of branches that run at one time: the daemon has a copy of the variables for each.
constexpr size_t kMaxOrderBytes = 64 << 20;
constexpr size_t kMaxBranchLinks = 5;
// What a session needs to write its values, beside the values.
constexpr uint64_t kMinRoom = 8 << 20;
constexpr size_t kMaxSharedText = 16 << 10;

using Texts = std::vector<std::string>;

Texts texts_of_items(const Json& items) {
  Texts texts;
  texts.reserve(items.size());
  for (const Json& item : items) texts.push_back(dump_json(item));
  return texts;
}

executions::ExecutionRecordPtr branch_record(const executions::ExecutionRecord& call, size_t index) {
  auto record = std::make_shared<executions::ExecutionRecord>();
  record->id = fmt::format("{}-{}", call.id, index);
  record->language = call.language;
  record->workspace = call.workspace;
  record->tenant = call.tenant;
  record->policy = call.policy;
  record->principal = call.principal;
  record->uid = call.uid;
  record->pid = call.pid;
  record->requested_ms = journal::now_ms();
  return record;
}

// Moves the blocks behind the text of a branch to the whole answer. Says in the element how many images are its own.
void take_blocks(mcp::ToolResult& branch, std::string& element, mcp::ToolResult& tool_result, size_t& links) {
  size_t images = 0;
  for (size_t i = 1; i < branch.content.size(); i++) {
    mcp::Block& block = branch.content[i];
    if (std::holds_alternative<mcp::ResourceLink>(block) && links++ >= kMaxBranchLinks) continue;
    images += std::holds_alternative<mcp::Image>(block) ? 1 : 0;
    tool_result.content.push_back(std::move(block));
  }
  if (images == 0) return;
  element.pop_back();
  element += fmt::format(",\"images\":{}}}", images);
}

}  // namespace

FanOut::FanOut(ExecuteEnvironment& environment, calls::CallContext caller, executions::ExecutionRecording& recording,
               executions::ExecutionRecording::Books books)
    : environment_(environment),
      caller_(std::move(caller)),
      recording_(recording),
      books_(books),
      progress_(caller_.client, recording.record()),
      branches_(books.loop) {}

FanOut::~FanOut() {
  executions::ExecutionRecord& record = recording_.record();
  record.withdraw = nullptr;
  if (!ended_.empty() && record.stage != executions::Stage::ended)
    record.message = fmt::format("cancelled with its branches; {} of {} had ended", done_, items_.size());
}

Task<Result<mcp::ToolResult>> FanOut::run(Json arguments) {
  FreedBeside items(&environment_.host.work, Json()), variables(&environment_.host.work, Json::object());
  CO_CHECKED(check_fork_arguments(*caller_.policy, arguments));
  CO_TRY(request_, read_execute_request(*caller_.tenant, *caller_.policy, arguments));
  set_hash_seed(request_, arguments, environment_.workflows);
  *items = std::move(arguments["fork"]);
  if (const auto it = arguments.find("context_vars"); it != arguments.end()) *variables = std::move(*it);
  for (const auto& [variable, value] : (*variables).items()) variable_names_.push_back(variable);
  announce();
  CO_CHECKED(co_await write_inputs(std::move(items), std::move(variables)));
  share_limits();
  sending_.emplace(progress_.send());
  if (const auto session = arguments.find("session"); session != arguments.end())
    CO_CHECKED(co_await share_session(session->get<std::string>()));
  CO_CHECKED(co_await run_branches());
  co_return answer();
}

// The registry learns the language, and how an administrator ends the call with all its branches.
void FanOut::announce() {
  executions::ExecutionRecord& record = recording_.record();
  record.language = jail::language_name(request_.jail.spec.language);
  record.workspace = jail::access_name(request_.jail.workspace.access);
  record.limits = request_.jail.spec.limits;
  record.withdraw = [this] { cancel(); };
}

// Many items, and large ones, become text beside the loop. The tenant's budget was charged when they were read.
Task<Result<>> FanOut::write_inputs(FreedBeside items, FreedBeside variables) {
  Work& work = environment_.host.work;
  const Work::Owner owner{caller_.tenant->name(), policies::limits_of(*caller_.policy).standard.json_bytes_per_second};
  if (is_large(*items)) {
    auto document = std::make_shared<Json>(std::move(*items));
    std::function<Result<Texts>()> job = [document]() -> Result<Texts> {
      Texts texts = texts_of_items(*document);
      *document = Json();
      return texts;
    };
    CO_TRY(items_, co_await work.run(owner, 0, std::move(job)));
  } else {
    items_ = texts_of_items(*items);
  }
  if (is_large(*variables)) {
    CO_TRY(variables_, co_await dump_beside(work, owner, std::move(*variables)));
  } else {
    variables_ = dump_json(*variables);
  }
  variables_.pop_back();
  if (variables_.size() > 1) variables_ += ',';
  co_return Result<>{};
}

// All branches together may print and answer as much as one execution. What a branch prints beyond its share is kept.
void FanOut::share_limits() {
  policies::Limits& limits = request_.jail.spec.limits;
  limits.output_bytes = std::max(limits.output_bytes / items_.size(), kMinOutputBytes);
  result_bytes_ = std::max(limits.result_bytes / items_.size(), kMinResultBytes);
  size_t largest = 0;
  for (const std::string& item : items_) largest = std::max(largest, item.size());
  const size_t order = request_.jail.code.size() + variables_.size() + largest;
  at_once_ = std::max<size_t>(kMaxOrderBytes / (order + 1), 1);
}

// The session writes the values that the code names into a memory file. Its guest's work is an execution of the session
// under its limits; it has a place among all executions, and gives it back before the branches begin.
Task<Result<>> FanOut::share_session(const std::string& name) {
  progress_.set_waits_for("its turn in the session");
  executions::Sessions::Ask ask;
  ask.tenant = caller_.tenant;
  ask.policy = caller_.policy;
  ask.name = name;
  ask.begin = executions::Sessions::Begin::never;
  ask.client = caller_.client.user;
  ask.execution = recording_.id();
  CO_TRY(executions::Sessions::Turn turn, co_await environment_.sessions.enter(std::move(ask)));
  turn_.emplace(std::move(turn));
  progress_.set_waits_for("a free place");
  CO_TRY(const executions::Admission::Permit permit, co_await next_slot());
  begin_clock();
  const uint64_t room = turn_->room_bytes();
  if (room < kMinRoom)
    co_return fail(Code::exhausted,
                   fmt::format("fork: session '{}' has no room for a copy of its values: it holds {} of its {} MB",
                               name, (turn_->memory_bytes() - room) >> 20, turn_->memory_bytes() >> 20),
                   "delete values that are not needed, or begin the session with more memory_mb", "session");
  CO_TRY(const std::shared_ptr<jail::SharedValues> values, jail::SharedValues::make(room - kMinRoom / 2));
  jail::Request share = request_.jail;
  share.id = recording_.id();
  share.handle = &recording_.record().handle;
  share.spec.limits.memory_bytes = turn_->memory_bytes();
  share.values_use = jail::Request::Values::write;
  share.values = values;
  share.workspace.access = jail::WorkspaceAccess::direct;  // of the session
  Json apart{{"item", nullptr}};
  for (const std::string& variable : variable_names_) apart[variable] = nullptr;
  share.context_vars = dump_json(apart);
  CO_TRY(jail::Report report, co_await turn_->run(std::move(share)));
  if (!environment_.host.cgroups && values->is_held()) {
    turn_->end("it kept the file of its shared values, which no cgroup counts");
    (void)turn_->state_json();  // the client learns it by this error
    co_return fail(
        Code::denied, fmt::format("fork: session '{}' was ended: it kept the file of its shared values open", name),
        "let no code of the session look into the runner, or run the daemon where cgroup v2 is delegated to it",
        "session");
  }
  CO_CHECKED(check_shared(report));
  const Work::Owner owner{caller_.tenant->name(), policies::limits_of(*caller_.policy).standard.json_bytes_per_second};
  std::function<Result<bool>()> seal = [values]() -> Result<bool> {
    CHECKED(values->seal());
    return true;
  };
  CO_CHECKED(co_await environment_.host.work.run(owner, 0, std::move(seal)));
  request_.jail.values_use = jail::Request::Values::read;
  request_.jail.values = values;
  co_return Result<>{};
}

Result<> FanOut::check_shared(jail::Report& report) {
  if (report.outcome == jail::Outcome::ok) {
    shared_ = report.value ? std::move(*report.value) : Json();
    if (rough_length(shared_, kMaxSharedText) >= kMaxSharedText) shared_ = Json();  // it is shown, and nothing more
    return {};
  }
  const Json session = turn_->state_json();
  std::string error_text = "fork: ";
  error_text += report.error.empty() ? "the session could not share its values: " + report.message
                                     : valid_utf8(report.error.substr(0, kMaxSharedText));
  if (session.contains("ended")) error_text += fmt::format("; session '{}' ended with it", turn_->name());
  if (report.outcome == jail::Outcome::error)
    return fail(
        Code::invalid, std::move(error_text),
        "let the code not name the value, or make it in the code; context_vars, items and files in the workspace "
        "reach branches, too",
        "session");
  return fail(Code::unavailable, std::move(error_text), "share fewer or smaller values", "session");
}

// One branch after the other waits for its place, so a list fills no queue: other calls get their turns between them.
Task<Result<>> FanOut::run_branches() {
  progress_.set_waits_for("a free place");
  for (size_t index = 0; index < items_.size(); index++) {
    while (running_ >= at_once_ && !over_) co_await await_news();
    auto position = co_await next_slot();
    if (!position && index == 0) co_return tl::unexpected<Error>(std::move(position).error());
    if (!position) {
      if (!over_) over_ = Over{"denied", std::move(position).error()};
      break;
    }
    if (index == 0) {
      if (!turn_) begin_clock();
      ended_.resize(items_.size());
      progress_.set_waits_for("");
    }
    running_++;
    branches_.spawn(run_branch(index, *std::move(position)));
  }
  while (running_ > 0) co_await await_news();
  co_return Result<>{};
}

// A full queue is no reason to end while a branch runs: its place will be free.
Task<Result<executions::Admission::Permit>> FanOut::next_slot() {
  for (;;) {
    if (over_) co_return tl::unexpected<Error>(over_->why);
    executions::Admission::Asker asker{caller_.tenant->account(), caller_.client.user.get()};
    auto position = co_await environment_.admission.enter(std::move(asker), *caller_.policy, recording_.id());
    if (over_) co_return tl::unexpected<Error>(over_->why);
    if (position || position.error().code != Code::exhausted || running_ == 0) co_return position;
    co_await await_news();
  }
}

void FanOut::begin_clock() {
  started_at_ = Monotonic::now();
  const auto wall = request_.jail.spec.limits.wall;
  deadline_ = Deadline(books_.loop, wall, [this, wall] {
    stop({"timeout",
          {Code::unavailable,
           0,
           fmt::format("the call's {:g} seconds passed before this branch began; it did not run",
                       std::chrono::duration<double>(wall).count()),
           "ask for a longer timeout_seconds, which all branches share, or give fewer items in one call",
           {}}});
  });
}

void FanOut::stop(Over over) {
  if (over_) return;
  over_ = std::move(over);
  environment_.sessions.withdraw(recording_.id());
  environment_.admission.withdraw(recording_.id());
  news_.resolve();
}

void FanOut::cancel() {
  stop({"cancelled",
        {Code::denied, 0, "cancelled by an administrator before this branch began; it did not run", {}, {}}});
  const auto living = living_;  // those that end now leave the list
  for (const auto& [index, record] : living) (void)environment_.executions.cancel(*record);
}

Task<> FanOut::run_branch(size_t index, executions::Admission::Permit permit) {
  EndedBranch ended = co_await end_of_branch(index, std::move(permit));
  ended_[index] = std::move(ended);
  running_--;
  done_++;
  notify();
}

// The branch gives back its place before its error is recorded.
Task<FanOut::EndedBranch> FanOut::end_of_branch(size_t index, executions::Admission::Permit permit) {
  executions::ExecutionRecording branch(books_, recording_.trace(), branch_record(recording_.record(), index));
  struct Living {
    std::map<size_t, executions::ExecutionRecord*>& all;
    size_t index;
    ~Living() { all.erase(index); }
  } const living{living_, index};
  living_.emplace(index, &branch.record());
  calls::CallContext caller = caller_;
  caller.execution = branch.id();
  caller.jail = &branch.record().handle;
  caller.trace = branch.trace();
  std::optional<CodeExecution> execution;
  execution.emplace(environment_, std::move(caller), branch);
  CodeExecution::Branch order{request_of(index), std::move(permit), result_bytes_};
  auto result = co_await execution->run_branch(std::move(order));
  EndedBranch ended;
  ended.succeeded = execution->succeeded();
  const ProgramRan ran = execution->ran();
  execution.reset();
  if (!result) {
    branch.refuse(result.error());
    const std::string id = branch.was_started() ? branch.id() : std::string();
    ended.succeeded = false;
    ended.result = make_refusal(id, result.error(), ran, AnswerForm::branch);
  } else {
    ended.result = *std::move(result);
  }
  co_return ended;
}

jail::Request FanOut::request_of(size_t index) const {
  jail::Request request = request_.jail;
  request.context_vars = variables_ + "\"item\":" + items_[index] + "}";
  const auto ran = std::chrono::duration_cast<std::chrono::milliseconds>(Monotonic::now() - started_at_);
  request.spec.limits.wall = std::max(request.spec.limits.wall - ran, policies::kMinWall);
  return request;
}

// Until a branch has ended, or no more may begin. The task goes on in a later turn: the one that tells is on the stack.
Task<> FanOut::await_news() {
  OneShot<> news(books_.loop);
  news_ = news.resolver();
  co_await news;
}

void FanOut::notify() {
  progress_.set_line(fmt::format("{} of {} branches ended, {} run", done_, items_.size(), running_));
  news_.resolve();
}

FanOut::EndedBranch FanOut::not_started() const {
  Json element{{"error", over_->why.what}, {"outcome", over_->outcome}};
  if (!over_->why.rule.empty()) element["rule"] = over_->why.rule;
  if (!over_->why.hint.empty()) element["remedy"] = over_->why.hint;
  return {mcp::ToolResult::text(dump_json(element)), false};
}

mcp::ToolResult FanOut::answer() {
  mcp::ToolResult tool_result;
  tool_result.content.emplace_back(mcp::Text{});
  std::string results, receipts;
  Json failed = Json::array();
  size_t links = 0;
  for (size_t index = 0; index < ended_.size(); index++) {
    EndedBranch& branch = ended_[index];
    if (!branch.result) branch = not_started();
    if (!branch.succeeded) failed.push_back(index);
    std::string element = std::move(std::get<mcp::Text>(branch.result->content.front()).text);
    take_blocks(*branch.result, element, tool_result, links);
    results += (index > 0 ? "," : "") + element;
    const auto receipt = branch.result->meta.find(kReceiptKey);
    receipts += (index > 0 ? "," : "") + (receipt == branch.result->meta.end() ? "null" : receipt->second);
  }
  const bool success = failed.empty();
  Json last{{"execution_id", recording_.id()}};
  if (!success) last["failed"] = failed;
  if (turn_) last["session"] = turn_->state_json();
  if (!shared_.is_null()) last["shared"] = shared_;
  if (!request_.clamped.empty()) last["clamped"] = clamped_json(request_.clamped);
  if (!request_.notes.empty()) last["notes"] = request_.notes;
  std::get<mcp::Text>(tool_result.content.front()).text =
      fmt::format(R"({{"success":{},"results":[{}],{})", success, results, dump_json(last).substr(1));
  tool_result.is_error = failed.size() == ended_.size();
  if (wants_receipt(caller_.client.meta, *caller_.policy))
    tool_result.meta["org.warder/receipts"] = "[" + receipts + "]";
  recording_.end_without_program(success ? "ok" : over_ ? over_->outcome : "error");
  return tool_result;
}

}  // namespace runs

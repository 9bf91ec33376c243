#include "supervisor/executions/runs/execute_answer.h"

#include <fmt/format.h>

#include <cmath>

#include "jail/applied.h"
#include "jail/execution/execution.h"
#include "jail/execution/jail_usage.h"
#include "jail/execution/outcome.h"
#include "policies/policy.h"
#include "supervisor/base/busy_time.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/percent.h"
#include "supervisor/executions/execution_registry.h"
#include "supervisor/executions/runs/folded_files.h"
#include "supervisor/records/journal/execution_facts.h"
#include "supervisor/tenants/index/interpreter_files.h"
#include "supervisor/tenants/resource_uris.h"

namespace runs {
namespace {

// Members: writes the members of one JSON object directly as text, without a JSON value of the output.
class Members {
 public:
  void raw(std::string_view key, std::string_view json) {
    text_ += text_.size() == 1 ? "\"" : ",\"";
    text_.append(key);
    text_ += "\":";
    text_.append(json);
  }
  void string(std::string_view key, std::string_view value) {
    raw(key, "");
    append_json_string(text_, value);
  }
  void lines(std::string_view key, std::string_view value) {
    raw(key, "[");
    for (bool first = true; !value.empty(); first = false) {
      size_t end = value.find('\n');
      if (!first) text_ += ',';
      append_json_string(text_, value.substr(0, end));
      value = end == std::string_view::npos ? std::string_view() : value.substr(end + 1);
    }
    text_ += ']';
  }
  std::string take() && { return std::move(text_) + "}"; }

 private:
  std::string text_ = "{";
};

// The versions of the package layers, short: the receipt has the whole hashes.
std::string layers_json(const jail::Applied& applied) {
  constexpr size_t kShortHash = 12;
  Json layers;
  for (const auto& [name, hash] : applied.layers) layers[name] = hash.substr(0, kShortHash);
  return dump_json(layers);
}

void add_truncated(Members& members, const ExecuteAnswer& answer) {
  Json truncated;
  auto stream = [&](const char* name, const jail::CapturedStream& s, uint64_t left_out) {
    if (!s.truncated) return;
    truncated[name] = {
        {"bytes", s.bytes}, {"lines", s.lines}, {"resource", "exec:///" + answer.execution_id + "/" + name}};
    if (left_out > 0) truncated[name]["left_out"] = left_out;
  };
  stream("stdout", answer.report->out, answer.out_left_out);
  stream("stderr", answer.report->err, answer.err_left_out);
  if (answer.stored)
    truncated["result"] = {{"bytes", answer.stored->bytes},
                           {"form", answer.stored->form == jail::ValueForm::text ? "text" : "json"},
                           {"resource", answer.stored->uri}};
  if (!truncated.empty()) members.raw("truncated", dump_json(truncated));
}

void add_files(Members& members, std::string_view key, const tenants::Changes& changes, const IgnoredFiles& ignored) {
  const Json files = folded_files(changes, ignored);
  if (!files.empty()) members.raw(key, dump_json(files));
}

// Links to created files, for clients that read a file by its link. Further files are only named in `files`.
constexpr size_t kMaxLinks = 5;

void add_links(std::vector<mcp::Block>& content, const tenants::Changes& changes, const IgnoredFiles& ignored) {
  size_t links = 0;
  for (const std::string& path : changes.created.paths) {
    if (valid_utf8(path) != path) continue;                // no URI can name it
    if (!tenants::managed_folder(path).empty()) continue;  // a tool's own file, which no client reads by its link
    if (ignored.contains(path)) continue;
    if (links++ == kMaxLinks) break;
    mcp::ResourceLink link;
    link.uri = std::string(tenants::kWorkspaceScheme) + encode_percent(path);
    link.name = path;
    content.push_back(std::move(link));
  }
}

// True for a shell program that ended with status 1 and an empty stderr, if the policy takes this for an answer. grep
// ends so without a match, diff after a difference.
bool says_no(const ExecuteAnswer& answer) {
  const jail::Report& report = *answer.report;
  return answer.shell_exit_1 == policies::ShellExit1::answer && report.outcome == jail::Outcome::exit &&
         report.exit_status == 1 && report.err.bytes == 0;
}

// The note about processes that the program left running; empty without these processes, or if the program did not end
// by itself: the end by a limit ends all processes anyway.
std::string left_processes_note(const jail::Report& report) {
  const bool by_itself = report.outcome == jail::Outcome::ok || report.outcome == jail::Outcome::error ||
                         report.outcome == jail::Outcome::exit;
  if (!by_itself || !report.left_running) return {};
  const uint32_t count = *report.left_running;
  return fmt::format(
      "{} that the program left running {} ended with its jail, with all processes that {} had started: no process "
      "continues after the answer",
      count == 0   ? "processes"
      : count == 1 ? "1 process"
                   : fmt::format("{} processes", count),
      count == 1 ? "was" : "were", count == 1 ? "it" : "they");
}

bool is_success(const ExecuteAnswer& answer) { return answer.report->outcome == jail::Outcome::ok; }

// The value of the program, and its type where JSON cannot hold the value.
void add_result(Members& members, const ExecuteAnswer& answer) {
  const jail::Report& report = *answer.report;
  if (answer.stored) {
    members.string("result_begins", answer.stored->begins);
    if (!report.value_type.empty()) members.string("result_type", report.value_type);
  } else if (!answer.result.empty() || (report.value && !report.value->is_null())) {
    members.raw("result", answer.result.empty() ? dump_json(*report.value) : answer.result);
    if (!report.value_type.empty()) members.string("result_type", report.value_type);
  } else if (is_success(answer)) {
    members.raw("result", "null");
  }
}

// Why the program did not end well, and what to do about it.
void add_failure(Members& members, const ExecuteAnswer& answer) {
  const jail::Report& report = *answer.report;
  const std::string& message = answer.quota ? answer.quota->what : report.message;
  members.string("error", report.error.empty() ? message
                          : message.empty()    ? report.error
                                               : report.error + " (" + message + ")");
  if (answer.quota) {
    members.string("rule", answer.quota->rule);
    members.string("remedy", answer.quota->hint);
  } else if (report.outcome == jail::Outcome::internal) {
    members.raw("may_have_run", "true");
    members.string("remedy", jail::kAfterInternal);
  }
}

// Which execution it was, and how it ended.
void add_end(Members& members, const ExecuteAnswer& answer) {
  const jail::Report& report = *answer.report;
  members.string("execution_id", answer.execution_id);
  members.string("outcome", jail::outcome_name(report.outcome));
  const bool has_layers = answer.form == AnswerForm::call && !report.receipt.applied.layers.empty();
  if (has_layers) members.raw("layers", layers_json(report.receipt.applied));
  if (!answer.session.is_null()) members.raw("session", dump_json(answer.session));
  const int status = report.exit_status.value_or(0);
  if (status != 0 && !(status == 1 && report.outcome == jail::Outcome::error))
    members.raw("exit_status", std::to_string(status));
  if (report.signal && report.outcome == jail::Outcome::signal) members.raw("signal", std::to_string(*report.signal));
}

// What an agent can act on: much processor time, much memory. With the receipt: all that was measured.
void add_usage(Members& members, const ExecuteAnswer& answer) {
  const auto form = answer.has_receipt ? journal::UsageForm::all : journal::UsageForm::large;
  const Json usage = journal::usage_json(executions::ended_with(answer.report->usage), form);
  if (!usage.is_null()) members.raw("usage", dump_json(usage));
}

void add_egress(Members& members, const ExecuteAnswer& answer) {
  if (!answer.network || answer.network->requests == 0) return;
  Json egress{{"requests", answer.network->requests},
              {"denied", answer.network->denied},
              {"bytes_up", answer.network->bytes_up},
              {"bytes_down", answer.network->bytes_down}};
  for (const RefusedRequest& item : answer.refused) {
    Json refused{{"host", item.host}, {"why", item.why}};
    if (!item.rule.empty()) refused["rule"] = item.rule;
    egress["refused"].push_back(std::move(refused));
  }
  members.raw("egress", dump_json(egress));
}

void add_notes(Members& members, const ExecuteAnswer& answer) {
  Json notes = answer.notes;
  if (std::string remaining = left_processes_note(*answer.report); !remaining.empty())
    notes.push_back(std::move(remaining));
  if (answer.stored && answer.form == AnswerForm::call)
    notes.push_back(fmt::format("the result is too large for an answer: read_workspace_file(\"{}\") reads it in parts",
                                answer.stored->uri));
  for (const auto& [stream, name] :
       {std::pair(&answer.report->out, "stdout"), std::pair(&answer.report->err, "stderr")})
    if (stream->overwritten)
      notes.push_back(
          fmt::format("of lines that were written again (\\r) the last text is shown: exec:///{}/{} has all",
                      answer.execution_id, name));
  if (is_success(answer) && !answer.report->message.empty()) notes.push_back(answer.report->message);
  if (!notes.empty()) members.raw("notes", dump_json(notes));
}

}  // namespace

Json clamped_json(const std::vector<policies::Clamp>& clamped) {
  Json all = Json::array();
  for (const auto& item : clamped)
    all.push_back({{"name", item.name}, {"asked", item.requested}, {"given", item.given}});
  return all;
}

bool wants_receipt(const Json& meta, const policies::Policy& policy) {
  return policy.receipt == policies::ReceiptDelivery::answer || member(meta, kReceiptKey) == true;
}

mcp::ToolResult make_answer(const ExecuteAnswer& answer) {
  const NamedWork named_work(LoopWork::answer);
  const jail::Report& report = *answer.report;
  const bool success = is_success(answer);
  const bool full = answer.form == AnswerForm::call;
  Members members;
  if (full) members.raw("success", success ? "true" : "false");
  add_result(members, answer);
  if (full || !report.out.text.empty()) members.lines("output", report.out.text);
  if (full) members.raw("execution_time_ms", std::to_string(std::llround(report.usage.wall_ms)));
  if (!success) add_failure(members, answer);
  if (!report.traceback.empty()) members.string("traceback", report.traceback);
  add_end(members, answer);
  if (!report.err.text.empty()) members.string("stderr", report.err.text);
  add_usage(members, answer);
  add_egress(members, answer);
  if (answer.changes) add_files(members, "files", *answer.changes, answer.ignored);
  if (!answer.proposal.is_null()) members.raw("proposal", dump_json(answer.proposal));
  if (answer.meanwhile) add_files(members, "changed_meanwhile", *answer.meanwhile, answer.ignored);
  add_truncated(members, answer);
  if (!answer.clamped.empty()) members.raw("clamped", dump_json(clamped_json(answer.clamped)));
  add_notes(members, answer);
  mcp::ToolResult result;
  result.content.push_back(mcp::Text{std::move(members).take()});
  for (const auto& image : answer.images) result.content.push_back(mcp::Image{image.base64, image.mime});
  const bool is_staged = !answer.proposal.is_null() && answer.proposal["state"] != "committed";
  if (answer.changes && !is_staged) add_links(result.content, *answer.changes, answer.ignored);
  result.is_error = !success && !says_no(answer);
  if (answer.has_receipt) result.meta[kReceiptKey] = report.receipt_json;
  return result;
}

mcp::ToolResult make_refusal(const std::string& execution_id, const Error& error, ProgramRan ran, AnswerForm form) {
  const bool denied = ran == ProgramRan::no && (error.code == Code::denied || error.code == Code::exhausted ||
                                                error.code == Code::invalid || error.code == Code::not_found);
  Members members;
  if (form == AnswerForm::call) {
    members.raw("success", "false");
    members.lines("output", "");
  }
  members.string("error", error.what);
  members.string("code", code_name(error.code));
  if (!error.rule.empty()) members.string("rule", error.rule);
  if (!error.hint.empty()) members.string("remedy", error.hint);
  if (!denied) members.raw("may_have_run", ran == ProgramRan::maybe ? "true" : "false");
  if (!execution_id.empty()) members.string("execution_id", execution_id);
  members.string("outcome", denied ? "denied" : "internal");
  mcp::ToolResult result = mcp::ToolResult::error(std::move(members).take());
  return result;
}

}  // namespace runs

#include "supervisor/programs/cli/run.h"

#include <cstdio>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/programs/cli/request.h"
#include "supervisor/programs/cli/terminal.h"

namespace cli {
namespace {

constexpr int64_t kRequestId = 1;

// nullptr, too, for null.
const Json* present_member(const Json& object, const char* key) {
  const Json* found = find_member(object, key);
  return found && !found->is_null() ? found : nullptr;
}

std::optional<int> number_of(const Json& object, const char* key) {
  const Json* value = present_member(object, key);
  if (!value || !value->is_number_integer()) return std::nullopt;
  return value->get<int>();
}

void print_line(std::FILE* to, std::string text) {
  if (text.empty() || text.back() != '\n') text += '\n';
  print_text(to, text);
}

// "memory_bytes: 3.9 GiB was asked for; the policy gives at most 128 MiB, which only an administrator can raise"
std::string clamp_text(const Json& item) {
  return text_member(item, "name") + ": " + text_member(item, "asked") + " was asked for, " +
         text_member(item, "given") + " is given: the limit of the policy, which only an administrator can change";
}

std::string cut_text(const Json& answer, const std::string& stream, const Json& sizes) {
  const Json* bytes = present_member(sizes, "bytes");
  const bool has_bytes = bytes && bytes->is_number_unsigned();
  const std::string of = has_bytes ? " of " + std::to_string(bytes->get<uint64_t>()) + " bytes" : "";
  return "only a part of " + stream + of + " is shown; all of it: warder logs --" + stream + " " +
         text_member(answer, "execution_id");
}

// Cuts the last line of a traceback where it is the begin of the error, which has more: the text that is too long to be
// there twice, or advice.
void cut_last_line(std::string& traceback, const std::string& error) {
  const std::string_view text = std::string_view(traceback).substr(0, traceback.find_last_not_of('\n') + 1);
  const size_t newline = text.rfind('\n');
  if (newline != text.npos && error.starts_with(text.substr(newline + 1))) traceback.resize(newline);
}

void print_answer(const Json& answer) {
  if (const Json* output = present_member(answer, "output"); output && output->is_array()) {
    for (const auto& line : *output)
      if (line.is_string()) print_line(stdout, line.get<std::string>());
  }
  if (const Json* result = present_member(answer, "result"))
    print_line(stdout, result->is_string() ? result->get<std::string>() : dump_json(*result));
  if (const auto text = text_member(answer, "stderr"); !text.empty()) print_line(stderr, text);
  if (const Json* lines = present_member(answer, "stderr"); lines && lines->is_array()) {
    for (const auto& line : *lines)
      if (line.is_string()) print_line(stderr, line.get<std::string>());
  }
  std::string traceback = text_member(answer, "traceback");
  const auto error = text_member(answer, "error");
  const bool is_within = traceback.find(error) != std::string::npos;
  if (!is_within) cut_last_line(traceback, error);
  if (!traceback.empty()) print_line(stderr, traceback);
  if (!is_within) print_line(stderr, traceback.empty() ? "warder run: " + error : error);
  if (const auto remedy = text_member(answer, "remedy"); !remedy.empty()) print_line(stderr, "  " + remedy);
  if (const Json* clamped = present_member(answer, "clamped"); clamped && clamped->is_array())
    for (const auto& item : *clamped) print_line(stderr, "warder run: " + clamp_text(item));
  if (const Json* cut = present_member(answer, "truncated"); cut && cut->is_object())
    for (const auto& [stream, sizes] : cut->items())
      print_line(stderr, "warder run: " + cut_text(answer, stream, sizes));
}

void mention_images(const Json& result) {
  const Json* content = present_member(result, "content");
  if (!content || !content->is_array()) return;
  for (const auto& block : *content)
    if (text_member(block, "type") == "image")
      print_line(stderr,
                 "warder run: an image (" + text_member(block, "mimeType") + ") was returned, too; --json prints it");
}

// What --json prints, in one shape: the answer, and in `content` the blocks of the result besides it: pictures, links.
Json json_answer(const Json& answer, const std::string& text, const Json& result) {
  Json output = answer.empty() ? Json{{"success", false}, {"error", text}} : answer;
  const Json* content = present_member(result, "content");
  if (!content || !content->is_array() || content->size() < 2) return output;
  Json peers = Json::array();
  for (size_t i = 1; i < content->size(); i++) peers.push_back((*content)[i]);
  output["content"] = std::move(peers);
  return output;
}

Result<int> report(const Json& message, const RunOptions& options) {
  if (const Json* error = present_member(message, "error")) {
    const Json* data = present_member(*error, "data");
    return fail(Code::unavailable, "warderd answered: " + text_member(*error, "message"),
                data ? text_member(*data, "remedy") : std::string());
  }
  const Json* result = present_member(message, "result");
  if (!result) return fail(Code::internal, "warderd answered with neither result nor error");
  const std::string text = text_of_result(*result);
  const auto parsed = parse_json(text);
  const Json answer = parsed && parsed->is_object() ? *parsed : Json::object();

  if (options.print == RunPrint::json) {
    print_line(stdout, dump_json(json_answer(answer, text, *result)));
  } else if (answer.empty()) {
    print_line(stderr, text);
  } else {
    print_answer(answer);
    mention_images(*result);
  }
  if (options.receipt == ReceiptPrint::yes) {
    const Json* meta = present_member(*result, "_meta");
    const Json* receipt = meta ? present_member(*meta, "org.warder/receipt") : nullptr;
    print_line(stderr, receipt ? receipt->dump(2, ' ', false, Json::error_handler_t::replace)
                               : std::string("warder run: warderd sent no receipt"));
  }
  std::fflush(stdout);
  if (!answer.empty()) return exit_status(answer);
  const Json* failed = present_member(*result, "isError");
  return failed && *failed == true ? kExitError : 0;
}

}  // namespace

std::string language_of(std::string_view file) {
  if (file.ends_with(".js") || file.ends_with(".mjs") || file.ends_with(".cjs")) return "javascript";
  if (file.ends_with(".ts") || file.ends_with(".mts") || file.ends_with(".cts")) return "typescript";
  if (file.ends_with(".sh") || file.ends_with(".bash")) return "shell";
  return "python";
}

Result<std::pair<std::string, std::string>> parse_context(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return fail(Code::invalid, "--context '" + std::string(text) + "' is not NAME=VALUE");
  return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

std::string run_request(const RunOptions& options, int64_t id) {
  Json arguments = {{"code", options.code}, {"language", options.language}};
  if (options.timeout_seconds) arguments["timeout_seconds"] = *options.timeout_seconds;
  if (options.memory_mb) arguments["memory_mb"] = *options.memory_mb;
  for (const auto& [name, value] : options.context) {
    auto parsed = parse_json(value);
    arguments["context_vars"][name] = parsed ? std::move(*parsed) : Json(value);
  }
  Json params = {{"name", "execute_code"}, {"arguments", std::move(arguments)}};
  if (options.receipt == ReceiptPrint::yes) params["_meta"] = {{"org.warder/receipt", true}};
  return request_text("tools/call", std::move(params), id);
}

int exit_status(const Json& answer) {
  const std::string outcome = text_member(answer, "outcome");
  if (outcome == "ok") return 0;
  if (outcome == "exit") return number_of(answer, "exit_status").value_or(kExitError) & 0xff;
  if (outcome == "signal") {
    const auto number = number_of(answer, "signal");
    return number ? 128 + (*number & 0x7f) : kExitError;
  }
  if (outcome == "timeout" || outcome == "cpu_time") return kExitTimeout;
  if (outcome == "memory") return kExitMemory;
  if (outcome == "cancelled") return kExitCancelled;
  if (outcome == "internal") return kExitUnavailable;
  const Json* success = present_member(answer, "success");
  return outcome.empty() && success && *success == true ? 0 : kExitError;
}

namespace {

// A program that has succeeded is done with its workflow: the next run begins anew.
void end_workflow(const SocketPath& socket, const std::string& workflow) {
  const Json arguments = {{"filename", "workflow:///" + workflow}};
  const Json call = {{"name", "delete_workspace_file"}, {"arguments", arguments}};
  auto message = ask_daemon(socket, request_text("tools/call", call, kRequestId), kRequestId);
  if (!message || !*message) return print_line(stderr, "warder run: the steps of the workflow were not deleted");
  const Json* result = present_member(**message, "result");
  const auto answer = parse_json(result ? text_of_result(*result) : std::string());
  if (answer && answer->is_object() && text_member(*answer, "code") == "not_found")
    print_line(stderr, "warder run: the program did not use a workflow named '" + workflow + "'");
}

}  // namespace

Result<int> run_code(const SocketPath& socket, const RunOptions& options) {
  TRY(const auto message, ask_daemon(socket, run_request(options, kRequestId), kRequestId));
  if (!message) return kExitCancelled;
  TRY(const int status, report(*message, options));
  if (status == 0 && !options.workflow.empty()) end_workflow(socket, options.workflow);
  return status;
}

}  // namespace cli

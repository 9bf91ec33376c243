// The commands `warder workflow check`, `run` and `show`. The skill `workflow` checks and runs the document in a jail.
#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "supervisor/base/json/json.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/policies/yaml_document.h"
#include "supervisor/programs/cli/amounts.h"
#include "supervisor/programs/cli/request.h"
#include "supervisor/programs/cli/run.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

constexpr char kCheckCode[] = "from skills import workflow\nresult = workflow.check(document)";
constexpr char kRunCode[] = "from skills import workflow\nresult = workflow(document, variables)";

Result<std::optional<Json>> result_of(const ParsedCommand& command, const char* method, Json params) {
  return cli::result_of(cli::find_socket(command.socket), method, std::move(params));
}

// The mistakes of the document, by the skill; nullopt: interrupted.
Result<std::optional<std::vector<std::string>>> mistakes_of(const ParsedCommand& command, const Json& document) {
  const Json arguments = {{"code", kCheckCode}, {"context_vars", {{"document", document}}}};
  TRY(const auto result, result_of(command, "tools/call", {{"name", "execute_code"}, {"arguments", arguments}}));
  if (!result) return std::optional<std::vector<std::string>>();
  const auto answer = parse_json(cli::text_of_result(*result));
  const auto report = answer && answer->is_object() ? answer->find("result") : Json::const_iterator();
  if (!answer || !answer->is_object() || report == answer->end() || !report->is_array())
    return fail(Code::internal,
                "the workflow could not be checked: " +
                    (answer && answer->is_object() ? answer->value("error", "no result") : "no answer"));
  std::vector<std::string> all;
  for (const Json& item : *report)
    if (item.is_string()) all.push_back(item.get<std::string>());
  return std::optional(std::move(all));
}

// The line of a place, or of the object around it; nullopt: unknown.
std::optional<size_t> line_of(const std::map<std::string, size_t>& lines, std::string path) {
  for (;;) {
    if (const auto it = lines.find(path); it != lines.end()) return it->second;
    const size_t end = path.find_last_of(".[");
    if (end == path.npos) return std::nullopt;
    path.resize(end);
  }
}

void print_mistake(const std::string& file, const YamlDocument& document, const std::string& mistake) {
  const auto line = line_of(document.lines, mistake.substr(0, mistake.find(": ")));
  cli::print_text(stdout,
                  line ? fmt::format("{}:{}: {}\n", file, *line, mistake) : fmt::format("{}: {}\n", file, mistake));
}

// Prints the mistakes; returns the exit status, or nullopt without a mistake.
Result<std::optional<int>> refuse_mistakes(const ParsedCommand& command, const std::string& file,
                                           const YamlDocument& document) {
  TRY(const auto mistakes, mistakes_of(command, document.value));
  if (!mistakes) return std::optional(cli::kExitCancelled);
  if (command.json) cli::print_text(stdout, dump_json(Json(*mistakes)) + "\n");
  if (mistakes->empty()) return std::optional<int>();
  if (!command.json)
    for (const std::string& name : *mistakes) print_mistake(file, document, name);
  return std::optional(cli::kExitError);
}

std::optional<double> guardrail(const Json& document, const char* key) {
  const auto rules = document.find("guardrails");
  if (rules == document.end() || !rules->is_object() || !rules->contains(key)) return std::nullopt;
  return (*rules)[key].is_number() ? std::optional((*rules)[key].get<double>()) : std::nullopt;
}

Result<std::optional<double>> limit(const ParsedCommand& command, const char* flag, const cli::AmountRange& range,
                                    std::optional<double> otherwise) {
  if (!command.has(flag)) return otherwise;
  auto value = cli::parse_amount(command.value(flag, ""), range);
  if (!value) return tl::unexpected<Error>(std::move(value).error().within(std::string("--") + flag));
  return std::optional<double>(*value);
}

std::string name_of(const Json& document) {
  const auto name = document.find("name");
  return name != document.end() && name->is_string() ? name->get<std::string>() : std::string();
}

}  // namespace

Result<int> check_workflow(const ParsedCommand& command) {
  if (command.words.size() != 1) return fail(Code::invalid, "name one file");
  TRY(const YamlDocument document, read_document_file(command.words[0]));
  TRY(const std::optional<int> status, refuse_mistakes(command, command.words[0], document));
  if (!status && !command.json) cli::print_text(stdout, fmt::format("{}: no mistake\n", command.words[0]));
  return status.value_or(0);
}
const ProgramOfCommand kCheckWorkflow{"workflow check", check_workflow};

Result<int> run_workflow(const ParsedCommand& command) {
  if (command.words.size() != 1) return fail(Code::invalid, "name one file");
  TRY(const YamlDocument document, read_document_file(command.words[0]));
  ParsedCommand quiet = command;
  quiet.json = false;
  TRY(const std::optional<int> status, refuse_mistakes(quiet, command.words[0], document));
  if (status) return *status;
  cli::RunOptions options;
  options.code = kRunCode;
  options.language = "python";
  options.print = command.json ? cli::RunPrint::json : cli::RunPrint::text;
  if (!command.has("keep")) options.workflow = name_of(document.value);
  Json variables = Json::object();
  for (const std::string& name : command.values("variable")) {
    auto both = cli::parse_context(name);
    if (!both) return fail(Code::invalid, "--variable '" + name + "' is not NAME=VALUE");
    auto value = parse_json(both->second);
    variables[both->first] = value ? *std::move(value) : Json(both->second);
  }
  options.context = {{"document", dump_json(document.value)}, {"variables", dump_json(variables)}};
  TRY(options.timeout_seconds,
      limit(command, "timeout", cli::kSecondsAmount, guardrail(document.value, "max_execution_time")));
  TRY(options.memory_mb, limit(command, "memory", cli::kMemoryAmount, guardrail(document.value, "max_memory_mb")));
  return cli::run_code(cli::find_socket(command.socket), options);
}
const ProgramOfCommand kRunWorkflow{"workflow run", run_workflow};

Result<int> show_workflow(const ParsedCommand& command) {
  if (command.words.size() != 1) return fail(Code::invalid, "name one workflow");
  std::string name = command.words[0];
  if (auto document = read_document_file(name); document && !name_of(document->value).empty())
    name = name_of(document->value);
  TRY(const auto result, result_of(command, "resources/read", {{"uri", "workflow:///" + name}}));
  if (!result) return cli::kExitCancelled;
  const auto contents = result->find("contents");
  const Json empty = Json::array();
  const Json& list = contents != result->end() && contents->is_array() ? *contents : empty;
  const auto state = parse_json(list.empty() ? std::string() : list[0].value("text", ""));
  if (!state || !state->is_object()) return fail(Code::internal, "warderd answered without the workflow");
  if (command.json) {
    cli::print_text(stdout, dump_json(*state) + "\n");
    return 0;
  }
  cli::print_text(stdout, fmt::format("{}: {}, {} steps, execution {}, expires {}\n", name, state->value("state", "-"),
                                      state->value("steps_recorded", 0), state->value("execution_id", "-"),
                                      state->value("expires_at", "-")));
  for (const Json& step : state->value("steps", Json::array())) {
    std::string line = fmt::format("{:>5}  {:<8}  {}  {}", step.value("position", 0), step.value("state", "-"),
                                   step.value("ended_at", "-"), step.value("name", "-"));
    if (const int attempts = step.value("attempts", 1); attempts > 1) line += fmt::format("  ({} attempts)", attempts);
    if (step.contains("error")) line += ": " + step.value("error", "");
    cli::print_text(stdout, line + "\n");
  }
  return 0;
}
const ProgramOfCommand kShowWorkflow{"workflow show", show_workflow};

}  // namespace admin

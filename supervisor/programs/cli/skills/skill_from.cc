// The command `warder skill from`. The shipped skill `skill_from_code` makes the new skill, in a jail.
#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "skills/name.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/request.h"
#include "supervisor/programs/cli/run.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

constexpr char kMakeCode[] =
    "from skills import skill_from_code\n"
    "result = skill_from_code(code, name, language=language, parameters=parameters)";
constexpr size_t kMaxDescription = 1000;  // bytes

std::vector<std::string> texts_in(const Json& of, const char* key) {
  std::vector<std::string> all;
  const auto found = of.is_object() ? of.find(key) : of.end();
  if (found == of.end() || !found->is_array()) return all;
  for (const Json& item : *found)
    if (item.is_string()) all.push_back(item.get<std::string>());
  return all;
}

// The answer of a tool. nullopt: the user interrupted it. Errors: the tool's own, in its words.
Result<std::optional<Json>> call_tool(const ParsedCommand& command, const char* tool, Json arguments) {
  const Json params = {{"name", tool}, {"arguments", std::move(arguments)}};
  TRY(const auto result, cli::result_of(cli::find_socket(command.socket), "tools/call", params));
  if (!result) return std::optional<Json>();
  auto answer = parse_json(cli::text_of_result(*result));
  if (!answer || !answer->is_object()) return fail(Code::internal, std::string(tool) + " answered with no object");
  if (result->value("isError", false)) {
    const Code code = text_member(*answer, "code") == "not_found" ? Code::not_found : Code::denied;
    return fail(code, text_member(*answer, "error"), text_member(*answer, "remedy"));
  }
  return std::optional<Json>(*std::move(answer));
}

Result<std::optional<Json>> read_code(const ParsedCommand& command, const std::string& execution) {
  const Json params = {{"uri", "exec:///" + execution + "/code"}};
  auto result = cli::result_of(cli::find_socket(command.socket), "resources/read", params);
  if (!result && result.error().code == Code::not_found)
    return fail(Code::not_found, "the code of execution '" + execution + "' is not there for this user",
                "run the program again as the user of this command: the daemon holds the code of the newest "
                "executions, up to 256 KiB each, until it ends");
  if (!result) return tl::unexpected<Error>(std::move(result).error());
  if (!*result) return std::optional<Json>();
  const auto contents = (*result)->find("contents");
  const bool has_text = contents != (*result)->end() && contents->is_array() && !contents->empty();
  auto report = parse_json(has_text ? text_member(contents->front(), "text") : std::string());
  if (!report || text_member(*report, "code").empty())
    return fail(Code::invalid, "execution '" + execution + "' had no code", "name an execution that ran a program");
  return std::optional<Json>(*std::move(report));
}

// The skill, as skill_from_code makes it. Errors: denied, the code cannot become a skill.
Result<std::optional<Json>> make_skill(const ParsedCommand& command, const std::string& name, const Json& report) {
  const Json variables = {{"code", report["code"]},
                          {"name", name},
                          {"language", text_member(report, "language")},
                          {"parameters", command.values("parameter")}};
  const Json arguments = {{"code", kMakeCode}, {"context_vars", variables}};
  auto answer = call_tool(command, "execute_code", arguments);
  if (!answer) {
    Error error = std::move(answer).error();
    constexpr std::string_view kMistake = "ValueError: ";
    if (error.what.starts_with(kMistake)) error.what.erase(0, kMistake.size());
    return tl::unexpected<Error>(std::move(error).within("no skill was made"));
  }
  if (!*answer) return std::optional<Json>();
  const auto created = (*answer)->find("result");
  if (created == (*answer)->end() || text_member(*created, "code").empty())
    return fail(Code::internal, "skill_from_code answered with no skill");
  return std::optional<Json>(std::move(*created));
}

// Refuses to replace a skill by accident. Errors: denied.
Result<> check_free(const ParsedCommand& command, const std::string& name) {
  if (command.has("replace") || command.has("dry-run")) return {};
  auto loaded = call_tool(command, "load_skill", {{"name", name}});
  if (!loaded) {
    if (loaded.error().code == Code::not_found) return {};
    return tl::unexpected<Error>(std::move(loaded).error());
  }
  if (!*loaded) return {};
  const Json about = (*loaded)->value("metadata", Json::object());
  if (about.contains("shared"))
    return fail(Code::denied, "the skill '" + name + "' is a shared one, shipped with Warder or of the cluster",
                "choose another --name");
  return fail(Code::denied,
              fmt::format("there is a skill '{}' already, version {}: {}", name, about.value("version", 0),
                          text_member(about, "description")),
              "--replace saves a new version of it; older versions stay");
}

void print_skill(const Json& skill) {
  cli::print_text(stdout, text_member(skill, "code"));
  for (const std::string& note : texts_in(skill, "notes")) cli::print_text(stderr, "warder skill from: " + note + "\n");
}

}  // namespace

Result<int> make_skill_of_execution(const ParsedCommand& command) {
  if (command.words.size() != 1) return fail(Code::invalid, "name one execution, by its whole id");
  if (!command.has("name")) return fail(Code::invalid, "--name is missing: the name of the skill");
  const std::string name = command.value("name", "");
  CHECKED(skills::check_name(name));
  std::string description = command.value("description", "");
  if (description.size() > kMaxDescription)
    return fail(Code::invalid, fmt::format("--description has more than {} bytes", kMaxDescription));
  TRY(const auto code, read_code(command, command.words.front()));
  if (!code) return cli::kExitCancelled;
  CHECKED(check_free(command, name));
  TRY(const auto skill, make_skill(command, name, *code));
  if (!skill) return cli::kExitCancelled;
  if (description.empty()) description = text_member(*skill, "description");
  if (description.empty()) description = "Made of execution " + command.words.front();
  if (!command.json) print_skill(*skill);
  Json output = *skill;
  output["name"] = name;
  output["description"] = description;
  if (command.has("dry-run")) {
    if (command.json) cli::print_text(stdout, dump_json(output) + "\n");
    return 0;
  }
  const Json draft = {{"name", name},
                      {"code", text_member(*skill, "code")},
                      {"description", description},
                      {"language", text_member(*skill, "language")}};
  TRY(const auto saved, call_tool(command, "save_skill", draft));
  if (!saved) return cli::kExitCancelled;
  output["version"] = saved->value("version", 0);
  output["uri"] = text_member(*saved, "uri");
  if (command.json) {
    cli::print_text(stdout, dump_json(output) + "\n");
    return 0;
  }
  cli::print_text(stderr, fmt::format("saved as version {} of the skill '{}': {}\nuse it in code:\n{}\n",
                                      saved->value("version", 0), name, description, text_member(*skill, "usage")));
  return 0;
}
const ProgramOfCommand kMakeSkillOfExecution{"skill from", make_skill_of_execution};

}  // namespace admin

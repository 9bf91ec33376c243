// `warder policy import`: prints a policy with the guardrails of a file that other agents' tools read: `guardrails`
// with enabled, strict_mode, security_checks, max_execution_time and max_memory_mb.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <optional>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/text_lines.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/policies/policy_documents.h"
#include "supervisor/programs/cli/admin/policies/policy_store.h"
#include "supervisor/programs/cli/admin/policies/yaml_document.h"
#include "supervisor/programs/cli/admin/values.h"
#include "supervisor/programs/cli/indented_json.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

constexpr std::string_view kVariables = "GUARDRAILS_";
constexpr double kMaxSeconds = 86'400, kMaxMegabytes = 1 << 20;

// "GUARDRAILS_STRICT_MODE=true" in the lines of a .env file gives {"strict_mode": true}. Other lines are ignored.
Result<Json> guardrails_of_variables(const std::string& text) {
  std::string yaml;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = *take_line(rest);
    if (line.starts_with("export ")) line.remove_prefix(7);
    const size_t equals = line.find('=');
    if (!line.starts_with(kVariables) || equals == line.npos) continue;
    const std::string key = lower_case(line.substr(kVariables.size(), equals - kVariables.size()));
    yaml += fmt::format("{}: {}\n", key, line.substr(equals + 1));
  }
  if (yaml.empty()) return fail(Code::invalid, "no line sets a variable GUARDRAILS_...");
  TRY(YamlDocument read, read_yaml(yaml));
  return std::move(read.value);
}

Result<Json> read_guardrails(const std::string& file) {
  if (file.ends_with(".env")) {
    TRY(const std::string text, read_document_text(file));
    auto guardrails = guardrails_of_variables(text);
    if (!guardrails) return tl::unexpected<Error>(std::move(guardrails).error().within(file));
    return guardrails;
  }
  TRY(const YamlDocument document, read_document_file(file));
  const Json& result = member(document.value, "guardrails");
  if (result.is_object()) return result;
  if (document.value.is_object() && document.value.contains("enabled")) return document.value;
  return fail(Code::invalid, file + ": has no object `guardrails`",
              "for example: guardrails: {enabled: true, max_execution_time: 300}");
}

struct Guardrails {
  bool enabled = true, strict = false, checks = true;
  std::optional<double> seconds, megabytes;
};

Result<Guardrails> read_rails(const Json& object) {
  Fields in(object, "guardrails");
  Guardrails rails;
  TRY(rails.enabled, in.boolean_or("enabled", true));
  TRY(rails.strict, in.boolean_or("strict_mode", false));
  TRY(rails.checks, in.boolean_or("security_checks", true));
  if (in.has("max_execution_time")) {
    TRY(rails.seconds, in.number("max_execution_time", 0.001, kMaxSeconds));
  }
  if (in.has("max_memory_mb")) {
    TRY(rails.megabytes, in.number("max_memory_mb", 1, kMaxMegabytes));
  }
  CHECKED(in.done());
  return rails;
}

// A program that asks for no limit gets at most the guardrail.
void set_limit(Json& policy, const Json& base, const char* key, int64_t max) {
  const Json& usual = member(member(member(base, "limits"), "standard"), key);
  const int64_t standard = usual.is_number_integer() ? usual.get<int64_t>() : max;
  policy["limits"]["standard"][key] = std::min(standard, max);
  policy["limits"]["maximum"][key] = max;
}

// The example's rules without those about security, which the file has switched off.
Json without_security(const Json& base) {
  Json rules = Json::array();
  for (const Json& rule : member(member(base, "calls"), "rules"))
    if (!text(rule, "name").starts_with("security-")) rules.push_back(rule);
  return rules;
}

Json policy_of(const Guardrails& rails, const std::string& file, const Json& base) {
  auto note = [&file](std::string_view key, const auto& value) {
    return fmt::format("guardrail {}: {} of {}", key, value, file);
  };
  Json policy = {{"description", "The guardrails of " + file.substr(0, 900) + ", imported."},
                 {"extends", !rails.enabled ? "default"
                             : rails.strict ? "guardrails-strict"
                                            : "guardrails"}};
  Json notes = Json::object();
  if (rails.enabled) {
    notes["calls.rules"] = rails.checks ? note("enabled", true) : note("security_checks", false);
    notes["calls.otherwise"] = note("strict_mode", rails.strict);
    if (!rails.checks) policy["calls"]["rules"] = without_security(base);
  } else {
    notes["calls.rules"] = notes["calls.otherwise"] = note("enabled", false);
  }
  if (rails.seconds) {
    set_limit(policy, base, "wall_ms", std::llround(*rails.seconds * 1000));
    notes["limits.maximum.wall_ms"] = note("max_execution_time", *rails.seconds);
  }
  if (rails.megabytes) {
    set_limit(policy, base, "memory_bytes", std::llround(*rails.megabytes * (1 << 20)));
    notes["limits.maximum.memory_bytes"] = note("max_memory_mb", *rails.megabytes);
  }
  policy["guardrails"] = std::move(notes);
  return policy;
}

}  // namespace

Result<int> import_policy(const ParsedCommand& command) {
  if (command.words.size() != 1) return fail(Code::invalid, "name one file");
  const std::string& path = command.words[0];
  TRY(const Json object, read_guardrails(path));
  auto rails = read_rails(object);
  if (!rails) return tl::unexpected<Error>(std::move(rails).error().within(path));
  const std::string file = path.substr(path.rfind('/') + 1);
  TRY(const auto documents, documents_of(policy_folders(command), rails->strict ? "guardrails-strict" : "guardrails"));
  const Json base = merged(documents);
  cli::print_text(stdout, indented_json(policy_of(*rails, file, base)));
  cli::print_text(
      stderr,
      "warder policy import: save this below /etc/warder/policies, for example as imported.json; name it in "
      "tenants.json, then: warder policy check, systemctl reload warder\n");
  return 0;
}
const ProgramOfCommand kImportPolicy{"policy import", import_policy};

}  // namespace admin

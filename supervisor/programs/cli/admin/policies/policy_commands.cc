// `warder policy check`, `show` and `explain`: print for people what the policies of this machine allow.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "policies/policy_parts.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/text_lines.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/policies/policy_documents.h"
#include "supervisor/programs/cli/admin/policies/policy_questions.h"
#include "supervisor/programs/cli/admin/policies/policy_store.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

// "limits.maximum.tasks = 256    /etc/warder/policies/a.json"
void print_keys(const Json& value, const std::string& path, const std::vector<PolicyDocument>& documents) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, child] : value.items()) print_keys(child, path.empty() ? key : path + "." + key, documents);
    return;
  }
  const std::string text = fmt::format("{} = {}", path, dump_json(value));
  cli::print_text(stdout, fmt::format("{:<52} {}\n", text, origin_of(documents, path)));
}

Json reported(const PolicyAnswer& answer) {
  Json out = {
      {"about", answer.about}, {"answer", allowed_name(answer.allowed)}, {"why", answer.why}, {"rule", answer.rule}};
  if (!answer.file.empty()) out["file"] = answer.file;
  if (!answer.remedy.empty()) out["remedy"] = answer.remedy;
  return out;
}

void print(const PolicyAnswer& answer) {
  std::string text = fmt::format("{:<8} {}: {}\n         rule: {}{}{}\n", allowed_name(answer.allowed), answer.about,
                                 answer.why, answer.rule, answer.file.empty() ? "" : ", in ", answer.file);
  if (!answer.remedy.empty()) text += "         to change it: " + answer.remedy + "\n";
  cli::print_text(stdout, text);
}

}  // namespace

Result<int> check_policies(const ParsedCommand& command) {
  auto store = load_policies(command);
  if (!store && store.error().code == Code::not_found) return tl::unexpected<Error>(std::move(store).error());
  const auto problems = store ? std::vector<std::string>{} : lines_in(store.error().what, EmptyLines::included);
  const auto warnings = store ? store->warnings() : std::vector<std::string>{};
  if (command.json) {
    Json out = {{"good", store.has_value()}, {"problems", problems}, {"warnings", warnings}};
    if (store) out["policies"] = store->names();
    print_json(out);
  } else {
    for (const auto& problem : problems) cli::print_text(stderr, problem + "\n");
    for (const auto& warning : warnings) cli::print_text(stderr, "warning: " + warning + "\n");
    if (store) cli::print_text(stdout, fmt::format("good: {}\n", fmt::join(store->names(), ", ")));
  }
  return store ? 0 : 1;
}
const ProgramOfCommand kCheckPolicies{"policy check", check_policies};

Result<int> show_policy(const ParsedCommand& command) {
  TRY(const policies::Store store, load_policies(command));
  TRY(const ChosenPolicy chosen, choose_policy(store, command));
  if (!chosen.policy)
    return fail(Code::denied, "no rule of " + chosen.file + " fits this client", "warder policy explain says more");
  TRY(const auto documents, documents_of(store.folders(), policies::name_of(*chosen.policy)));
  const Json all = merged(documents);
  if (command.json) {
    Json out = {{"policy", policies::name_of(*chosen.policy)}, {"document", all}};
    if (!chosen.tenant.empty()) out["tenant"] = chosen.tenant;
    print_json(out);
    return 0;
  }
  cli::print_text(stdout, fmt::format("policy {}{}{}\n", policies::name_of(*chosen.policy),
                                      chosen.tenant.empty() ? "" : ", tenant ", chosen.tenant));
  print_keys(all, "", documents);
  return 0;
}
const ProgramOfCommand kShowPolicy{"policy show", show_policy};

Result<int> explain_policy(const ParsedCommand& command) {
  TRY(const policies::Store store, load_policies(command));
  TRY(const ChosenPolicy chosen, choose_policy(store, command));
  TRY(const auto answers, answer_request(store, chosen, command));
  if (command.json) {
    Json list = Json::array();
    for (const auto& answer : answers) list.push_back(reported(answer));
    Json out = {{"answers", std::move(list)}};
    if (chosen.policy) out["policy"] = policies::name_of(*chosen.policy);
    if (!chosen.tenant.empty()) out["tenant"] = chosen.tenant;
    print_json(out);
  } else {
    for (const auto& answer : answers) print(answer);
  }
  return std::any_of(answers.begin(), answers.end(), [](auto& item) { return item.allowed == Permission::no; }) ? 1 : 0;
}
const ProgramOfCommand kExplainPolicy{"policy explain", explain_policy};

}  // namespace admin

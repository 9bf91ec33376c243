#include <set>

#include "supervisor/tools/skills/skill_resources.h"

namespace tools {
namespace {

using AskedKind = mcp::CompletionRequest::Kind;

// The slugs of skills, or the files of the chosen skill; without a chosen skill, the files of all skills.
std::set<std::string> known_values(const skills::Library& library, const mcp::CompletionRequest& asked) {
  std::string chosen;
  if (const auto skill = asked.resolved.find("skill"); skill != asked.resolved.end() && skill->is_string())
    chosen = skill->get<std::string>();
  std::set<std::string> values;
  for (const skills::Found& one : library.all()) {
    if (asked.argument == "skill") values.insert(one.skill->slug);
    if (asked.argument != "path" || (!chosen.empty() && chosen != one.skill->slug)) continue;
    for (const skills::SkillFile& file : one.skill->files) values.insert(file.path);
  }
  return values;
}

Task<Result<mcp::Completion>> complete_skill(skill_stores::TenantSkills& skills, Result<tenants::Requester> requester,
                                             mcp::CompletionRequest asked) {
  if (!requester) co_return tl::unexpected<Error>(std::move(requester).error());
  CO_TRY(skills::Library library, skills.library(*requester->tenant));
  mcp::Completion completion;
  completion.total = 0;
  if (asked.kind == AskedKind::prompt) {  // the task is the user's own text: no values
    const auto found = library.find(asked.reference);
    if (found && found->skill->name == asked.reference && asked.argument == "task") co_return completion;
  }
  if (asked.kind != AskedKind::resource || asked.reference != kSkillTemplate ||
      (asked.argument != "skill" && asked.argument != "path"))
    co_return fail(Code::not_found, "no skill has this reference or argument");
  for (const std::string& one : known_values(library, asked))
    if (one.starts_with(asked.value)) completion.values.push_back(one);
  completion.total = completion.values.size();
  co_return completion;
}

}  // namespace

mcp::CompletionHandler skill_completion(skill_stores::TenantSkills& skills, const tenants::RequesterOf& requester_of) {
  return [&skills, requester_of](mcp::RequestContext& context, mcp::CompletionRequest asked) {
    return complete_skill(skills, requester_of(context), std::move(asked));
  };
}

}  // namespace tools

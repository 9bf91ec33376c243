#include <set>

#include "supervisor/tools/skills/skill_resources.h"
#include "supervisor/upstream/calls/call_context.h"

namespace tools {
namespace {

using AskedKind = mcp::CompletionRequest::Kind;

// The slugs of skills, or the files of the chosen skill; without a chosen skill, the files of all skills.
std::vector<std::string> fitting_values(const std::vector<skills::Found>& all, const mcp::CompletionRequest& asked) {
  std::string chosen;
  if (const auto skill = asked.resolved.find("skill"); skill != asked.resolved.end() && skill->is_string())
    chosen = skill->get<std::string>();
  std::set<std::string> values;
  const auto add = [&](const std::string& value) {
    if (value.starts_with(asked.value)) values.insert(value);
  };
  for (const skills::Found& one : all) {
    if (asked.argument == "skill") add(one.skill->slug);
    if (asked.argument != "path" || (!chosen.empty() && chosen != one.skill->slug)) continue;
    for (const skills::SkillFile& file : one.skill->files) add(file.path);
  }
  return {values.begin(), values.end()};
}

Task<Result<mcp::Completion>> complete_skill(skill_stores::TenantSkills& skills, Work& work,
                                             Result<tenants::Requester> requester, mcp::CompletionRequest asked) {
  if (!requester) co_return tl::unexpected<Error>(std::move(requester).error());
  CO_TRY(skills::Library library, co_await skills.library(requester->tenant));
  mcp::Completion completion;
  completion.total = 0;
  if (asked.kind == AskedKind::prompt) {  // the task is the user's own text: no values
    const auto found = library.find(asked.reference);
    if (found && found->skill->name == asked.reference && asked.argument == "task") co_return completion;
  }
  if (asked.kind != AskedKind::resource || asked.reference != kSkillTemplate ||
      (asked.argument != "skill" && asked.argument != "path"))
    co_return fail(Code::not_found, "no skill has this reference or argument");
  std::function<Result<std::vector<std::string>>()> job =
      [all = library.all(), asked = std::move(asked)]() -> Result<std::vector<std::string>> {
    return fitting_values(all, asked);
  };
  CO_TRY(completion.values, co_await work.run(calls::owner_of(*requester), 0, std::move(job)));
  completion.total = completion.values.size();
  co_return completion;
}

}  // namespace

mcp::CompletionHandler skill_completion(skill_stores::TenantSkills& skills, Work& work,
                                        const tenants::RequesterOf& requester_of) {
  return [&skills, &work, requester_of](mcp::RequestContext& context, mcp::CompletionRequest asked) {
    return complete_skill(skills, work, requester_of(context), std::move(asked));
  };
}

}  // namespace tools

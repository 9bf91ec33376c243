#include <set>

#include "supervisor/tools/skills/skill_resources.h"
#include "supervisor/upstream/calls/call_context.h"

namespace tools {
namespace {

using CompletionKind = mcp::CompletionRequest::Kind;

// The slugs of skills, or the files of the chosen skill; without a chosen skill, the files of all skills.
std::vector<std::string> fitting_values(const std::vector<skills::SkillMatch>& all,
                                        const mcp::CompletionRequest& request) {
  std::string chosen;
  if (const auto skill = request.resolved.find("skill"); skill != request.resolved.end() && skill->is_string())
    chosen = skill->get<std::string>();
  std::set<std::string> values;
  const auto add = [&](const std::string& value) {
    if (value.starts_with(request.value)) values.insert(value);
  };
  for (const skills::SkillMatch& item : all) {
    if (request.argument == "skill") add(item.skill->slug);
    if (request.argument != "path" || (!chosen.empty() && chosen != item.skill->slug)) continue;
    for (const skills::SkillFile& file : item.skill->files) add(file.path);
  }
  return {values.begin(), values.end()};
}

Task<Result<mcp::Completion>> complete_skill(skill_stores::TenantSkills& skills, Work& work,
                                             Result<tenants::Requester> requester, mcp::CompletionRequest request) {
  if (!requester) co_return tl::unexpected<Error>(std::move(requester).error());
  CO_TRY(skills::Library library, co_await skills.library(requester->tenant));
  mcp::Completion completion;
  completion.total = 0;
  if (request.kind == CompletionKind::prompt) {  // the task is the user's own text: no values
    const auto it = library.find(request.reference);
    if (it && it->skill->name == request.reference && request.argument == "task") co_return completion;
  }
  if (request.kind != CompletionKind::resource || request.reference != kSkillTemplate ||
      (request.argument != "skill" && request.argument != "path"))
    co_return fail(Code::not_found, "no skill has this reference or argument");
  std::function<Result<std::vector<std::string>>()> job =
      [all = library.all(), request = std::move(request)]() -> Result<std::vector<std::string>> {
    return fitting_values(all, request);
  };
  CO_TRY(completion.values, co_await work.run(calls::owner_of(*requester), 0, std::move(job)));
  completion.total = completion.values.size();
  co_return completion;
}

}  // namespace

mcp::CompletionHandler skill_completion(skill_stores::TenantSkills& skills, Work& work,
                                        const tenants::RequesterOf& requester_of) {
  return [&skills, &work, requester_of](mcp::RequestContext& context, mcp::CompletionRequest request) {
    return complete_skill(skills, work, requester_of(context), std::move(request));
  };
}

}  // namespace tools

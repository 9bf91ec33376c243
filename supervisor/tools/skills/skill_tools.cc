#include "supervisor/tools/skills/skill_tools.h"

#include "supervisor/tools/workspace_answers.h"

namespace tools {
namespace {

using Core = SkillAnswer(skill_stores::TenantSkills&, const tenants::Requester&, Json);

Task<mcp::ToolResult> answer_agent(skill_stores::TenantSkills& skills, Result<tenants::Requester> requester, Core* core,
                                   Json arguments) {
  if (!requester) co_return failure(requester.error());
  auto answer = co_await core(skills, *requester, std::move(arguments));
  if (!answer) co_return failure(answer.error());
  co_return mcp::ToolResult::data(*std::move(answer));
}

Task<Result<Json>> answer_guest(skill_stores::TenantSkills& skills, const calls::GuestCaller& caller, Core* core,
                                Json arguments) {
  auto answer = co_await core(skills, caller, std::move(arguments));
  if (!answer) co_return tl::unexpected<Error>(std::move(answer).error());
  co_return Json(*std::move(answer));
}

}  // namespace

Json metadata_of(const skills::Found& found) {
  const skills::Skill& skill = *found.skill;
  const skills::SkillFile* code = skill.find_file(skill.code_file);
  Json metadata = {{"name", skill.name},
                   {"description", skill.description},
                   {"created", skill.created},
                   {"code_hash", code ? code->digest.substr(code->digest.find(':') + 1) : ""},
                   {"language", skills::language_name(skill.language)}};
  if (found.own) metadata["version"] = found.own->version();
  if (!found.own) metadata["shared"] = true;
  return metadata;
}

void add_skill_tools(mcp::Server& server, skill_stores::TenantSkills& skills,
                     const tenants::RequesterOf& requester_of) {
  auto add = [&](mcp::ToolDefinition definition, Core* core) {
    server.add_tool(std::move(definition), [&skills, requester_of, core](mcp::RequestContext& context, Json arguments) {
      return answer_agent(skills, requester_of(context), core, std::move(arguments));
    });
  };
  add(save_skill_definition(), save_skill);
  add(load_skill_definition(), load_skill);
  add(list_skills_definition(), list_skills);
  add(delete_skill_definition(), delete_skill);
}

void add_skill_calls(calls::GuestCalls& calls, skill_stores::TenantSkills& skills) {
  auto add = [&](const char* name, Core* core) {
    calls.add(name, [&skills, core](const calls::GuestCaller& caller, Json arguments) {
      return answer_guest(skills, caller, core, std::move(arguments));
    });
  };
  add("save_skill", save_skill);
  add("load_skill", load_skill);
  add("list_skills", list_skills);
  add("delete_skill", delete_skill);
}

}  // namespace tools

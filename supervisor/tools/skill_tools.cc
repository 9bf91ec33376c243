#include "supervisor/tools/skill_tools.h"

#include <fmt/format.h>

#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/tools/skill_check.h"
#include "supervisor/tools/workspace_answers.h"

using nlohmann::json;
using nlohmann::ordered_json;

namespace tools {
namespace {

constexpr uint32_t kMostChecks = 4;  // at once, of all tenants; each has one

using Core = SkillAnswer(Skills&, SkillUser, json);

Task<mcp::ToolResult> answer_agent(Skills& skills, Result<Asker> asker, Core* core, json arguments) {
  if (!asker) co_return failure(asker.error());
  SkillUser user{*asker->tenant, *asker->policy};
  auto answer = co_await core(skills, user, std::move(arguments));
  if (!answer) co_return failure(answer.error());
  co_return mcp::ToolResult::data(*std::move(answer));
}

Task<Result<json>> answer_guest(Skills& skills, const GuestCaller& caller, Core* core, json arguments) {
  SkillUser user{caller.tenant, caller.policy};
  auto answer = co_await core(skills, user, std::move(arguments));
  if (!answer) co_return tl::unexpected<Error>(std::move(answer).error());
  co_return json(*std::move(answer));
}

}  // namespace

Skills::Skills(jail::Host& host, jail::Pool& pool, skills::Shared shared, Changed changed)
    : host_(host),
      pool_(pool),
      shared_(std::move(shared)),
      changed_(std::move(changed)),
      checks_(host.loop, kMostChecks) {}

Result<skills::Store*> Skills::store(tenants::Tenant& tenant) {
  auto known = stores_.find(tenant.name());
  if (known != stores_.end()) return known->second.get();
  TRY(RelativePath path, RelativePath::parse("skills"));
  TRY(Fd directory, make_directories_beneath(tenant.directory(), path, 0700));
  TRY(skills::Store opened, skills::Store::open(std::move(directory)));
  for (const std::string& problem : opened.problems()) log_warning("tenant {}: {}", tenant.name(), problem);
  auto store = std::make_unique<skills::Store>(std::move(opened));
  return stores_.emplace(tenant.name(), std::move(store)).first->second.get();
}

Result<skills::Library> Skills::library(tenants::Tenant& tenant) {
  TRY(skills::Store * own, store(tenant));
  return skills::Library(shared_, *own);
}

Task<Result<skills::Store::Receipt>> Skills::save(SkillUser user, skills::Draft draft) {
  const policies::SkillRules& rules = user.policy.skills;
  if (!rules.save)
    co_return fail(Code::denied, fmt::format("policy '{}' does not let skills be saved", user.policy.name),
                   "keep the code in a file of the workspace", "skills.save");
  CO_CHECKED(skills::check_draft(draft));
  CO_TRY(skills::Store * own, store(user.tenant));
  if (!own->find(draft.name) && shared_.find(draft.name))
    co_return fail(Code::denied, fmt::format("'{}' is a skill that everybody shares", draft.name),
                   "choose another name", "skills.shared");
  policies::Policy one_check;  // for the queue: one check of a tenant at a time
  one_check.concurrent_executions = 1;
  one_check.queued_executions = user.policy.queued_executions;
  CO_TRY(Admission::Permit permit, co_await checks_.enter(user.tenant.name(), one_check));
  CO_CHECKED(co_await check_skill(host_, pool_, user, draft));
  skills::StoreLimits limits;
  limits.bytes = rules.bytes;
  limits.count = rules.count;
  CO_TRY(auto receipt, own->save(draft, limits));
  if (receipt.saved != skills::Store::Saved::same) changed_(user.tenant.name());
  co_return receipt;
}

Result<> Skills::remove(SkillUser user, const std::string& name) {
  if (!user.policy.skills.save)
    return fail(Code::denied, fmt::format("policy '{}' does not let skills be deleted", user.policy.name), {},
                "skills.save");
  TRY(skills::Store * own, store(user.tenant));
  if (!own->find(name) && shared_.find(name))
    return fail(Code::denied, fmt::format("'{}' is a skill that everybody shares", name), "leave it", "skills.shared");
  CHECKED(own->remove(name));
  changed_(user.tenant.name());
  return {};
}

ordered_json metadata_of(const skills::Found& found) {
  const skills::Skill& skill = *found.skill;
  const skills::File* code = skill.find_file(skill.code_file);
  ordered_json metadata = {{"name", skill.name},
                           {"description", skill.description},
                           {"created", skill.created},
                           {"code_hash", code ? code->digest.substr(code->digest.find(':') + 1) : ""},
                           {"language", skills::language_name(skill.language)}};
  if (found.own) metadata["version"] = found.own->version();
  if (!found.own) metadata["shared"] = true;
  return metadata;
}

void add_skill_tools(mcp::Server& server, Skills& skills, const AskerOf& asker_of) {
  auto add = [&](mcp::ToolDefinition definition, Core* core) {
    server.add_tool(std::move(definition), [&skills, asker_of, core](mcp::RequestContext& context, json arguments) {
      return answer_agent(skills, asker_of(context), core, std::move(arguments));
    });
  };
  add(save_skill_definition(), save_skill);
  add(load_skill_definition(), load_skill);
  add(list_skills_definition(), list_skills);
  add(delete_skill_definition(), delete_skill);
}

void add_skill_calls(GuestCalls& calls, Skills& skills) {
  auto add = [&](const char* name, Core* core) {
    calls.add(name, [&skills, core](const GuestCaller& caller, json arguments) {
      return answer_guest(skills, caller, core, std::move(arguments));
    });
  };
  add("save_skill", save_skill);
  add("load_skill", load_skill);
  add("list_skills", list_skills);
  add("delete_skill", delete_skill);
}

}  // namespace tools

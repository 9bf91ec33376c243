#include "skills/search.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/tools/catalog/catalog_answers.h"
#include "supervisor/tools/skills/skill_tools.h"
#include "supervisor/upstream/calls/call_context.h"

namespace tools {
namespace {

constexpr int64_t kMaxSkillsListed = 1000;

}  // namespace

mcp::ToolDefinition list_skills_definition() {
  mcp::ToolDefinition tool;
  tool.name = "list_skills";
  tool.description = "Saved and shared skills.";
  tool.input_schema = Json::parse(R"({
    "type": "object",
    "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}
  })");
  mark_read_only(tool);
  return tool;
}

SkillAnswer list_skills(skill_stores::TenantSkills& skills, Work& work, const tenants::Requester& user,
                        Json arguments) {
  Fields in(arguments, "list_skills");
  CO_TRY(std::string query, in.string_or("query", "", 1000));
  CO_TRY(int64_t limit, in.integer_or("limit", 1, kMaxSkillsListed, kMaxSkillsListed));
  CO_CHECKED(in.done());
  CO_TRY(skills::Library library, co_await skills.library(user.tenant));
  std::function<Result<Json>(WorkMeter&)> job = [all = library.all(), query, limit](WorkMeter& meter) -> Result<Json> {
    TRY(const auto found, skills::search(all, query, meter));
    Json listed = Json::array();
    for (const skills::SkillMatch& item : found) {
      if (static_cast<int64_t>(listed.size()) == limit) break;
      listed.push_back(metadata_of(item));
    }
    Json answer = {{"count", listed.size()}, {"skills", std::move(listed)}};
    if (answer["count"] != found.size()) answer["total"] = found.size();
    return answer;
  };
  auto answer = co_await work.run(calls::owner_of(user), 0, std::move(job));
  co_return answer;
}

}  // namespace tools

#include <fmt/format.h>

#include "supervisor/base/json/fields.h"
#include "supervisor/base/log.h"
#include "supervisor/tools/skills/skill_tools.h"

namespace tools {

mcp::ToolDefinition delete_skill_definition() {
  mcp::ToolDefinition tool;
  tool.name = "delete_skill";
  tool.description = "Delete a skill, all versions.";
  tool.input_schema = Json::parse(R"({
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"]
  })");
  return tool;
}

SkillAnswer delete_skill(skill_stores::TenantSkills& skills, const tenants::Requester& user, Json arguments) {
  Fields in(arguments, "delete_skill");
  CO_TRY(std::string name, in.string("name"));
  CO_CHECKED(in.done());
  CO_CHECKED(co_await skills.remove(user, name));
  Json answer = {{"success", true}, {"message", fmt::format("Deleted skill '{}'", printable(name, 128))}};
  co_return answer;
}

}  // namespace tools

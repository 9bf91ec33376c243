#include <fmt/format.h>

#include "supervisor/base/json/fields.h"
#include "supervisor/base/log.h"
#include "supervisor/tools/catalog/catalog_answers.h"
#include "supervisor/tools/skills/skill_tools.h"

namespace tools {

mcp::ToolDefinition load_skill_definition() {
  mcp::ToolDefinition tool;
  tool.name = "load_skill";
  tool.description = "The code of a skill.";
  tool.input_schema = Json::parse(R"({
    "type": "object",
    "properties": {"name": {"type": "string"}, "version": {"type": "integer"}},
    "required": ["name"]
  })");
  mark_read_only(tool);
  return tool;
}

SkillAnswer load_skill(skill_stores::TenantSkills& skills, const tenants::Requester& user, Json arguments) {
  Fields in(arguments, "load_skill");
  CO_TRY(std::string name, in.string("name"));
  CO_TRY(int64_t version, in.integer_or("version", 1, 1'000'000'000, 0));
  CO_CHECKED(in.done());
  CO_TRY(skills::Library library, co_await skills.library(user.tenant));
  auto it = library.find(name);
  if (!it)
    co_return fail(Code::not_found, fmt::format("Skill not found: {}", printable(name, 128)),
                   "list_skills lists all skills");
  Json metadata = metadata_of(*it);
  if (it->own && version > 0 && version != it->own->version()) {
    CO_TRY(std::shared_ptr<skills::SkillStore> own, co_await skills.store(user.tenant));
    CO_TRY(skills::Skill older, own->read_version(*it->own, static_cast<uint32_t>(version)));
    metadata = metadata_of({std::make_shared<const skills::Skill>(std::move(older)), it->own});
    metadata["version"] = version;
  }
  CO_TRY(std::string code, library.read_code(*it, static_cast<uint32_t>(version)));
  if (it->own)
    for (const auto& saved : it->own->versions) metadata["versions"].push_back(saved.number);
  metadata["uri"] = skills::uri_of(it->skill->slug, "SKILL.md");
  Json answer = {{"name", it->skill->name}, {"code", std::move(code)}, {"metadata", std::move(metadata)}};
  co_return answer;
}

}  // namespace tools

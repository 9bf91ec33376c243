#include <fmt/format.h>

#include "supervisor/base/fields.h"
#include "supervisor/tools/skills/skill_tools.h"

namespace tools {
namespace {

constexpr size_t kMaxText = 4 << 20;  // bytes of an argument; the store checks the real limits

Result<skills::Draft> read_draft(const Json& arguments) {
  Fields in(arguments, "save_skill");
  skills::Draft draft;
  TRY(draft.name, in.string("name", kMaxText));
  TRY(draft.code, in.string("code", kMaxText));
  TRY(draft.description, in.string_or("description", "", kMaxText));
  TRY(std::string language, in.one_of("language", {"python", "javascript"}, "python"));
  CHECKED(in.done());
  draft.language = language == "javascript" ? skills::SkillLanguage::javascript : skills::SkillLanguage::python;
  draft.created = iso_time_now();
  return draft;
}

}  // namespace

mcp::ToolDefinition save_skill_definition() {
  mcp::ToolDefinition tool;
  tool.name = "save_skill";
  tool.description = "Keep code to import: `from skills import NAME`, require('skills/NAME').";
  tool.input_schema = Json::parse(R"({
    "type": "object",
    "properties": {
      "name": {"type": "string"},
      "code": {"type": "string"},
      "description": {"type": "string", "default": ""},
      "language": {"type": "string"}
    },
    "required": ["name", "code"]
  })");
  tool.annotations.destructive = false;  // older versions stay
  tool.annotations.open_world = false;
  return tool;
}

SkillAnswer save_skill(skill_stores::TenantSkills& skills, const tenants::Requester& user, Json arguments) {
  CO_TRY(skills::Draft draft, read_draft(arguments));
  const std::string name = draft.name;
  CO_TRY(auto receipt, co_await skills.save(user, std::move(draft)));
  const skills::SkillStore::Entry& entry = *receipt.entry;
  const bool python = entry.skill.language == skills::SkillLanguage::python;
  Json answer = {{"success", true},
                 {"message", fmt::format("Skill '{}' saved successfully", name)},
                 {"version", entry.version()},
                 {"uri", skills::uri_of(entry.skill.slug, "SKILL.md")}};
  answer["import"] = python ? fmt::format("from skills import {}", name) : fmt::format("require('skills/{}')", name);
  co_return answer;
}

}  // namespace tools

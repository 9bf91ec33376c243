#include <fmt/format.h>

#include "supervisor/base/json/fields.h"
#include "supervisor/executions/sent_code.h"
#include "supervisor/tools/skills/skill_tools.h"

namespace tools {
namespace {

constexpr size_t kMaxText = 4 << 20;  // bytes of an argument; the store checks the real limits

struct SentDraft {
  skills::Draft draft;
  std::vector<std::string> notes;  // what was left out of the code
};

Result<SentDraft> read_draft(const Json& arguments) {
  Fields in(arguments, "save_skill");
  SentDraft sent;
  skills::Draft& draft = sent.draft;
  TRY(draft.name, in.string("name", kMaxText));
  TRY(draft.code, in.string("code", kMaxText));
  TRY(draft.description, in.string_or("description", "", kMaxText));
  TRY(std::string language, in.one_of("language", {"python", "javascript"}, "python"));
  CHECKED(in.done());
  const bool is_python = language == "python";
  draft.language = is_python ? skills::SkillLanguage::python : skills::SkillLanguage::javascript;
  TRY(executions::SentCode code,
      executions::read_sent_code(std::move(draft.code),
                                 is_python ? jail::Language::python : jail::Language::javascript));
  if (code.is_typescript)
    return fail(Code::invalid, "code: its fence says typescript, and skills are Python or JavaScript",
                "send the skill without its types, in JavaScript", "languages");
  draft.code = std::move(code.code);
  sent.notes = std::move(code.notes);
  draft.created = iso_time_now();
  return sent;
}

}  // namespace

mcp::ToolDefinition save_skill_definition() {
  mcp::ToolDefinition tool;
  tool.name = "save_skill";
  tool.description = "Keep code: `from skills import NAME`, require('skills/NAME')";
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
  return tool;
}

SkillAnswer save_skill(skill_stores::TenantSkills& skills, const tenants::Requester& user, Json arguments) {
  CO_TRY(SentDraft sent, read_draft(arguments));
  const std::string name = sent.draft.name;
  CO_TRY(auto receipt, co_await skills.save(user, std::move(sent.draft)));
  const skills::SkillStore::Entry& entry = *receipt.entry;
  const bool python = entry.skill.language == skills::SkillLanguage::python;
  Json answer = {{"success", true},
                 {"message", fmt::format("Skill '{}' saved successfully", name)},
                 {"version", entry.version()},
                 {"uri", skills::uri_of(entry.skill.slug, "SKILL.md")}};
  answer["import"] = python ? fmt::format("from skills import {}", name) : fmt::format("require('skills/{}')", name);
  if (!sent.notes.empty()) answer["notes"] = sent.notes;
  co_return answer;
}

}  // namespace tools

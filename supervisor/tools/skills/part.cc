// The tools for skills, and skills as resources and prompts, as a part of the daemon.
#include "supervisor/parts.h"
#include "supervisor/tools/skills/skill_resources.h"
#include "supervisor/tools/skills/skill_tools.h"

namespace tools {
namespace {

class SkillToolsPart final : public Part, public ToolSource {
 public:
  SkillToolsPart(skill_stores::TenantSkills& skills, executions::RecentCode& recent_code, Work& work)
      : skills_(skills), recent_code_(recent_code), work_(work) {}

  static Result<std::unique_ptr<SkillToolsPart>> open(skill_stores::TenantSkills& skills,
                                                      executions::RecentCode& recent_code, Work& work) {
    return std::make_unique<SkillToolsPart>(skills, recent_code, work);
  }
  void add_tools(const OperationRegistry& operations) override {
    add_skill_tools(operations, skills_, recent_code_, work_);
    add_skill_resources(operations.server(), skills_, work_, operations.requester_of());
  }

 private:
  skill_stores::TenantSkills& skills_;
  executions::RecentCode& recent_code_;
  Work& work_;
};

}  // namespace

PartEntry skills_part() { return part_entry_of("skill tools", SkillToolsPart::open); }

}  // namespace tools

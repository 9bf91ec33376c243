// The tools that find and call tools of upstream servers, as a part of the daemon.
#include "supervisor/executions/skill_stores/tenant_skills.h"
#include "supervisor/parts.h"
#include "supervisor/tools/catalog/call_tool.h"
#include "supervisor/tools/catalog/catalog_resources.h"
#include "supervisor/tools/catalog/catalog_tools.h"

namespace tools {
namespace {

class CatalogToolsPart final : public Part, public ToolSource {
 public:
  CatalogToolsPart(Work& work, discovery::Discovery& discovery, discovery::SearchLearning& learning,
                   discovery::StubTree& stubs, skill_stores::TenantSkills& skills, calls::CallEnvironment& calls)
      : work_(work), discovery_(discovery), learning_(learning), stubs_(stubs), skills_(skills), calls_(calls) {}

  static Result<std::unique_ptr<CatalogToolsPart>> open(Work& work, discovery::Discovery& discovery,
                                                        discovery::SearchLearning& learning, discovery::StubTree& stubs,
                                                        skill_stores::TenantSkills& skills,
                                                        calls::CallEnvironment& calls) {
    return std::make_unique<CatalogToolsPart>(work, discovery, learning, stubs, skills, calls);
  }

  void add_tools(const OperationRegistry& operations) override {
    const auto catalog_of = [this] { return discovery_.current(); };
    const auto library_of = [this](std::shared_ptr<tenants::Tenant> tenant) {
      return skills_.library(std::move(tenant));
    };
    add_catalog_tools(operations, catalog_of, library_of, learning_, stubs_, work_);
    add_catalog_resources(operations.server(), catalog_of, operations.requester_of(), work_);
    add_call_tool(operations, calls_);
  }

 private:
  Work& work_;
  discovery::Discovery& discovery_;
  discovery::SearchLearning& learning_;
  discovery::StubTree& stubs_;
  skill_stores::TenantSkills& skills_;
  calls::CallEnvironment& calls_;
};

}  // namespace

PartEntry catalog_part() { return part_entry_of("catalog tools", CatalogToolsPart::open); }

}  // namespace tools

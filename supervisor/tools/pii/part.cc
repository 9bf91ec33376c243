// The tools for personal data as a part of the daemon.
#include "supervisor/parts.h"
#include "supervisor/tools/pii/pii_tools.h"

namespace tools {
namespace {

class PiiToolsPart final : public Part, public ToolSource {
 public:
  PiiToolsPart(privacy::PiiVaults& vaults, Work& work) : vaults_(vaults), work_(work) {}

  static Result<std::unique_ptr<PiiToolsPart>> open(privacy::PiiVaults& vaults, Work& work) {
    return std::make_unique<PiiToolsPart>(vaults, work);
  }
  void add_tools(const OperationRegistry& operations) override { add_pii_tools(operations, vaults_, work_); }

 private:
  privacy::PiiVaults& vaults_;
  Work& work_;
};

}  // namespace

PartEntry pii_part() { return part_entry_of("tools for personal data", PiiToolsPart::open); }

}  // namespace tools

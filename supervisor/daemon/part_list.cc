// A new part is a part.cc in its folder, a declaration and a line here, and a line in its folder's CMakeLists.txt. An
// annex has no line here (annexes.h).
#include "supervisor/daemon/part_list.h"

#include "supervisor/annexes.h"

// clang-format off
namespace calls { PartEntry part(); }
namespace discovery { PartEntry part(); PartEntry stubs_part(); }
namespace disk { PartEntry part(); }
namespace executions { PartEntry part(); }
namespace journal { PartEntry part(); }
namespace metrics { PartEntry part(); }
namespace privacy { PartEntry part(); }
namespace proposals { PartEntry part(); }
namespace runs { PartEntry part(); }
namespace skill_stores { PartEntry part(); }
namespace tasks { PartEntry part(); }
namespace tenants { PartEntry part(); }
namespace tools {
PartEntry catalog_part();
PartEntry changes_part();
PartEntry execution_part();
PartEntry pii_part();
PartEntry proposals_part();
PartEntry skills_part();
PartEntry statistics_part();
PartEntry workspace_part();
}  // namespace tools
namespace upstream { PartEntry part(); }
// clang-format on
PartEntry bus_part();
PartEntry client_doors_part();
PartEntry fd_store_part();
PartEntry interrupted_runs_part();
PartEntry jails_part();
PartEntry metrics_sockets_part();
PartEntry self_examination_part();
PartEntry server_part();
PartEntry tenant_removal_part();
PartEntry threads_part();

// Parts are opened in this order, but for those that need a later one; clients see tools in the order of these lines.
// Annexes stand before the parts that can use them, so that these keep their order with and without annexes.
std::vector<PartEntry> all_parts() {
  std::vector<PartEntry> entries{
      tenants::part(), journal::part(), threads_part(), fd_store_part(), tasks::part(), disk::part(),
  };
  for (PartEntry& annex : annex_parts()) entries.push_back(std::move(annex));
  for (PartEntry& entry : std::vector<PartEntry>{
           proposals::part(),
           jails_part(),
           executions::part(),
           metrics::part(),
           discovery::part(),
           privacy::part(),
           upstream::part(),
           discovery::stubs_part(),
           calls::part(),
           skill_stores::part(),
           runs::part(),
           server_part(),
           tools::changes_part(),
           tools::execution_part(),
           tools::workspace_part(),
           tools::proposals_part(),
           tools::catalog_part(),
           tools::statistics_part(),
           tools::pii_part(),
           tools::skills_part(),
           client_doors_part(),
           interrupted_runs_part(),
           tenant_removal_part(),
           self_examination_part(),
           metrics_sockets_part(),
           bus_part(),
       })
    entries.push_back(std::move(entry));
  return entries;
}

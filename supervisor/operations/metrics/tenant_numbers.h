// TenantNumbers: what metrics show of one tenant. Source: part.cc, for one scrape. No errors.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/operations/metrics/busiest_tenants.h"

namespace metrics {

class OpenMetricsText;

struct TenantNumbers {
  std::string name;
  BusiestTenants::Sum sum;
  uint64_t running = 0, waiting = 0;  // executions now
  uint64_t connections = 0;
  // The use and limits of the default workspace, as last counted. has_workspace is false for the sum of other tenants.
  bool has_workspace = false;
  uint64_t workspace_bytes = 0, workspace_limit_bytes = 0, workspace_files = 0, workspace_limit_files = 0;
};

// `tenants`: those with a name, and the sum of the others.
void write_tenants(OpenMetricsText& text, const std::vector<TenantNumbers>& tenants);

}  // namespace metrics

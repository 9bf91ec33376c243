// The metrics of a node of a cluster. Without the key "cluster" all are 0, so that rules and panels find every series.
// Used by: part.cc. No errors.
#pragma once
#include "supervisor/cluster/link/membership.h"
#include "supervisor/operations/metrics/text.h"

namespace cluster {

// `membership`: nullptr: this machine is in no cluster.
void write_cluster_metrics(metrics::OpenMetricsText& text, Membership* membership);

}  // namespace cluster

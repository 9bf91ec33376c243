// DaemonControls: what the parts may ask of the daemon. Source: Daemon. Used by: DaemonParts and its parts.
#pragma once
#include <functional>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"

struct DaemonControls {
  std::function<Task<Result<>>()> reload;
  std::function<void()> drain;
  std::function<bool()> draining;
  std::function<void(const std::string& trouble)> show_trouble;  // of the state folder's disk; empty: no trouble
};

// FreshMeter: a meter of its own for one call of a function that works on foreign data.
#pragma once
#include "supervisor/base/work_meter.h"

struct FreshMeter {
  explicit FreshMeter(std::chrono::milliseconds limit = WorkMeter::kMaxTime) : meter(bounded_work(limit)) {}
  operator WorkMeter&() { return meter; }
  WorkMeter meter;
};

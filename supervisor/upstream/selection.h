// Selection: the parts of a tool's result that `select` names. "items.title" is that member of each element of a list
// `items`. Equal beginnings of paths are one branch, so each part of the result is visited once.
// Source: `select` of call_tool, from agents and jailed code. Used by: supervisor/tools/catalog/call_tool.cc, in jobs
// of Work. Errors: invalid: too many paths, or one with too many steps; those of the meter.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/base/work_meter.h"

namespace upstream {

class Selection {
 public:
  static constexpr size_t kMaxPaths = 64;  // different ones
  static constexpr size_t kMaxSteps = 32;  // of one path

  static Result<Selection> of(const std::vector<std::string>& paths);
  // No path: apply() returns the whole value.
  bool is_empty() const { return root_.children.empty() && !root_.is_whole; }
  // The parts of `value` in the same shape. A path without a match selects no value.
  Result<Json> apply(Json value, WorkMeter& meter) const;

 private:
  struct Branch {
    std::string name;
    bool is_whole = false;  // a path ends here
    std::vector<Branch> children;
  };
  static Result<Json> take(Json& value, const Branch& branch, WorkMeter& meter);

  Branch root_;
};

}  // namespace upstream

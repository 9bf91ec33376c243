#include "supervisor/tenants/proposals/conflicts.h"

#include <algorithm>
#include <set>

#include "supervisor/base/json/json.h"

namespace proposals {
namespace {

constexpr char kChangedWhileRunning[] = "another program changed it while this one ran";

// The paths that other programs changed, sorted, to find those at, above and below a step.
class ChangedPaths {
 public:
  explicit ChangedPaths(const tenants::Changes& changes) {
    for (const auto* list : {&changes.created, &changes.modified, &changes.deleted})
      paths_.insert(list->paths.begin(), list->paths.end());
    is_complete_ =
        changes.complete && changes.created.omitted + changes.modified.omitted + changes.deleted.omitted == 0;
  }
  bool is_complete() const { return is_complete_; }
  bool touches(const std::string& text) const {
    if (paths_.empty()) return false;
    if (paths_.contains(text)) return true;
    for (std::string above = folder_of(text); !above.empty(); above = folder_of(above))
      if (paths_.contains(above)) return true;
    const auto below = paths_.lower_bound(text + "/");
    return below != paths_.end() && is_at_or_below(*below, text);
  }

 private:
  std::set<std::string> paths_;  // valid UTF-8, as the lists have them
  bool is_complete_ = true;
};

// A folder that gets another mode may have changed entries: only a change of the folder itself is a conflict.
bool was_touched(const StagedStep& step, const ChangedPaths& changed, int64_t started_ns) {
  if (step.kind == StepKind::mode) return false;
  if (changed.touches(valid_utf8(step.path))) return true;
  return !changed.is_complete() && step.base.kind && step.base.ctime_ns >= started_ns;
}

}  // namespace

void PathConflicts::add(const std::string& path, std::string why) {
  if (listed.size() < tenants::kListedChanges) {
    listed.push_back({valid_utf8(path), std::move(why)});
  } else {
    omitted++;
  }
}

Result<JudgedSteps> judge_steps(const std::vector<StagedStep>& steps, const BaseChanges& changes, int workspace,
                                JudgedBy by) {
  JudgedSteps judged;
  const ChangedPaths changed(changes.changes);
  StampBudget budget;
  for (const StagedStep& step : steps) {
    std::string why;
    if (step.is_torn) {
      why = "another program removed the folder while this one changed it";
    } else if (was_touched(step, changed, changes.started_ns)) {
      why = kChangedWhileRunning;
    } else if (by == JudgedBy::changes_and_workspace) {
      const StampDepth depth = step.kind == StepKind::mode ? StampDepth::entry : StampDepth::contents;
      TRY(why, difference_from(step.base, workspace, step.path, depth, budget));
    }
    if (why.empty()) {
      judged.clean.push_back(step);
    } else {
      judged.conflicts.add(step.path, std::move(why));
    }
  }
  return judged;
}

}  // namespace proposals

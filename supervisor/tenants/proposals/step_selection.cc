#include "supervisor/tenants/proposals/step_selection.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/json/json.h"

namespace proposals {
namespace {

std::string without_slashes(std::string path) {
  while (path.starts_with("./")) path.erase(0, 2);
  while (!path.empty() && path.back() == '/') path.pop_back();
  return path;
}

class StepSelector {
 public:
  StepSelector(const std::vector<std::string>& paths, int upper) : upper_(upper) {
    for (const std::string& path : paths) requested_.push_back({without_slashes(path), false});
  }

  Result<StepSelection> select(std::vector<StagedStep> steps) {
    for (StagedStep& step : steps) CHECKED(sort_step(std::move(step)));
    for (size_t i = 0; i < requested_.size(); i++) {
      if (requested_[i].is_used) continue;
      return fail(
          Code::invalid,
          fmt::format("paths[{}]: the proposal has no change at or below '{}'", i, valid_utf8(requested_[i].path)),
          "name paths of its list of files, or their folders; without paths everything is committed");
    }
    const auto by_path = [](const auto& a, const auto& b) { return a.path < b.path; };
    std::sort(selection_.chosen.begin(), selection_.chosen.end(), by_path);
    std::sort(selection_.rest.begin(), selection_.rest.end(), by_path);
    return std::move(selection_);
  }

 private:
  struct WantedStep {
    std::string path;
    bool is_used = false;
  };

  Result<> sort_step(StagedStep step) {
    const std::string text = valid_utf8(step.path);
    bool is_chosen = false;
    WantedStep* part = nullptr;  // names an entry below the step
    for (WantedStep& requested : requested_) {
      if (requested.path == "." || is_at_or_below(step.path, requested.path) || is_at_or_below(text, requested.path)) {
        requested.is_used = true;
        is_chosen = true;
      } else if (is_at_or_below(requested.path, step.path) || is_at_or_below(requested.path, text)) {
        part = &requested;
      }
    }
    if (is_chosen) {
      selection_.chosen.push_back(std::move(step));
    } else if (part == nullptr || step.kind == StepKind::mode) {
      selection_.rest.push_back(std::move(step));
    } else if (step.kind == StepKind::create && step.fresh.kind == tenants::FileKind::directory && !step.is_torn) {
      return split(step);
    } else {
      return fail(Code::invalid,
                  fmt::format("'{}' cannot be committed alone: '{}' is {} as a whole", valid_utf8(part->path), text,
                              step.kind == StepKind::remove ? "removed" : "replaced"),
                  "name '" + text + "'");
    }
    return {};
  }

  Result<> split(const StagedStep& folder) {
    if (folder.path.size() > kMaxPathBytes) return fail(Code::invalid, "the path is too long");
    selection_.new_folders.push_back({folder.path, folder.fresh.mode});
    TRY(const auto names, list_names(upper_, folder.path, remaining_entries_));
    for (const std::string& name : names) {
      StagedStep step;
      step.kind = StepKind::create;
      step.path = joined(folder.path, name);
      TRY(step.fresh, fresh_entry(upper_, step.path, remaining_entries_));
      if (step.fresh.identity.inode != 0) CHECKED(sort_step(std::move(step)));
    }
    return {};
  }

  int upper_;
  uint64_t remaining_entries_ = 2 * kMaxEntries;
  std::vector<WantedStep> requested_;
  StepSelection selection_;
};

}  // namespace

Result<StepSelection> select_steps(std::vector<StagedStep> steps, const std::vector<std::string>& paths, int upper) {
  if (paths.size() > kMaxSelectedPaths)
    return fail(Code::invalid,
                fmt::format("paths: {} paths are too many, {} are allowed", paths.size(), kMaxSelectedPaths),
                "name folders");
  for (size_t i = 0; i < paths.size(); i++)
    if (without_slashes(paths[i]).empty() || paths[i].front() == '/')
      return fail(Code::invalid, fmt::format("paths[{}]: '{}' is no path in the workspace", i, valid_utf8(paths[i])),
                  "name paths relative to the workspace; '.' is the whole workspace");
  if (!paths.empty()) return StepSelector(paths, upper).select(std::move(steps));
  StepSelection all;
  all.chosen = std::move(steps);
  return all;
}

}  // namespace proposals

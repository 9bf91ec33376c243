#include "supervisor/tenants/proposals/upper_layer.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/json/json.h"
#include "supervisor/base/tree.h"
#include "supervisor/tenants/index/interpreter_files.h"
#include "supervisor/tenants/proposals/overlay_marks.h"
#include "supervisor/tenants/quota.h"

namespace proposals {
namespace {

using tenants::Entry;
using tenants::FileKind;

constexpr size_t kMaxPath = kMaxPathBytes - 128;  // leaves room for the folders of a staging folder

// A program may have taken away its own right to read a folder. Every walk through a workspace gives it back.
uint32_t readable_mode(uint32_t mode) { return (mode & 0500) == 0500 ? mode : mode | 0700; }

class UpperReader {
 public:
  UpperReader(int upper, int workspace, uint64_t max_entries)
      : upper_(upper), workspace_(workspace), remaining_(max_entries), max_entries_(max_entries) {
    budget_.entries = max_entries;
  }

  Result<UpperLayer> read() {
    std::vector<std::string> waiting = {""};  // folders that both have, the next one at the end
    while (!waiting.empty()) {
      const std::string folder = std::move(waiting.back());
      waiting.pop_back();
      TRY(const auto names, list_names(upper_, folder, remaining_));
      std::vector<std::string> deeper;
      for (const std::string& name : names) {
        if (remaining_ == 0) return fail(Code::exhausted, "there are too many entries");
        remaining_--;
        CHECKED(read_entry(joined(folder, name), deeper));
      }
      for (auto at = deeper.rbegin(); at != deeper.rend(); ++at) waiting.push_back(std::move(*at));
      if (layer_.steps.size() > max_entries_) return fail(Code::exhausted, "there are too many changes");
    }
    std::sort(layer_.steps.begin(), layer_.steps.end(),
              [](const StagedStep& a, const StagedStep& b) { return a.path < b.path; });
    layer_.entries = max_entries_ - remaining_;
    layer_.bytes = usage_.usage().bytes;
    return std::move(layer_);
  }
  uint64_t entries() const { return max_entries_ - remaining_; }
  uint64_t bytes() const { return usage_.usage().bytes; }

 private:
  Result<> read_entry(const std::string& path, std::vector<std::string>& deeper) {
    if (path.size() > kMaxPath) return fail(Code::exhausted, "a path has more than 3968 bytes");
    TRY(const auto found, find_entry(upper_, path));
    if (!found) return {};
    const Entry& entry = *found;
    usage_.add(entry);
    TRY(const OverlayMarks marks, read_marks(upper_, path, entry));
    // Lists do not show compiled modules, so no commit brings any: a person approves only the shown changes.
    const bool may_be_folder = marks.is_whiteout || entry.kind == FileKind::directory;
    if (may_be_folder && tenants::is_of_interpreter(path + "/")) return {};
    TRY(const auto base, find_entry(workspace_, path));
    if (marks.is_whiteout) return base ? add(StepKind::remove, path, std::nullopt) : Result<>{};
    if (entry.kind == FileKind::other || marks.is_partial) return refuse(path, entry);
    const bool is_folder = entry.kind == FileKind::directory;
    if (is_folder && base && base->kind == FileKind::directory && !marks.is_opaque) {
      const uint32_t mode = readable_mode(entry.mode);
      if (mode != entry.mode) CHECKED(set_mode(upper_, path, mode));
      deeper.push_back(path);
      if (entry.mode == base->mode || mode == base->mode) return {};
      CHECKED(add(StepKind::mode, path, entry));
      layer_.steps.back().fresh.mode = mode;
      return {};
    }
    if (base && !is_folder) {
      TRY(const bool unchanged, is_unchanged(path, entry, *base));
      if (unchanged) return {};
    }
    CHECKED(strip_marks(upper_, path, entry));
    if (is_folder) CHECKED(clean_below(path, entry));
    CHECKED(add(base ? StepKind::replace : StepKind::create, path, entry));
    layer_.steps.back().is_torn = is_folder && marks.is_copy && !marks.is_opaque;
    return {};
  }

  // A folder that moves as a whole has neither marks, whiteouts nor special files, and its owner can read all its
  // files.
  Result<> clean_below(const std::string& folder, const Entry& top) {
    if (readable_mode(top.mode) != top.mode) CHECKED(set_mode(upper_, folder, readable_mode(top.mode)));
    return each_below(upper_, folder, remaining_, [&](const std::string& path, const Entry& entry) -> Result<> {
      if (path.size() > kMaxPath) return fail(Code::exhausted, "a path has more than 3968 bytes");
      TRY(const OverlayMarks marks, read_marks(upper_, path, entry));
      if (marks.is_whiteout) return remove_entry(upper_, path);
      if (tenants::is_of_interpreter(path))
        return entry.kind == FileKind::directory ? Result<>{} : remove_entry(upper_, path);
      if (entry.kind == FileKind::other || marks.is_partial) return refuse(path, entry);
      usage_.add(entry);
      CHECKED(strip_marks(upper_, path, entry));
      if (entry.kind == FileKind::directory && readable_mode(entry.mode) != entry.mode)
        return set_mode(upper_, path, readable_mode(entry.mode));
      return {};
    });
  }

  // A partial folder stays in the upper folder, where no commit looks.
  Result<> refuse(const std::string& path, const Entry& entry) {
    if (layer_.refused_count++ < kMaxRefused) layer_.refused.push_back(path);
    if (entry.kind == FileKind::directory) return {};
    return remove_entry(upper_, path);
  }

  Result<> add(StepKind kind, const std::string& path, const std::optional<Entry>& entry) {
    StagedStep step;
    step.kind = kind;
    step.path = path;
    if (entry && kind == StepKind::mode) {
      step.fresh.identity = identity_of(*entry);
      step.fresh.kind = entry->kind;
    } else if (entry) {
      TRY(step.fresh, fresh_entry(upper_, path, budget_.entries));
    }
    const StampDepth depth = kind == StepKind::mode ? StampDepth::entry : StampDepth::contents;
    TRY(step.base, stamp_of(workspace_, path, depth, budget_));
    layer_.steps.push_back(std::move(step));
    return {};
  }

  // A file that a program opened for writing is copied, also if the program does not write.
  Result<bool> is_unchanged(const std::string& path, const Entry& entry, const Entry& base) {
    if (entry.kind != base.kind) return false;
    if (entry.kind == FileKind::link) {
      TRY(const std::string target, read_link(upper_, path));
      TRY(const std::string base_target, read_link(workspace_, path));
      return target == base_target;
    }
    if (entry.kind != FileKind::file || entry.size != base.size || entry.mode != base.mode ||
        entry.mtime_ns != base.mtime_ns || entry.links > 1 || entry.size > compared_left_)
      return false;
    compared_left_ -= entry.size;
    const auto item = open_regular(upper_, path), other = open_regular(workspace_, path);
    if (!item || !other) return false;
    return have_same_bytes(item->get(), other->get()).value_or(false);
  }

  int upper_, workspace_;
  uint64_t remaining_, max_entries_, compared_left_ = kMaxComparedBytes;
  StampBudget budget_;
  UpperLayer layer_;
  tenants::UsageCount usage_;
};

}  // namespace

Result<FreshEntry> fresh_entry(int root, const std::string& path, uint64_t& remaining_entries) {
  TRY(const auto entry, find_entry(root, path));
  FreshEntry fresh;
  if (!entry) return fresh;
  fresh.identity = identity_of(*entry);
  fresh.kind = entry->kind;
  fresh.mode = entry->mode;
  if (entry->kind == FileKind::directory) {
    TRY(fresh.digest, digest_below(root, path, DigestTimes::mtime, remaining_entries));
  } else {
    fresh.size = entry->size;
    fresh.mtime_ns = entry->mtime_ns;
  }
  return fresh;
}

Result<UpperLayer> read_upper_layer(int upper, int workspace, uint64_t max_entries) {
  UpperReader reader(upper, workspace, max_entries);
  auto layer = reader.read();
  if (layer || layer.error().code != Code::exhausted) return layer;
  UpperLayer unreadable;
  unreadable.entries = reader.entries();
  unreadable.bytes = reader.bytes();
  unreadable.problem = fmt::format("it cannot be read as a whole: {}; a proposal has at most {} entries",
                                   layer.error().what, max_entries);
  return unreadable;
}

}  // namespace proposals

#include "supervisor/proposals/commit.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "supervisor/base/durable.h"
#include "supervisor/base/json.h"
#include "supervisor/base/path.h"
#include "supervisor/proposals/commit_step.h"

namespace proposals {
namespace {

StampDepth depth_of(const JournalRow& row) {
  return row.kind == StepKind::mode ? StampDepth::entry : StampDepth::contents;
}

Result<> change_state(const CommitPlace& place, CommitJournal& journal, JournalState state, const CommitHooks& hooks) {
  hooks.before_step();
  const JournalState before = std::exchange(journal.state, state);
  auto written = write_journal(place.staging, journal);
  if (!written) journal.state = before;
  return written;
}

// The modes that move_entry() may have widened.
Result<> restore_parent_modes(const CommitPlace& place, const CommitJournal& journal) {
  for (const ParentFolder& parent : journal.parents) {
    if (parent.path.empty()) continue;
    TRY(const auto now, find_entry(place.workspace, parent.path));
    if (!now || identity_of(*now) != parent.identity || now->mode == parent.mode) continue;
    if (now->mode == (parent.mode | 0700)) CHECKED(set_mode(place.workspace, parent.path, parent.mode));
  }
  return {};
}

Result<> restore_parent_times(const CommitPlace& place, const CommitJournal& journal) {
  for (auto parent = journal.parents.rbegin(); parent != journal.parents.rend(); ++parent) {
    if (!parent->restores_mtime) continue;
    TRY(const auto now, find_entry(place.workspace, parent->path));
    if (now && identity_of(*now) == parent->identity)
      CHECKED(set_mtime(place.workspace, parent->path, parent->mtime_ns));
  }
  return {};
}

Result<> note_afterwards(const CommitPlace& place, CommitJournal& journal) {
  StampBudget budget;
  budget.hashed_bytes = 0;  // an undo takes no other file for the committed one
  for (JournalRow& row : journal.rows) {
    TRY(row.after, stamp_of(place.workspace, row.path, depth_of(row), budget));
  }
  for (ParentFolder& parent : journal.parents) {
    TRY(const auto now, find_entry(place.workspace, parent.path));
    parent.mtime_after_ns = now ? now->mtime_ns : 0;
  }
  return {};
}

// Steps in their order, then the modes of the folders.
Result<StepReport> step_all_forward(const CommitPlace& place, const CommitJournal& journal, Leniency leniency,
                                    const CommitHooks& hooks) {
  for (const StepKind turn : {StepKind::create, StepKind::mode}) {
    for (const JournalRow& row : journal.rows) {
      if ((row.kind == StepKind::mode) != (turn == StepKind::mode)) continue;
      if (hooks.must_stop()) return StepReport{StepEnd::stopped, "", ""};
      hooks.before_step();
      TRY(StepReport report, step_forward(place.staging, place.workspace, row));
      if (report.end == StepEnd::interfered && leniency == Leniency::none) return report;
    }
    if (turn == StepKind::create) CHECKED(restore_parent_modes(place, journal));
  }
  return StepReport{};
}

Result<StepReport> step_all_back(const CommitPlace& place, const CommitJournal& journal, Leniency leniency,
                                 const CommitHooks& hooks) {
  for (const StepKind turn : {StepKind::mode, StepKind::create}) {
    for (auto row = journal.rows.rbegin(); row != journal.rows.rend(); ++row) {
      if ((row->kind == StepKind::mode) != (turn == StepKind::mode)) continue;
      if (hooks.must_stop()) return StepReport{StepEnd::stopped, "", ""};
      hooks.before_step();
      TRY(StepReport report, step_back(place.staging, place.workspace, *row));
      if (report.end == StepEnd::interfered && leniency == Leniency::none) return report;
    }
  }
  CHECKED(restore_parent_modes(place, journal));
  return StepReport{};
}

// A journal that ends `withdrawn` disappears: the proposal is as before.
Result<> forget_journal(const CommitPlace& place, const CommitJournal& journal, const CommitHooks& hooks) {
  hooks.before_step();
  return unlink_beneath(place.staging, RelativePath::known(journal_name(journal.number)), Removing::file);
}

}  // namespace

Result<RollResult> roll(const CommitPlace& place, CommitJournal& journal, const CommitHooks& hooks) {
  RollResult result;
  for (;;) {
    StepReport report;
    switch (journal.state) {
      case JournalState::done:
        result.end = RollEnd::done;
        return result;
      case JournalState::undone:
        result.end = RollEnd::undone;
        return result;
      case JournalState::forward:
      case JournalState::redo: {
        const bool is_new = journal.state == JournalState::forward;
        TRY(report, step_all_forward(place, journal, is_new ? Leniency::none : Leniency::skips, hooks));
        if (report.end == StepEnd::interfered) {
          result.conflicts.add(report.path, report.why);
          CHECKED(change_state(place, journal, JournalState::withdraw, hooks));
        } else if (report.end == StepEnd::made) {
          hooks.before_step();
          CHECKED(sync_names(place.staging, place.workspace, journal));
          CHECKED(note_afterwards(place, journal));
          CHECKED(change_state(place, journal, JournalState::done, hooks));
        }
        break;
      }
      case JournalState::withdraw: {
        TRY(report, step_all_back(place, journal, Leniency::skips, hooks));
        if (report.end == StepEnd::made) {
          CHECKED(sync_names(place.staging, place.workspace, journal));
          CHECKED(forget_journal(place, journal, hooks));
          result.end = RollEnd::withdrawn;
          return result;
        }
        break;
      }
      case JournalState::back: {
        TRY(report, step_all_back(place, journal, Leniency::none, hooks));
        if (report.end == StepEnd::interfered) {
          result.conflicts.add(report.path, report.why);
          CHECKED(change_state(place, journal, JournalState::redo, hooks));
        } else if (report.end == StepEnd::made) {
          CHECKED(restore_parent_times(place, journal));
          hooks.before_step();
          CHECKED(sync_names(place.staging, place.workspace, journal));
          CHECKED(change_state(place, journal, JournalState::undone, hooks));
        }
        break;
      }
    }
    if (report.end == StepEnd::stopped) {
      result.end = RollEnd::interrupted;
      return result;
    }
  }
}

Result<PathConflicts> begin_undo(const CommitPlace& place, CommitJournal& journal, const CommitHooks& hooks) {
  PathConflicts conflicts;
  StampBudget budget;
  budget.hashed_bytes = 0;
  for (const JournalRow& row : journal.rows) {
    TRY(std::string why, difference_from(row.after, place.workspace, row.path, depth_of(row), budget));
    if (!why.empty()) conflicts.add(row.path, std::move(why));
  }
  if (!conflicts.empty()) return conflicts;
  for (ParentFolder& parent : journal.parents) {
    TRY(const auto now, find_entry(place.workspace, parent.path));
    parent.restores_mtime = now && identity_of(*now) == parent.identity && now->mtime_ns == parent.mtime_after_ns;
  }
  CHECKED(change_state(place, journal, JournalState::back, hooks));
  return conflicts;
}

}  // namespace proposals

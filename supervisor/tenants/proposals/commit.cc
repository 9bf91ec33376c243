#include "supervisor/tenants/proposals/commit.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "supervisor/base/durable.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/path.h"
#include "supervisor/tenants/proposals/commit_step.h"

namespace proposals {
namespace {

StampDepth depth_of(const JournalRow& row) {
  return row.kind == StepKind::mode ? StampDepth::entry : StampDepth::contents;
}

Result<> change_state(const CommitTarget& target, CommitJournal& journal, JournalState state,
                      const CommitHooks& hooks) {
  hooks.before_step();
  const JournalState before = std::exchange(journal.state, state);
  auto written = write_journal(target.staging, journal);
  if (!written) journal.state = before;
  return written;
}

// The modes that move_entry() may have widened.
Result<> restore_parent_modes(const CommitTarget& target, const CommitJournal& journal) {
  for (const ParentFolder& parent : journal.parents) {
    if (parent.path.empty()) continue;
    TRY(const auto now, find_entry(target.workspace, parent.path));
    if (!now || identity_of(*now) != parent.identity || now->mode == parent.mode) continue;
    if (now->mode == (parent.mode | 0700)) CHECKED(set_mode(target.workspace, parent.path, parent.mode));
  }
  return {};
}

Result<> restore_parent_times(const CommitTarget& target, const CommitJournal& journal) {
  for (auto parent = journal.parents.rbegin(); parent != journal.parents.rend(); ++parent) {
    if (!parent->restores_mtime) continue;
    TRY(const auto now, find_entry(target.workspace, parent->path));
    if (now && identity_of(*now) == parent->identity)
      CHECKED(set_mtime(target.workspace, parent->path, parent->mtime_ns));
  }
  return {};
}

Result<> note_afterwards(const CommitTarget& target, CommitJournal& journal) {
  StampBudget budget;
  budget.hashed_bytes = 0;  // an undo takes no other file for the committed one
  for (JournalRow& row : journal.rows) {
    TRY(row.after, stamp_of(target.workspace, row.path, depth_of(row), budget));
  }
  for (ParentFolder& parent : journal.parents) {
    TRY(const auto now, find_entry(target.workspace, parent.path));
    parent.mtime_after_ns = now ? now->mtime_ns : 0;
  }
  return {};
}

// Steps in their order, then the modes of the folders.
Result<StepReport> step_all_forward(const CommitTarget& target, const CommitJournal& journal,
                                    OnInterference on_interference, const CommitHooks& hooks) {
  for (const StepKind turn : {StepKind::create, StepKind::mode}) {
    for (const JournalRow& row : journal.rows) {
      if ((row.kind == StepKind::mode) != (turn == StepKind::mode)) continue;
      if (hooks.must_stop()) return StepReport{StepEnd::stopped, "", ""};
      hooks.before_step();
      TRY(StepReport report, step_forward(target.staging, target.workspace, row));
      if (report.end == StepEnd::interfered && on_interference == OnInterference::stop) return report;
    }
    if (turn == StepKind::create) CHECKED(restore_parent_modes(target, journal));
  }
  return StepReport{};
}

Result<StepReport> step_all_back(const CommitTarget& target, const CommitJournal& journal,
                                 OnInterference on_interference, const CommitHooks& hooks) {
  for (const StepKind turn : {StepKind::mode, StepKind::create}) {
    for (auto row = journal.rows.rbegin(); row != journal.rows.rend(); ++row) {
      if ((row->kind == StepKind::mode) != (turn == StepKind::mode)) continue;
      if (hooks.must_stop()) return StepReport{StepEnd::stopped, "", ""};
      hooks.before_step();
      TRY(StepReport report, step_back(target.staging, target.workspace, *row));
      if (report.end == StepEnd::interfered && on_interference == OnInterference::stop) return report;
    }
  }
  CHECKED(restore_parent_modes(target, journal));
  return StepReport{};
}

// A journal that ends `withdrawn` disappears: the proposal is as before.
Result<> forget_journal(const CommitTarget& target, const CommitJournal& journal, const CommitHooks& hooks) {
  hooks.before_step();
  return unlink_beneath(target.staging, RelativePath::known(journal_name(journal.number)), Removing::file);
}

}  // namespace

namespace {

// One way through the states of a journal.
class JournalRoll {
 public:
  JournalRoll(const CommitTarget& target, CommitJournal& journal, const CommitHooks& hooks)
      : target_(target), journal_(journal), hooks_(hooks) {}

  Result<RollResult> roll() {
    for (;;) {
      if (journal_.state == JournalState::done) return ended(RollEnd::done);
      if (journal_.state == JournalState::undone) return ended(RollEnd::undone);
      const bool is_forward = journal_.state == JournalState::forward || journal_.state == JournalState::redo;
      const bool is_lenient = journal_.state == JournalState::withdraw || journal_.state == JournalState::redo;
      const OnInterference on_interference = is_lenient ? OnInterference::skip : OnInterference::stop;
      auto report = is_forward ? step_all_forward(target_, journal_, on_interference, hooks_)
                               : step_all_back(target_, journal_, on_interference, hooks_);
      if (!report && is_lenient)
        return tl::unexpected<Error>(std::move(report).error());  // the next roll() tries again
      if (report && report->end == StepEnd::stopped) return ended(RollEnd::interrupted);
      if (!report || report->end == StepEnd::interfered) {
        CHECKED(turn_around(report));
        continue;
      }
      hooks_.before_step();
      if (journal_.state == JournalState::back) CHECKED(restore_parent_times(target_, journal_));
      CHECKED(sync_names(target_.staging, target_.workspace, journal_));
      if (journal_.state == JournalState::withdraw) {
        CHECKED(forget_journal(target_, journal_, hooks_));
        return ended(RollEnd::withdrawn);
      }
      if (is_forward) CHECKED(note_afterwards(target_, journal_));
      CHECKED(change_state(target_, journal_, is_forward ? JournalState::done : JournalState::undone, hooks_));
    }
  }

 private:
  // All steps go the other way. A disk that takes no journal any more (it is full) does not hinder that: if the daemon
  // is killed meanwhile, the journal on the disk leads to an end, too.
  Result<> turn_around(const Result<StepReport>& report) {
    const JournalState next = journal_.state == JournalState::forward ? JournalState::withdraw : JournalState::redo;
    if (!report) {
      failure_ = report.error();
      (void)change_state(target_, journal_, next, hooks_);
      journal_.state = next;
      return {};
    }
    result_.conflicts.add(report->path, report->why);
    return change_state(target_, journal_, next, hooks_);
  }

  Result<RollResult> ended(RollEnd end) {
    if (failure_ && end != RollEnd::interrupted) return tl::unexpected<Error>(*std::move(failure_));
    result_.end = end;
    return std::move(result_);
  }

  const CommitTarget& target_;
  CommitJournal& journal_;
  const CommitHooks& hooks_;
  RollResult result_;
  std::optional<Error> failure_;  // of a step: why all steps went the other way
};

}  // namespace

Result<RollResult> roll(const CommitTarget& target, CommitJournal& journal, const CommitHooks& hooks) {
  return JournalRoll(target, journal, hooks).roll();
}

Result<PathConflicts> begin_undo(const CommitTarget& target, CommitJournal& journal, const CommitHooks& hooks) {
  PathConflicts conflicts;
  StampBudget budget;
  budget.hashed_bytes = 0;
  for (const JournalRow& row : journal.rows) {
    TRY(std::string why, difference_from(row.after, target.workspace, row.path, depth_of(row), budget));
    if (!why.empty()) conflicts.add(row.path, std::move(why));
  }
  if (!conflicts.empty()) return conflicts;
  for (ParentFolder& parent : journal.parents) {
    TRY(const auto now, find_entry(target.workspace, parent.path));
    parent.restores_mtime = now && identity_of(*now) == parent.identity && now->mtime_ns == parent.mtime_after_ns;
  }
  CHECKED(change_state(target, journal, JournalState::back, hooks));
  return conflicts;
}

}  // namespace proposals

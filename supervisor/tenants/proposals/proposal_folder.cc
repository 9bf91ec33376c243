#include "supervisor/tenants/proposals/proposal_folder.h"

#include <algorithm>

#include "supervisor/base/json/json.h"
#include "supervisor/base/path.h"
#include "supervisor/tenants/proposals/text_diff.h"
#include "supervisor/tenants/quota.h"

namespace proposals {
namespace {

constexpr char kUpper[] = "u";

Error proposal_error(Error error, const std::string& id) { return std::move(error).within("proposal " + id); }

tl::unexpected<Error> daemon_ends(const char* kind) {
  return fail(Code::unavailable, std::string("the daemon ends; the ") + kind + " is completed at its next start",
              "look at the proposal after the restart");
}

void cut_list(tenants::Changes::List& list) {
  if (list.paths.size() <= tenants::kListedChanges) return;
  list.omitted += list.paths.size() - tenants::kListedChanges;
  list.paths.resize(tenants::kListedChanges);
}

StagedStep step_of(const JournalRow& row) {
  StagedStep step;
  step.kind = row.kind;
  step.path = row.path;
  step.fresh.mode = row.fresh_mode;
  step.base.mode = row.base_mode;
  return step;
}

}  // namespace

// All records of a folder. The last journal with the state `done` is the one that an undo takes back.
struct ProposalFolder::Contents {
  ProposalRecord record;
  std::vector<StagedStep> steps;  // that are left
  unsigned journals = 0;
  std::vector<unsigned> done;              // numbers of journals
  std::optional<CommitJournal> last_done;  // of the last commit
  RollResult recovered;                    // of the last journal
};

StagedUsage measure_below(int root, const std::string& path) {
  StagedUsage usage;
  tenants::UsageCount count;
  uint64_t remaining = kMaxEntries;
  const auto walked =
      each_below(root, path, remaining, [&](const std::string&, const tenants::Entry& entry) -> Result<> {
        count.add(entry);
        return {};
      });
  usage.is_complete = walked.has_value();
  usage.bytes = count.usage().bytes;
  usage.files = count.usage().files;
  return usage;
}

Result<ProposalFolder> ProposalFolder::open(int staging, int workspace, const std::string& id) {
  if (!is_proposal_id(id)) return fail(Code::not_found, "there is no proposal '" + valid_utf8(id).substr(0, 64) + "'");
  auto directory = open_folder(staging, id);
  if (!directory) return tl::unexpected<Error>(proposal_error(std::move(directory).error(), id));
  return ProposalFolder(id, *std::move(directory), workspace);
}

Result<Proposal> ProposalFolder::settle(ProposalAbout about, BaseChanges base_changes, int64_t settled_ms,
                                        int64_t recorded_ms) {
  for (auto* list : {&base_changes.changes.created, &base_changes.changes.modified, &base_changes.changes.deleted})
    cut_list(*list);
  TRY(const Fd upper, open_folder(directory_.get(), kUpper));
  TRY(UpperLayer layer, read_upper_layer(upper.get(), workspace_));
  ProposalRecord record;
  Proposal& proposal = record.proposal;
  proposal.id = id_;
  proposal.about = std::move(about);
  proposal.settled_ms = settled_ms;
  proposal.recorded_ms = recorded_ms;
  for (const std::string& path : layer.refused) proposal.refused.push_back(valid_utf8(path));
  proposal.refused_count = layer.refused_count;
  proposal.entries = layer.entries;
  proposal.bytes = layer.bytes;
  proposal.problem = layer.problem;
  if (layer.steps.empty() && layer.problem.empty()) return proposal;
  TRY(proposal.files, list_files(layer.steps, upper.get(), workspace_));
  TRY(const JudgedSteps judged, judge_steps(layer.steps, base_changes, workspace_, JudgedBy::changes));
  proposal.conflicts = judged.conflicts;
  record.base_changes = std::move(base_changes);
  proposal.state = ProposalState::open;
  CHECKED(write_steps(directory_.get(), 0, layer.steps, RecordSync::none));
  CHECKED(write_proposal(directory_.get(), record));
  return proposal;
}

// The journals come first: whatever the other records are like, no workspace stays between two states.
Result<ProposalFolder::Contents> ProposalFolder::read_journals(const CommitHooks& hooks) {
  Contents contents;
  for (unsigned number = 1; number <= kMaxCommits; number++) {
    TRY(auto journal, read_journal(directory_.get(), number));
    if (!journal) break;
    TRY(contents.recovered, roll(target(), *journal, hooks));
    if (contents.recovered.end == RollEnd::withdrawn) break;
    contents.journals = number;
    if (contents.recovered.end == RollEnd::interrupted) return daemon_ends("commit");
    if (journal->state != JournalState::done) continue;
    contents.done.push_back(number);
    contents.last_done = std::move(journal);
  }
  return contents;
}

Result<> ProposalFolder::read_records(Contents& contents) {
  TRY(contents.record, read_proposal(directory_.get(), id_));
  TRY(contents.steps, read_steps(directory_.get(), contents.journals));
  return {};
}

Result<ProposalFolder::Contents> ProposalFolder::read_all(const CommitHooks& hooks) {
  TRY(Contents contents, read_journals(hooks));
  CHECKED(read_records(contents));
  return contents;
}

Result<StagedFiles> ProposalFolder::remaining_files(const std::vector<StagedStep>& steps) {
  TRY(const Fd upper, open_folder(directory_.get(), kUpper));
  return list_files(steps, upper.get(), workspace_);
}

Proposal ProposalFolder::summary(const Contents& contents) {
  Proposal proposal = contents.record.proposal;
  proposal.commits = static_cast<unsigned>(contents.done.size());
  proposal.state = !contents.steps.empty() || !proposal.problem.empty() ? ProposalState::open
                   : contents.done.empty()                              ? ProposalState::undone
                                                                        : ProposalState::committed;
  if (!contents.done.empty()) {
    const auto written = find_entry(directory_.get(), journal_name(contents.done.back()));
    if (written && *written) proposal.committed_ms = (*written)->mtime_ns / 1'000'000;
  }
  if (contents.journals > 0) {
    proposal.bytes = measure_below(directory_.get(), "").bytes;
    proposal.conflicts = {};
    if (proposal.state == ProposalState::open) {
      if (auto files = remaining_files(contents.steps)) proposal.files = *std::move(files);
    }
  }
  return proposal;
}

Result<std::optional<Proposal>> ProposalFolder::load(const CommitHooks& hooks) {
  auto contents = read_journals(hooks);
  if (!contents && contents.error().code != Code::invalid)
    return tl::unexpected<Error>(proposal_error(std::move(contents).error(), id_));
  TRY(const auto record, find_entry(directory_.get(), kProposalRecord));
  if (!record) return std::nullopt;
  if (contents)
    if (auto readable = read_records(*contents); !readable) contents = tl::unexpected<Error>(readable.error());
  if (contents) return summary(*contents);
  if (contents.error().code != Code::invalid)
    return tl::unexpected<Error>(proposal_error(std::move(contents).error(), id_));
  Proposal damaged;
  if (auto readable = read_proposal(directory_.get(), id_)) damaged = std::move(readable->proposal);
  damaged.id = id_;
  damaged.state = ProposalState::damaged;
  damaged.problem = "its records are damaged: " + contents.error().what;
  damaged.bytes = measure_below(directory_.get(), "").bytes;
  return damaged;
}

Result<std::string> ProposalFolder::diff(size_t max_bytes, const CommitHooks& hooks) {
  TRY(const Contents contents, read_all(hooks));
  TextDiff diff(max_bytes);
  uint64_t remaining_entries = 2 * kMaxEntries;
  bool goes_on = true;
  const auto add_step = [&](const StagedStep& step, const StepSides& sides) {
    return each_file_change(step, sides, remaining_entries, [&](const FileChange& change) -> Result<bool> {
      if (hooks.must_stop()) return fail(Code::unavailable, "the daemon ends", "call again after its restart");
      TRY(goes_on, diff.add(change, sides.before, sides.after));
      return goes_on;
    });
  };
  if (!contents.steps.empty()) {
    TRY(const Fd upper, open_folder(directory_.get(), kUpper));
    for (const StagedStep& step : contents.steps) {
      StepSides sides{workspace_, upper.get(), "", ""};
      if (step.kind != StepKind::create) sides.before_path = step.path;
      if (step.kind == StepKind::create || step.kind == StepKind::replace) sides.after_path = step.path;
      CHECKED(add_step(step, sides));
      if (!goes_on) break;
    }
  } else if (contents.last_done) {
    for (const JournalRow& row : contents.last_done->rows) {
      if (row.staged.starts_with("made/")) continue;
      StepSides sides{row.kind == StepKind::mode ? workspace_ : directory_.get(), workspace_, "", ""};
      if (row.kind == StepKind::mode) sides.before_path = row.path;
      if (row.kind == StepKind::replace || row.kind == StepKind::remove) sides.before_path = row.staged;
      if (row.kind == StepKind::create || row.kind == StepKind::replace) sides.after_path = row.path;
      CHECKED(add_step(step_of(row), sides));
      if (!goes_on) break;
    }
  }
  return std::move(diff).finished();
}

Result<CommitReport> ProposalFolder::commit(const std::vector<std::string>& paths, const CommitHooks& hooks) {
  TRY(Contents contents, read_all(hooks));
  if (!contents.record.proposal.problem.empty())
    return fail(Code::invalid, "proposal " + id_ + " cannot be committed: " + contents.record.proposal.problem,
                "discard it, and change fewer files in one execution");
  if (contents.steps.empty())
    return fail(Code::invalid, "proposal " + id_ + " has no changes left to commit", "undo takes its last commit back");
  if (contents.journals >= kMaxCommits)
    return fail(Code::exhausted, "proposal " + id_ + " has too many commits", "commit all other paths at once");
  CommitReport report;
  TRY(const Fd upper, open_folder(directory_.get(), kUpper));
  TRY(StepSelection selection, select_steps(std::move(contents.steps), paths, upper.get()));
  TRY(JudgedSteps judged,
      judge_steps(selection.chosen, contents.record.base_changes, workspace_, JudgedBy::changes_and_workspace));
  report.conflicts = std::move(judged.conflicts);
  if (report.conflicts.empty()) {
    selection.chosen = std::move(judged.clean);
    const unsigned number = contents.journals + 1;
    TRY(CommitJournal journal, prepare_commit(target(), number, selection, hooks));
    CHECKED(forget_steps(directory_.get(), number));
    if (!selection.rest.empty()) CHECKED(write_steps(directory_.get(), number, selection.rest, RecordSync::waits));
    hooks.before_step();
    CHECKED(write_journal(directory_.get(), journal));  // from here on, the commit happens
    TRY(RollResult rolled, roll(target(), journal, hooks));
    if (rolled.end == RollEnd::interrupted) return daemon_ends("commit");
    report.is_committed = rolled.end == RollEnd::done;
    report.conflicts = std::move(rolled.conflicts);
    report.steps = report.is_committed ? journal.rows.size() : 0;
  }
  TRY(contents, read_all(hooks));
  report.proposal = summary(contents);
  return report;
}

Result<Proposal> ProposalFolder::discard_rest(const CommitHooks& hooks) {
  TRY(Contents contents, read_all(hooks));
  if (contents.done.empty()) return fail(Code::invalid, "proposal " + id_ + " has no commit that could stay");
  CHECKED(forget_steps(directory_.get(), contents.journals));
  TRY(contents, read_all(hooks));
  return summary(contents);
}

Result<UndoReport> ProposalFolder::undo(const CommitHooks& hooks) {
  TRY(Contents contents, read_all(hooks));
  if (!contents.last_done)
    return fail(Code::invalid, "proposal " + id_ + " has no commit that can be undone", "only commits can be undone");
  UndoReport report;
  CommitJournal& journal = *contents.last_done;
  TRY(report.conflicts, begin_undo(target(), journal, hooks));
  if (report.conflicts.empty()) {
    TRY(RollResult rolled, roll(target(), journal, hooks));
    if (rolled.end == RollEnd::interrupted) return daemon_ends("undo");
    report.is_undone = rolled.end == RollEnd::undone;
    report.conflicts = std::move(rolled.conflicts);
    report.steps = report.is_undone ? journal.rows.size() : 0;
  }
  TRY(contents, read_all(hooks));
  report.proposal = summary(contents);
  return report;
}

}  // namespace proposals

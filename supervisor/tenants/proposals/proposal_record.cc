#include "supervisor/tenants/proposals/proposal_record.h"

#include <algorithm>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/path.h"
#include "supervisor/tenants/proposals/commit_journal.h"

namespace proposals {
namespace {

constexpr std::string_view kProposalForm = "warder-proposal-1", kStepsForm = "warder-steps-1";
constexpr uint64_t kMaxModeBits = 07777;
constexpr size_t kMaxWord = 256;  // bytes of an execution's id or language

std::string word_of(std::string_view text) { return valid_utf8(text.substr(0, kMaxWord / 3)); }

void add_changed(RecordWriter& to, std::string_view kind, const tenants::Changes::List& list) {
  for (const std::string& path : list.paths) to.line(kind).text(path);
}

void add_files(RecordWriter& to, std::string_view kind, const StagedFiles::List& list) {
  for (const StagedFile& file : list.files) to.line(kind).text(file.path).number(file.bytes).number(file.bytes_before);
}

Result<> read_file_line(RecordLine& line, StagedFiles::List& list) {
  StagedFile file;
  file.path = line.text();
  file.bytes = line.number();
  file.bytes_before = line.number();
  CHECKED(line.done());
  if (list.files.size() >= tenants::kListedChanges || valid_utf8(file.path) != file.path)
    return fail(Code::invalid, "its list of files is wrong");
  list.files.push_back(std::move(file));
  return {};
}

// A line with one text.
Result<> read_text_line(RecordLine& line, std::vector<std::string>& list, size_t max) {
  std::string text = line.text();
  CHECKED(line.done());
  if (list.size() >= max || valid_utf8(text) != text) return fail(Code::invalid, "one of its lists is wrong");
  list.push_back(std::move(text));
  return {};
}

Result<> read_conflict(RecordLine& line, PathConflicts& conflicts) {
  std::string path = line.text(), why = line.text();
  CHECKED(line.done());
  if (valid_utf8(path) != path || valid_utf8(why) != why) return fail(Code::invalid, "a conflict is not UTF-8");
  conflicts.add(path, std::move(why));
  return {};
}

Result<> read_head(RecordLine& line, ProposalRecord& record) {
  Proposal& proposal = record.proposal;
  proposal.id = line.text();
  proposal.about.execution = line.text();
  proposal.about.language = line.text();
  proposal.about.requested_ms = line.signed_number();
  proposal.settled_ms = line.signed_number();
  proposal.refused_count = line.number();
  proposal.entries = line.number();
  proposal.bytes = line.number();
  proposal.problem = line.text();
  record.base_changes.started_ns = line.signed_number();
  record.base_changes.changes.complete = line.number(1) == 1;
  for (auto* list : {&record.base_changes.changes.created, &record.base_changes.changes.modified,
                     &record.base_changes.changes.deleted})
    list->omitted = line.number();
  for (auto* list : {&proposal.files.created, &proposal.files.modified, &proposal.files.deleted})
    list->omitted = line.number();
  proposal.conflicts.omitted = line.number();
  CHECKED(line.done());
  for (const std::string* word : {&proposal.about.execution, &proposal.about.language})
    if (word->size() > kMaxWord || valid_utf8(*word) != *word) return fail(Code::invalid, "its execution is wrong");
  return {};
}

Result<> read_line(const std::string& kind, RecordLine& line, ProposalRecord& record) {
  Proposal& proposal = record.proposal;
  tenants::Changes& changes = record.base_changes.changes;
  if (kind == "recorded") {
    proposal.recorded_ms = line.signed_number();
    return line.done();
  }
  if (kind == "refused") return read_text_line(line, proposal.refused, kMaxRefused);
  if (kind == "conflict") return read_conflict(line, proposal.conflicts);
  if (kind == "created") return read_file_line(line, proposal.files.created);
  if (kind == "modified") return read_file_line(line, proposal.files.modified);
  if (kind == "deleted") return read_file_line(line, proposal.files.deleted);
  if (kind == "base-created") return read_text_line(line, changes.created.paths, tenants::kListedChanges);
  if (kind == "base-modified") return read_text_line(line, changes.modified.paths, tenants::kListedChanges);
  if (kind == "base-deleted") return read_text_line(line, changes.deleted.paths, tenants::kListedChanges);
  return fail(Code::invalid, "it has a line of an unknown kind");
}

void add_step(RecordWriter& to, const StagedStep& step) {
  to.line("step").number(static_cast<uint64_t>(step.kind)).text(step.path).number(step.is_torn);
  add_identity(to, step.fresh.identity);
  to.number(static_cast<uint64_t>(step.fresh.kind)).number(step.fresh.size).number(step.fresh.mode);
  to.signed_number(step.fresh.mtime_ns).text(step.fresh.digest);
  add_stamp(to, step.base);
}

Result<StagedStep> read_step(RecordLine& line) {
  StagedStep step;
  step.kind = static_cast<StepKind>(line.number(static_cast<uint64_t>(StepKind::mode)));
  step.path = line.text();
  step.is_torn = line.number(1) == 1;
  step.fresh.identity = read_identity(line);
  step.fresh.kind = static_cast<tenants::FileKind>(line.number(static_cast<uint64_t>(tenants::FileKind::other)));
  step.fresh.size = line.number();
  step.fresh.mode = static_cast<uint32_t>(line.number(kMaxModeBits));
  step.fresh.mtime_ns = line.signed_number();
  step.fresh.digest = line.text();
  step.base = read_stamp(line);
  CHECKED(line.done());
  if (!is_relative(step.path)) return fail(Code::invalid, "a path of a step leads out of the workspace");
  if ((step.kind == StepKind::create) == step.base.kind.has_value())
    return fail(Code::invalid, "a step does not fit the workspace");
  return step;
}

std::string steps_name(unsigned number) { return "steps." + std::to_string(number); }

}  // namespace

std::string_view state_name(ProposalState state) {
  switch (state) {
    case ProposalState::none:
      return "none";
    case ProposalState::open:
      return "open";
    case ProposalState::committed:
      return "committed";
    case ProposalState::discarded:
      return "discarded";
    case ProposalState::undone:
      return "undone";
    case ProposalState::damaged:
      return "damaged";
  }
  return "damaged";
}

bool is_proposal_id(std::string_view id) {
  return id.size() == 17 && id[0] == 'p' && std::all_of(id.begin() + 1, id.end(), is_lower_hex);
}

Result<> write_proposal(int staging, const ProposalRecord& record) {
  const Proposal& proposal = record.proposal;
  const tenants::Changes& changes = record.base_changes.changes;
  RecordWriter to;
  to.line(kProposalForm).text(proposal.id);
  to.text(word_of(proposal.about.execution));
  to.text(word_of(proposal.about.language));
  to.signed_number(proposal.about.requested_ms).signed_number(proposal.settled_ms).number(proposal.refused_count);
  to.number(proposal.entries).number(proposal.bytes).text(proposal.problem);
  to.signed_number(record.base_changes.started_ns).number(changes.complete);
  for (const auto* list : {&changes.created, &changes.modified, &changes.deleted}) to.number(list->omitted);
  for (const auto* list : {&proposal.files.created, &proposal.files.modified, &proposal.files.deleted})
    to.number(list->omitted);
  to.number(proposal.conflicts.omitted);
  to.line("recorded").signed_number(proposal.recorded_ms);
  for (const std::string& path : proposal.refused) to.line("refused").text(path);
  for (const PathConflict& conflict : proposal.conflicts.listed)
    to.line("conflict").text(conflict.path).text(conflict.why);
  add_files(to, "created", proposal.files.created);
  add_files(to, "modified", proposal.files.modified);
  add_files(to, "deleted", proposal.files.deleted);
  add_changed(to, "base-created", changes.created);
  add_changed(to, "base-modified", changes.modified);
  add_changed(to, "base-deleted", changes.deleted);
  TRY(const std::string text, std::move(to).finished());
  return write_record(staging, kProposalRecord, text, RecordSync::none);
}

Result<ProposalRecord> read_proposal(int staging, const std::string& id) {
  TRY(const std::string text, read_regular(staging, kProposalRecord, kMaxRecordBytes + 256));
  TRY(auto lines, parse_record(text));
  ProposalRecord record;
  if (lines.empty() || lines[0].kind() != kProposalForm)
    return fail(Code::invalid, "it is no proposal of this version");
  CHECKED(read_head(lines[0], record));
  if (record.proposal.id != id) return fail(Code::invalid, "it is the record of another proposal");
  record.proposal.recorded_ms = record.proposal.settled_ms;  // of an older version, without that line
  for (size_t i = 1; i < lines.size(); i++) {
    const std::string kind = lines[i].kind();
    CHECKED(read_line(kind, lines[i], record));
  }
  return record;
}

Result<> write_steps(int staging, unsigned number, const std::vector<StagedStep>& steps, RecordSync sync) {
  RecordWriter to;
  to.line(kStepsForm).number(number);
  for (const StagedStep& step : steps) add_step(to, step);
  TRY(const std::string text, std::move(to).finished());
  return write_record(staging, steps_name(number), text, sync);
}

Result<std::vector<StagedStep>> read_steps(int staging, unsigned number) {
  std::vector<StagedStep> steps;
  const auto text = read_regular(staging, steps_name(number), kMaxRecordBytes + 256);
  if (!text && text.error().code == Code::not_found) return steps;
  if (!text) return tl::unexpected<Error>(text.error());
  TRY(auto lines, parse_record(*text));
  if (lines.empty() || lines[0].kind() != kStepsForm || lines[0].number() != number)
    return fail(Code::invalid, steps_name(number) + ": it has no steps of this version");
  CHECKED(lines[0].done());
  for (size_t i = 1; i < lines.size(); i++) {
    if (lines[i].kind() != "step") return fail(Code::invalid, steps_name(number) + ": it has another line");
    TRY(StagedStep step, read_step(lines[i]));
    steps.push_back(std::move(step));
  }
  return steps;
}

Result<> forget_steps(int staging, unsigned number) {
  TRY(const RelativePath path, RelativePath::parse(steps_name(number)));
  auto removed = unlink_beneath(staging, path, Removing::file);
  return removed || removed.error().code == Code::not_found ? Result<>{} : removed;
}

}  // namespace proposals

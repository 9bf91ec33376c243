#include "supervisor/tenants/proposals/commit_journal.h"

#include <algorithm>

#include "supervisor/base/path.h"

namespace proposals {
namespace {

constexpr std::string_view kForm = "warder-commit-1";
constexpr uint64_t kMaxMode = 07777;
constexpr uint64_t kMaxKind = static_cast<uint64_t>(tenants::FileKind::other);
constexpr uint64_t kNoEntry = kMaxKind + 1;

bool is_staged_path(std::string_view path) {
  if (!is_relative(path)) return false;
  return path.starts_with("u/") || path.starts_with("old/") || path.starts_with("made/");
}

void add_row(RecordWriter& to, const JournalRow& row) {
  to.line("step").number(static_cast<uint64_t>(row.kind)).text(row.path).text(row.staged);
  add_identity(to, row.fresh);
  add_identity(to, row.base);
  to.number(row.fresh_mode).number(row.base_mode).number(row.is_folder).number(row.was_folder);
  add_stamp(to, row.after);
}

Result<JournalRow> read_row(RecordLine& line) {
  JournalRow row;
  row.kind = static_cast<StepKind>(line.number(static_cast<uint64_t>(StepKind::mode)));
  row.path = line.text();
  row.staged = line.text();
  row.fresh = read_identity(line);
  row.base = read_identity(line);
  row.fresh_mode = static_cast<uint32_t>(line.number(kMaxMode));
  row.base_mode = static_cast<uint32_t>(line.number(kMaxMode));
  row.is_folder = line.number(1) == 1;
  row.was_folder = line.number(1) == 1;
  row.after = read_stamp(line);
  CHECKED(line.done());
  const bool has_staged = row.kind != StepKind::mode;
  if (!is_relative(row.path) || (has_staged ? !is_staged_path(row.staged) : !row.staged.empty()))
    return fail(Code::invalid, "a path in the journal leads out of its folder");
  const bool has_fresh = row.kind == StepKind::create || row.kind == StepKind::replace;
  if ((row.fresh.inode != 0) != has_fresh || (row.base.inode != 0) != (row.kind != StepKind::create))
    return fail(Code::invalid, "a step in the journal has a wrong inode");
  return row;
}

void add_parent(RecordWriter& to, const ParentFolder& parent) {
  to.line("parent").text(parent.path);
  add_identity(to, parent.identity);
  to.number(parent.mode).signed_number(parent.mtime_ns).signed_number(parent.mtime_after_ns);
  to.number(parent.restores_mtime);
}

Result<ParentFolder> read_parent(RecordLine& line) {
  ParentFolder parent;
  parent.path = line.text();
  parent.identity = read_identity(line);
  parent.mode = static_cast<uint32_t>(line.number(kMaxMode));
  parent.mtime_ns = line.signed_number();
  parent.mtime_after_ns = line.signed_number();
  parent.restores_mtime = line.number(1) == 1;
  CHECKED(line.done());
  if (!parent.path.empty() && !is_relative(parent.path))
    return fail(Code::invalid, "a path in the journal leads out of its folder");
  return parent;
}

}  // namespace

void add_identity(RecordWriter& to, const FileIdentity& identity) {
  to.number(identity.inode).signed_number(identity.born_ns);
}

FileIdentity read_identity(RecordLine& from) {
  FileIdentity identity;
  identity.inode = from.number();
  identity.born_ns = from.signed_number();
  return identity;
}

void add_stamp(RecordWriter& to, const BaseStamp& stamp) {
  to.number(stamp.kind ? static_cast<uint64_t>(*stamp.kind) : kNoEntry);
  add_identity(to, stamp.identity);
  to.number(stamp.size).number(stamp.mode).signed_number(stamp.mtime_ns).signed_number(stamp.ctime_ns);
  to.text(stamp.digest);
}

BaseStamp read_stamp(RecordLine& from) {
  BaseStamp stamp;
  const uint64_t kind = from.number(kNoEntry);
  if (kind != kNoEntry) stamp.kind = static_cast<tenants::FileKind>(kind);
  stamp.identity = read_identity(from);
  stamp.size = from.number();
  stamp.mode = static_cast<uint32_t>(from.number(kMaxMode));
  stamp.mtime_ns = from.signed_number();
  stamp.ctime_ns = from.signed_number();
  stamp.digest = from.text();
  return stamp;
}

std::string journal_name(unsigned number) { return "journal." + std::to_string(number); }

Result<std::string> journal_text(const CommitJournal& journal) {
  RecordWriter to;
  to.line(kForm).number(journal.number).number(static_cast<uint64_t>(journal.state));
  for (const JournalRow& row : journal.rows) add_row(to, row);
  for (const ParentFolder& parent : journal.parents) add_parent(to, parent);
  return std::move(to).finished();
}

Result<CommitJournal> parse_journal(std::string_view text, unsigned number) {
  TRY(auto lines, parse_record(text));
  CommitJournal journal;
  for (size_t i = 0; i < lines.size(); i++) {
    RecordLine& line = lines[i];
    const std::string kind = line.kind();
    if (i == 0) {
      if (kind != kForm) return fail(Code::invalid, "it is no journal of this version");
      journal.number = static_cast<unsigned>(line.number(kMaxCommits));
      journal.state = static_cast<JournalState>(line.number(static_cast<uint64_t>(JournalState::undone)));
      CHECKED(line.done());
      if (journal.number != number) return fail(Code::invalid, "it is the journal of another commit");
    } else if (kind == "step" && journal.parents.empty()) {
      TRY(JournalRow row, read_row(line));
      journal.rows.push_back(std::move(row));
    } else if (kind == "parent") {
      TRY(ParentFolder parent, read_parent(line));
      journal.parents.push_back(std::move(parent));
    } else {
      return fail(Code::invalid, "it has a line of an unknown kind");
    }
  }
  if (lines.empty()) return fail(Code::invalid, "it is empty");
  return journal;
}

std::optional<JournalState> state_of_journal(std::string_view begin) {
  const size_t end = begin.find('\n');
  if (end == begin.npos) return std::nullopt;
  RecordLine line(begin.substr(0, end), 1);
  const bool is_journal = line.kind() == kForm;
  (void)line.number(kMaxCommits);
  const auto state = static_cast<JournalState>(line.number(static_cast<uint64_t>(JournalState::undone)));
  if (!is_journal || !line.done()) return std::nullopt;
  return state;
}

Result<std::optional<CommitJournal>> read_journal(int staging, unsigned number) {
  const std::string name = journal_name(number);
  const auto text = read_regular(staging, name, kMaxRecordBytes + 256);
  if (!text && text.error().code == Code::not_found) return std::nullopt;
  if (!text) return tl::unexpected<Error>(text.error());
  auto journal = parse_journal(*text, number);
  if (!journal) return tl::unexpected<Error>(std::move(journal).error().within(name));
  return *std::move(journal);
}

Result<> write_journal(int staging, const CommitJournal& journal) {
  TRY(const std::string text, journal_text(journal));
  return write_record(staging, journal_name(journal.number), text, RecordSync::waits);
}

}  // namespace proposals

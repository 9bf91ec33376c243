// CommitJournal: the steps of one commit, written and synced before the first step. With it, a commit that a crash has
// interrupted is completed, and a completed commit is undone. Each step is one rename that keeps the entry that it
// replaces; the inodes in the journal tell which steps were made.
// Source: the files `journal.N` of a staging folder, N from 1. Only the daemon's user can write there; the file is
// checked strictly all the same. Used by: commit.cc, proposal_folder.cc. Errors: invalid, a damaged journal;
// those of base/path.h.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/tenants/proposals/base_state.h"
#include "supervisor/tenants/proposals/record_lines.h"
#include "supervisor/tenants/proposals/upper_layer.h"

namespace proposals {

enum class JournalState : uint8_t {
  forward,   // steps are being made; ends as `done`, or is withdrawn if another program interferes
  withdraw,  // steps are being taken back as far as possible; ends without a journal
  done,
  back,  // an undo: steps are being taken back; ends as `undone`, or becomes `redo`
  redo,  // an undo found an interference: steps are made again as far as possible; ends as `done`
  undone,
};

struct JournalRow {
  StepKind kind = StepKind::create;
  std::string path;    // in the workspace
  std::string staged;  // below the staging folder: "u/PATH" or "made/NAME" of a new entry, "old/NAME" of a removed one
  FileIdentity fresh, base;
  uint32_t fresh_mode = 0, base_mode = 0;
  bool is_folder = false, was_folder = false;  // the new and the old entry
  BaseStamp after;                             // of the path, once the commit is done
};

// A folder of the workspace in which steps happen, as it was before them.
struct ParentFolder {
  std::string path;  // "" is the workspace itself
  FileIdentity identity;
  uint32_t mode = 0;
  int64_t mtime_ns = 0;
  int64_t mtime_after_ns = 0;   // once the commit is done
  bool restores_mtime = false;  // an undo: no other program has changed the folder
};

struct CommitJournal {
  unsigned number = 0;
  JournalState state = JournalState::forward;
  std::vector<JournalRow> rows;  // in the order of the steps
  std::vector<ParentFolder> parents;
};

constexpr unsigned kMaxCommits = 1000;  // of one proposal

std::string journal_name(unsigned number);  // "journal.1"
Result<std::string> journal_text(const CommitJournal& journal);
Result<CommitJournal> parse_journal(std::string_view text, unsigned number);
// The state of a journal of which `begin` has the first line; nullopt: it is no first line of a journal.
std::optional<JournalState> state_of_journal(std::string_view begin);

// The journal N of an open staging folder; nullopt: absent.
Result<std::optional<CommitJournal>> read_journal(int staging, unsigned number);
// Returns when the disk has it.
Result<> write_journal(int staging, const CommitJournal& journal);

// Fields of lines that other records have, too.
void add_stamp(RecordWriter& to, const BaseStamp& stamp);
BaseStamp read_stamp(RecordLine& from);
void add_identity(RecordWriter& to, const FileIdentity& identity);
FileIdentity read_identity(RecordLine& from);

}  // namespace proposals

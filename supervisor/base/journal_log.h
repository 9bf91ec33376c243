// Log lines with named fields, for `journalctl WARDER_EXECUTION_ID=...`. Where standard error is systemd's journal,
// line and fields go there by sd_journal_sendv(3). Elsewhere only the line is logged, as by log.h. The caller is the
// owner of the request, as with log.h. Values may be any text. Names are constants of the program: A to Z, 0 to 9 and
// _.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/log.h"

struct LogField {
  std::string_view name;  // "WARDER_TENANT"
  std::string value;      // empty: the field is left out
};

// Logs one event as one line. `message_id`: 32 hexadecimal digits that name the kind of event and never change (for
// catalogs and filters).
void log_fields(LogLevel level, std::string_view message_id, const std::string& text,
                const std::vector<LogField>& fields);

// Sends entries to systemd's journal. sd_journal_sendv() waits while the journal takes nothing, so it runs on a thread
// of its own, and the caller never waits. An entry that the journal cannot get is logged by log.h.
class JournalWriter {
 public:
  static constexpr size_t kMaxWaiting = 1024;  // entries
  static constexpr size_t kMaxValue = 4096;    // bytes; the rest of a value is dropped

  JournalWriter();
  // Waits one second at most for the entries that the journal has not taken yet.
  ~JournalWriter();
  JournalWriter(const JournalWriter&) = delete;

  // Returns false when too many entries wait, or no thread could be made: the entry is dropped then.
  bool send(LogLevel level, std::string_view message_id, std::string_view text, const std::vector<LogField>& fields);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // the thread's, too: it may outlive this object
};

// Whether a descriptor is the stream that $JOURNAL_STREAM (systemd.exec(5)) names in the form "device:inode".
bool is_journal_stream(int fd, const char* journal_stream);

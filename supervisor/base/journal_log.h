// Log lines with named fields, for `journalctl WARDER_EXECUTION_ID=...`. Where standard error is systemd's journal,
// line and fields go there in its native protocol (https://systemd.io/JOURNAL_NATIVE_PROTOCOL). Elsewhere only the line
// is logged, as by log.h. The caller is the owner of the request, as with log.h. Values may be any text. Names are
// constants of the program: A to Z, 0 to 9 and _.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/log.h"

struct LogField {
  std::string_view name;  // "WARDER_TENANT"
  std::string value;      // empty: the field is left out
};

// Logs one event as one line. `message_id`: 32 hexadecimal digits that name the kind of event and never change (for
// catalogs and filters).
void log_fields(LogLevel level, std::string_view message_id, const std::string& text,
                const std::vector<LogField>& fields);

// The socket of systemd's journal. No call waits: a message that the journal does not take at once is not sent.
class JournalSocket {
 public:
  explicit JournalSocket(std::string path = "/run/systemd/journal/socket");
  // Returns false when the message did not arrive.
  bool send(LogLevel level, std::string_view message_id, std::string_view text,
            const std::vector<LogField>& fields) const;

 private:
  std::string path_;
  Fd socket_;
};

// Whether a descriptor is the stream that $JOURNAL_STREAM (systemd.exec(5)) names in the form "device:inode".
bool is_journal_stream(int fd, const char* journal_stream);

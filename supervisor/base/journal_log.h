// Log lines with fields of their own, for `journalctl WARDER_EXECUTION_ID=...`: sent to systemd's journal as it takes
// them (https://systemd.io/JOURNAL_NATIVE_PROTOCOL), where standard error is the journal; else the line alone, like any
// other. Who calls owns the request, as with log.h. Values may hold whatever they like; names are ours: A to Z, 0 to 9
// and _.
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

// One line, one event. `message_id`: 32 hexadecimal digits that name the kind of event for good (catalogs, filters).
void log_fields(LogLevel level, std::string_view message_id, const std::string& text,
                const std::vector<LogField>& fields);

// The journal's socket. Nothing here waits: what the journal does not take at once is refused.
class JournalSocket {
 public:
  explicit JournalSocket(std::string path = "/run/systemd/journal/socket");
  // False: it did not arrive.
  bool send(LogLevel level, std::string_view message_id, std::string_view text,
            const std::vector<LogField>& fields) const;

 private:
  std::string path_;
  Fd socket_;
};

// Whether a descriptor is the stream that $JOURNAL_STREAM (systemd.exec(5)) names: "device:inode".
bool is_journal_stream(int fd, const char* journal_stream);

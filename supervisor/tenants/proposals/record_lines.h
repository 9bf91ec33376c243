// RecordLines: the form of the records of a staging folder: lines of fields, for paths of any bytes. The last line has
// the number of lines and a digest of all bytes before it, so that a record that was cut off or changed is refused.
// Used by: commit_journal.cc, proposal_record.cc. Errors: invalid, with the line; exhausted, a record that is too
// large.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"

namespace proposals {

constexpr size_t kMaxRecordBytes = 128 << 20;

class RecordWriter {
 public:
  // Begins a line. Fields follow.
  RecordWriter& line(std::string_view kind);
  RecordWriter& text(std::string_view bytes);
  RecordWriter& number(uint64_t value);
  RecordWriter& signed_number(int64_t value);
  // The whole record. Errors: exhausted.
  Result<std::string> finished() &&;

 private:
  std::string text_;
  uint64_t lines_ = 0;
};

// One line of a record. Each call reads the next field; the first wrong field is the error of done().
class RecordLine {
 public:
  explicit RecordLine(std::string_view line, uint64_t line_number) : rest_(line), line_number_(line_number) {}
  std::string kind() { return std::string(next()); }  // the first field
  std::string text();
  uint64_t number(uint64_t max = UINT64_MAX);
  int64_t signed_number();
  // Errors: invalid, a field was wrong, missing, or one too many.
  Result<> done() const;

 private:
  std::string_view next();
  std::string_view rest_;
  bool has_more_ = true, is_wrong_ = false;
  uint64_t line_number_;
};

// The lines of a record without the last one, each with its kind as the first field. The text must outlive them.
Result<std::vector<RecordLine>> parse_record(std::string_view record);

// Replaces the file `name` in an open folder in one step. `sync`: whether it waits until the disk has the file
// and its name.
enum class RecordSync { none, waits };
Result<> write_record(int folder, const std::string& name, std::string_view record, RecordSync sync);

}  // namespace proposals

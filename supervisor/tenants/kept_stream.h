// SavedStream: the stored part of one output stream of an execution, or one file of a workspace, opened to be read by
// range. A stream is stored in the file `stdout`; what goes beyond its head is in files like `stdout.33554432`, whose
// number is the offset of their first byte in the stream. If they do not follow each other, the bytes between are not
// stored: a gap.
// Source: Executions, Workspace. Used by: supervisor/tools/workspace. Errors: those of the disk.
// Any thread may read an opened stream.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"
#include "supervisor/tenants/workspace.h"

namespace tenants {

class SavedStream {
 public:
  // `name`: "stdout". Without a file of this name the stream is empty.
  static Result<SavedStream> open(int directory, std::string_view name);
  static Result<SavedStream> of_file(Fd file);

  bool has_files() const { return !parts_.empty(); }
  uint64_t size() const;  // of the whole stream, with its gap
  std::optional<FileRange::Gap> gap() const;
  // Up to `limit` bytes from `offset`. A range ends at the gap; one that would begin in the gap begins at its end.
  Result<FileRange> read(uint64_t offset, size_t limit) const;

 private:
  struct Part {
    Fd file;
    uint64_t offset = 0, size = 0;
    uint64_t end() const { return offset + size; }
  };
  Result<> add(Fd file, uint64_t offset);

  std::vector<Part> parts_;  // by offset
};

// The name of the file that begins at `offset`; 0: the head.
std::string part_name(std::string_view stream, uint64_t offset);

}  // namespace tenants

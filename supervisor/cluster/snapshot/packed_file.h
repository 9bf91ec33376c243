// PackedWriter, PackedReader: a file of zstd data. The writer also computes the SHA-256 of the file as it is on the
// disk. Used by: snapshot_pack.cc, snapshot_unpack.cc, on worker threads. Errors: those of write(2) and read(2);
// invalid: the data is damaged, or needs more memory than 8 MiB to be read.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

namespace cluster {

// SHA-256 of data that comes in parts.
class RunningDigest {
 public:
  RunningDigest();
  ~RunningDigest();
  RunningDigest(const RunningDigest&) = delete;
  void add(std::string_view bytes);
  // 64 hexadecimal digits. Call it once.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class PackedWriter {
 public:
  // `file` stays the caller's.
  explicit PackedWriter(int file);
  ~PackedWriter();
  PackedWriter(const PackedWriter&) = delete;
  Result<> add(std::string_view bytes);
  // Writes the end. Returns the digest.
  Result<std::string> finish();
  uint64_t written() const { return written_; }  // bytes of the file

 private:
  struct Stream;
  Result<> pass(std::string_view bytes, bool is_end);
  const int file_;
  std::unique_ptr<Stream> stream_;
  RunningDigest digest_;
  uint64_t written_ = 0;
};

class PackedReader {
 public:
  explicit PackedReader(int file);  // reads from its position on
  ~PackedReader();
  PackedReader(const PackedReader&) = delete;
  // Fills the whole buffer. Errors: also invalid, the data ends before.
  Result<> read(char* bytes, size_t count);

 private:
  struct Stream;
  const int file_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace cluster

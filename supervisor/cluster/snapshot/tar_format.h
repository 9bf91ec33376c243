// The form of a snapshot's tar file: pax headers (POSIX.1-2001) with names and times, ustar headers behind them, and
// sparse files in GNU's form 1.0. `tar --zstd -x` reads it. The reader accepts what the writer writes, and nothing
// else: a snapshot may come from another machine. Times are in nanoseconds since 1970. Used by: snapshot_pack.cc,
// snapshot_unpack.cc. Errors: invalid, naming the entry.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/result.h"

namespace cluster {

constexpr size_t kTarBlock = 512;              // bytes
constexpr size_t kMaxTarPath = 4095;           // bytes of a name, or of the target of a link
constexpr size_t kMaxTarExtents = 100'000;     // of one sparse file
constexpr uint64_t kMaxTarBytes = 1ull << 50;  // of one file

enum class TarType : char { file = '0', hard_link = '1', link = '2', folder = '5', fifo = '6' };

// A part of a file that has data; between the parts are holes.
struct TarExtent {
  uint64_t offset = 0, size = 0;  // bytes
};

struct TarEntry {
  TarType type = TarType::file;
  std::string path;    // relative, without "." and ".."; any bytes but 0
  std::string target;  // of a link: any text; of a hard link: the path of an earlier file
  uint32_t mode = 0;   // permission bits
  uint64_t size = 0;   // of a file, in bytes
  int64_t mtime_ns = 0;
  std::vector<TarExtent> extents;  // of a file with holes: its data; empty: no holes
  bool is_sparse = false;
};

// The headers of an entry, and the map of a sparse file. The data follows, then tar_padding() zeros.
std::string tar_headers(const TarEntry& entry);
// Bytes of the entry's data.
uint64_t tar_data_bytes(const TarEntry& entry);
size_t tar_padding(uint64_t data_bytes);
// The end of the file: two blocks of zeros.
std::string tar_end();

// Reads entry by entry: next(), then all the data of a file by read_data().
class TarReader {
 public:
  // Fills the whole buffer. Errors: invalid, there are not as many bytes.
  using Read = std::function<Result<>(char* bytes, size_t count)>;
  explicit TarReader(Read read) : read_(std::move(read)) {}

  // nullopt: the end. Errors: also invalid, the data of the entry before was not read.
  Result<std::optional<TarEntry>> next();
  // The next bytes of the entry's data, as the entry's extents say: at most `count`; 0 when all were read.
  Result<size_t> read_data(char* bytes, size_t count);

 private:
  Result<TarEntry> read_pax(const std::string& block);
  Result<> read_sparse_map(TarEntry& entry);
  Result<std::string> read_block();

  Read read_;
  uint64_t remaining_ = 0;  // bytes of data that were not read
  size_t padding_ = 0;      // behind them
};

}  // namespace cluster

// Executions: the kept output of programs, complete, in executions/<id>/{stdout,stderr} of their tenant. It is written
// while a program runs, and read by range later. The newest executions stay, within a limit of executions and a limit
// of bytes. A running execution is never removed.
// Source: supervisor/tools. Used by: Tenant. Errors: invalid (the id), not_found, exhausted (disk).
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/path.h"
#include "supervisor/tenants/workspace.h"

namespace tenants {

// Checks an id that a caller made: 1 to 64 of a-z, 0-9, '-', '_', the first a letter or digit.
Result<> check_execution_id(std::string_view id);

enum class Stream { out, err };
std::string_view stream_name(Stream stream);  // "stdout", "stderr"
// Errors: not_found, naming both streams.
Result<Stream> parse_stream(std::string_view name);

struct KeepLimits {
  uint64_t executions = 100;
  uint64_t bytes = 256 << 20;
};

class Executions;

// The two files of one running execution. They are made at its first byte of output. Destroying it ends the recording.
class [[nodiscard]] Recording {
 public:
  Recording(Recording&& other) noexcept;
  Recording& operator=(Recording&&) = delete;
  ~Recording();

  const std::string& id() const { return id_; }
  // Errors: exhausted, the disk is full. The execution may continue; its recorded output ends there.
  Result<> append(Stream stream, std::string_view bytes);
  uint64_t size(Stream stream) const { return sizes_[stream == Stream::err]; }

 private:
  friend class Executions;
  Recording(Executions& owner, std::string id) : owner_(&owner), id_(std::move(id)) {}
  Executions* owner_;  // nullptr: moved from
  std::string id_;
  Fd files_[2];
  uint64_t sizes_[2] = {0, 0};
};

class Executions {
 public:
  // Takes the folder and finds the output that earlier daemons left there.
  static Result<Executions> open(Fd directory, KeepLimits limits);
  // Movable only while no Recording exists.
  Executions(Executions&&) = default;
  Executions& operator=(Executions&&) = delete;

  // Starts a new execution and removes the oldest ones beyond the limits. An execution without output has no files, so
  // it is unknown after a restart. Errors: invalid when the id was used already.
  Result<Recording> begin(std::string_view id);
  // Errors: not_found, "execution 'x' is not kept", with the number of executions that are.
  Result<FileRange> read(std::string_view id, Stream stream, uint64_t offset, size_t limit) const;

  void set_limits(KeepLimits limits);
  // Ids of the executions, newest first; at most `most`.
  std::vector<std::string> newest(size_t most) const;
  size_t kept() const { return kept_.size(); }
  uint64_t kept_bytes() const;

 private:
  friend class Recording;
  struct Kept {
    std::string id;
    uint64_t bytes = 0;
    bool running = false;
    bool on_disk = false;
  };
  Executions(Fd directory, KeepLimits limits) : directory_(std::move(directory)), limits_(limits) {}
  Result<> load();
  Result<> make_files(const std::string& id, Fd (&files)[2]);
  void finish(const std::string& id, uint64_t bytes);
  void evict();

  Fd directory_;
  KeepLimits limits_;
  std::deque<Kept> kept_;  // oldest first
};

}  // namespace tenants

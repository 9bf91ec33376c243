// Executions: the kept output of programs, in executions/<id>/{stdout,stderr} of their tenant, and their values that
// were too large for an answer, in executions/<id>/value. Output is written while a program runs, and read by range
// later. Of a very long output the head and the tail are kept (kept_stream.h). The newest executions stay, within a
// limit of executions and a limit of bytes. A running execution is never removed.
// Source: supervisor/tools. Used by: Tenant. Errors: invalid (the id), not_found, exhausted (disk).
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/path.h"
#include "supervisor/tenants/kept_stream.h"
#include "supervisor/tenants/workspace.h"

namespace tenants {

// Checks an id that a caller made: 1 to 64 of a-z, 0-9, '-', '_', the first a letter or digit.
Result<> check_execution_id(std::string_view id);

// value: the program's result, if it was too large for the answer: JSON text, or the text itself if it is a string.
enum class Stream { out, err, value };
constexpr size_t kStreams = 3;
std::string_view stream_name(Stream stream);  // "stdout", "stderr", "value"
// Errors: not_found, naming the streams.
Result<Stream> parse_stream(std::string_view name);

struct KeepLimits {
  uint64_t executions = 100;
  uint64_t bytes = 256 << 20;
};

class Executions;

// The files of one running execution. Each is made at its first byte. Destroying it ends the recording.
class [[nodiscard]] Recording {
 public:
  Recording(Recording&& other) noexcept;
  Recording& operator=(Recording&&) = delete;
  ~Recording();

  const std::string& id() const { return id_; }
  // Beyond the limit of bytes of a stream, the oldest bytes after its head are removed.
  // Errors: exhausted, the disk is full. The execution may continue; its recorded output ends there.
  Result<> append(Stream stream, std::string_view bytes);
  uint64_t size(Stream stream) const { return outputs_[static_cast<size_t>(stream)].size; }
  // The bytes of the stream's middle that are not stored.
  uint64_t left_out(Stream stream) const { return outputs_[static_cast<size_t>(stream)].left_out; }

 private:
  friend class Executions;
  struct Output {
    Fd file;                                                             // the last part
    uint64_t size = 0;                                                   // of the stream
    uint64_t left_out = 0;                                               // bytes of removed parts
    std::deque<uint64_t> parts;                                          // offsets of the parts after the head
    uint64_t begin() const { return parts.empty() ? 0 : parts.back(); }  // of the last part
  };
  Recording(Executions& owner, std::string id, uint64_t stream_bytes)
      : owner_(&owner), id_(std::move(id)), stream_bytes_(stream_bytes) {}
  uint64_t room(const Output& output) const;
  Result<> begin_part(Stream stream, Output& output);
  uint64_t stored() const;

  Executions* owner_;  // nullptr: moved from
  std::string id_;
  uint64_t stream_bytes_;  // of each stream
  std::array<Output, kStreams> outputs_;
};

class Executions {
 public:
  // Takes the folder and finds the output that earlier daemons left there.
  static Result<Executions> open(Fd directory, KeepLimits limits);
  // Movable only while no Recording exists.
  Executions(Executions&&) = default;
  Executions& operator=(Executions&&) = delete;

  // Starts a new execution and removes the oldest ones beyond the limits. An execution without output has no files, so
  // it is unknown after a restart. `stream_bytes`: the most that is stored of each stream. Errors: invalid when the id
  // was used already.
  Result<Recording> begin(std::string_view id, uint64_t stream_bytes = UINT64_MAX);
  // Errors: not_found, "execution 'x' is not kept", with the number of executions that are; or the value is not kept.
  Result<SavedStream> open_stream(std::string_view id, Stream stream) const;
  Result<FileRange> read(std::string_view id, Stream stream, uint64_t offset, size_t limit) const;

  void set_limits(KeepLimits limits);
  // Ids of the executions, newest first; at most `max`.
  std::vector<std::string> newest(size_t max) const;
  size_t saved() const { return saved_.size(); }
  uint64_t saved_bytes() const;

 private:
  friend class Recording;
  struct SavedOutputs {
    std::string id;
    uint64_t bytes = 0;
    bool running = false;
    bool on_disk = false;
  };
  Executions(Fd directory, KeepLimits limits) : directory_(std::move(directory)), limits_(limits) {}
  Result<> load();
  Result<Fd> make_file(const std::string& id, const std::string& name);
  void remove_file(const std::string& id, const std::string& name) const;
  void finish(const std::string& id, uint64_t bytes);
  void evict();

  Fd directory_;
  KeepLimits limits_;
  std::deque<SavedOutputs> saved_;  // oldest first
};

}  // namespace tenants

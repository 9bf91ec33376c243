#include "supervisor/tenants/executions.h"

#include <algorithm>
#include <map>

#include "supervisor/base/ascii.h"
#include "supervisor/tenants/retention_stamp.h"

namespace tenants {
namespace {

constexpr size_t kMaxIdBytes = 64;
// A folder of an execution holds few files. If other files were put there, at most this many entries are removed.
constexpr uint64_t kMaxRemovals = 1000;
constexpr uint64_t kMaxLoaded = 500'000;

}  // namespace

Result<> check_execution_id(std::string_view id) {
  bool good = !id.empty() && id.size() <= kMaxIdBytes && is_lower_or_digit(id.front()) &&
              std::all_of(id.begin(), id.end(), [](char c) { return is_lower_or_digit(c) || c == '-' || c == '_'; });
  if (good) return {};
  return fail(Code::invalid, "this is not an execution id", "use the execution_id that execute_code answered");
}

std::string_view stream_name(Stream stream) {
  constexpr std::string_view kNames[kStreams] = {"stdout", "stderr", "value"};
  return kNames[static_cast<size_t>(stream)];
}

Result<Stream> parse_stream(std::string_view name) {
  for (const Stream stream : {Stream::out, Stream::err, Stream::value})
    if (name == stream_name(stream)) return stream;
  return fail(Code::not_found, "an execution has no file of this name",
              "read 'stdout', 'stderr', 'result' or 'receipt'");
}

Recording::Recording(Recording&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)),
      id_(std::move(other.id_)),
      stream_bytes_(other.stream_bytes_),
      outputs_(std::move(other.outputs_)) {}

Recording::~Recording() {
  if (owner_ != nullptr) owner_->finish(id_, stored());
}

uint64_t Recording::stored() const {
  uint64_t bytes = 0;
  for (const Output& output : outputs_) bytes += output.size - output.left_out;
  return bytes;
}

// The head has half of the limit. Of the parts after it, with a quarter each, the newest two are stored.
uint64_t Recording::room(const Output& output) const {
  const uint64_t limit = std::max<uint64_t>(stream_bytes_ / (output.parts.empty() ? 2 : 4), 1);
  return limit - std::min(limit, output.size - output.begin());
}

Result<> Recording::begin_part(Stream stream, Output& output) {
  TRY(output.file, owner_->make_file(id_, part_name(stream_name(stream), output.size)));
  if (output.size == 0) return {};
  output.parts.push_back(output.size);
  if (output.parts.size() <= 2) return {};
  const uint64_t oldest = output.parts.front();
  output.parts.pop_front();
  owner_->remove_file(id_, part_name(stream_name(stream), oldest));
  output.left_out += output.parts.front() - oldest;
  return {};
}

Result<> Recording::append(Stream stream, std::string_view bytes) {
  Output& output = outputs_[static_cast<size_t>(stream)];
  while (!bytes.empty()) {
    if (!output.file || room(output) == 0) CHECKED(begin_part(stream, output));
    const std::string_view part = bytes.substr(0, static_cast<size_t>(std::min<uint64_t>(room(output), bytes.size())));
    if (auto written = write_all(output.file.get(), part); !written) {
      struct stat info {};
      if (::fstat(output.file.get(), &info) == 0) output.size = output.begin() + static_cast<uint64_t>(info.st_size);
      return tl::unexpected<Error>(std::move(written).error().within("keep " + std::string(stream_name(stream)) +
                                                                     " of execution '" + id_ + "'"));
    }
    output.size += part.size();
    bytes.remove_prefix(part.size());
  }
  return {};
}

Result<Executions> Executions::open(Fd directory, KeepLimits limits) {
  Executions executions(std::move(directory), limits);
  CHECKED(executions.load());
  executions.evict();
  return executions;
}

Result<> Executions::load() {
  WalkBounds bounds;
  bounds.depth = 2;
  bounds.entries = kMaxLoaded;
  TRY(Walk walk, Walk::begin(directory_.get(), RelativePath(), bounds, WalkOrder::any));
  std::vector<Entry> entries;
  for (;;) {
    TRY(bool ended, walk.step(kSlice, entries));
    if (ended) break;
  }
  std::map<std::string, uint64_t> bytes;  // by folder
  for (const Entry& entry : entries)
    if (const size_t slash = entry.path.find('/'); slash != entry.path.npos)
      bytes[entry.path.substr(0, slash)] += entry.size;
  std::erase_if(entries, [](const Entry& e) { return e.kind != FileKind::directory || !check_execution_id(e.path); });
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.mtime_ns != b.mtime_ns ? a.mtime_ns < b.mtime_ns
                                    : a.path < b.path;  // a folder's mtime: when its files were made
  });
  for (const Entry& folder : entries) saved_.push_back(SavedOutputs{folder.path, bytes[folder.path], false, true});
  return {};
}

Result<Recording> Executions::begin(std::string_view id, uint64_t stream_bytes) {
  CHECKED(check_execution_id(id));
  if (std::any_of(saved_.begin(), saved_.end(), [&](const SavedOutputs& saved) { return saved.id == id; }))
    return fail(Code::invalid, "execution '" + std::string(id) + "' was recorded already");
  saved_.push_back(SavedOutputs{std::string(id), 0, true, false});
  evict();
  return Recording(*this, std::string(id), stream_bytes);
}

Result<Fd> Executions::make_file(const std::string& id, const std::string& name) {
  const auto it = std::find_if(saved_.begin(), saved_.end(), [&](const SavedOutputs& item) { return item.id == id; });
  const bool is_first = it != saved_.end() && !it->on_disk;
  if (is_first && ::mkdirat(directory_.get(), id.c_str(), 0700) < 0)
    return fail_path(errno, "keep the output of execution", id);
  auto file = open_beneath(directory_.get(), RelativePath::known(id + "/" + name),
                           O_CREAT | O_EXCL | O_WRONLY | O_APPEND, 0600);
  if (!file && is_first) (void)remove_tree_beneath(directory_.get(), RelativePath::known(id), kMaxRemovals);
  if (file && is_first) it->on_disk = true;
  return file;
}

void Executions::remove_file(const std::string& id, const std::string& name) const {
  (void)::unlinkat(directory_.get(), (id + "/" + name).c_str(), 0);  // both names are the daemon's own
}

void Executions::finish(const std::string& id, uint64_t bytes) {
  for (SavedOutputs& saved : saved_) {
    if (saved.id != id) continue;
    saved.bytes = bytes;
    saved.running = false;
    if (!saved.on_disk) continue;
    if (const auto folder = open_directory_beneath(directory_.get(), RelativePath::known(id)))
      (void)stamp_with_retention_time(folder->get());  // otherwise its place after a start is that of the wall clock
  }
  evict();
}

Result<SavedStream> Executions::open_stream(std::string_view id, Stream stream) const {
  CHECKED(check_execution_id(id));
  auto it = std::find_if(saved_.begin(), saved_.end(), [&](const SavedOutputs& saved) { return saved.id == id; });
  if (it == saved_.end())
    return fail(
        Code::not_found, "execution '" + std::string(id) + "' is no longer stored",
        "only the newest " + std::to_string(limits_.executions) + " executions are stored; run the program again");
  SavedStream opened;
  if (it->on_disk) {
    TRY(Fd folder, open_directory_beneath(directory_.get(), RelativePath::known(it->id)));
    TRY(opened, SavedStream::open(folder.get(), stream_name(stream)));
  }
  if (stream == Stream::value && !opened.has_files())
    return fail(Code::not_found, "execution '" + std::string(id) + "' has no stored result",
                "only a result that is too large for its answer is stored, and that of a background execution");
  return opened;
}

Result<FileRange> Executions::read(std::string_view id, Stream stream, uint64_t offset, size_t limit) const {
  TRY(const SavedStream opened, open_stream(id, stream));
  auto range = opened.read(offset, limit);
  return range;
}

void Executions::set_limits(KeepLimits limits) {
  limits_ = limits;
  evict();
}

std::vector<std::string> Executions::newest(size_t max) const {
  std::vector<std::string> ids;
  for (auto item = saved_.rbegin(); item != saved_.rend() && ids.size() < max; ++item) ids.push_back(item->id);
  return ids;
}

uint64_t Executions::saved_bytes() const {
  uint64_t bytes = 0;
  for (const SavedOutputs& saved : saved_) bytes += saved.bytes;
  return bytes;
}

// Removes the oldest executions beyond the limits. The newest execution stays at any size: its answer names it.
void Executions::evict() {
  uint64_t bytes = saved_bytes();
  size_t count = saved_.size();
  for (auto it = saved_.begin();
       it != saved_.end() && count > 1 && (count > limits_.executions || bytes > limits_.bytes);) {
    if (it->running || std::next(it) == saved_.end()) {
      ++it;
      continue;
    }
    if (it->on_disk) (void)remove_tree_beneath(directory_.get(), RelativePath::known(it->id), kMaxRemovals);
    bytes -= it->bytes;
    count--;
    it = saved_.erase(it);
  }
}

}  // namespace tenants

#include "supervisor/tenants/executions.h"

#include <algorithm>

namespace tenants {
namespace {

constexpr size_t kMaxIdBytes = 64;
// A folder of an execution holds two files. If other files were put there, at most this many entries are removed.
constexpr uint64_t kMaxRemovals = 1000;
constexpr uint64_t kMaxLoaded = 100'000;

RelativePath file_path(std::string_view id, Stream stream) {
  return RelativePath::known(std::string(id) + "/" + std::string(stream_name(stream)));  // both were checked
}

uint64_t size_of(int directory, std::string_view id, Stream stream) {
  auto entry = describe(directory, file_path(id, stream));
  return entry ? entry->size : 0;
}

}  // namespace

Result<> check_execution_id(std::string_view id) {
  auto letter_or_digit = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  bool good = !id.empty() && id.size() <= kMaxIdBytes && letter_or_digit(id.front()) &&
              std::all_of(id.begin(), id.end(), [&](char c) { return letter_or_digit(c) || c == '-' || c == '_'; });
  if (good) return {};
  return fail(Code::invalid, "this is not an execution id", "use the execution_id that execute_code answered");
}

std::string_view stream_name(Stream stream) { return stream == Stream::out ? "stdout" : "stderr"; }

Result<Stream> parse_stream(std::string_view name) {
  if (name == "stdout") return Stream::out;
  if (name == "stderr") return Stream::err;
  return fail(Code::not_found, "an execution has no file of this name", "read 'stdout' or 'stderr'");
}

Recording::Recording(Recording&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)),
      id_(std::move(other.id_)),
      files_{std::move(other.files_[0]), std::move(other.files_[1])},
      sizes_{other.sizes_[0], other.sizes_[1]} {}

Recording::~Recording() {
  if (owner_ != nullptr) owner_->finish(id_, sizes_[0] + sizes_[1]);
}

Result<> Recording::append(Stream stream, std::string_view bytes) {
  int index = stream == Stream::err;
  if (!files_[index]) CHECKED(owner_->make_files(id_, files_));
  auto written = write_all(files_[index].get(), bytes);
  if (!written) {
    struct stat info;
    if (::fstat(files_[index].get(), &info) == 0) sizes_[index] = static_cast<uint64_t>(info.st_size);
    return tl::unexpected<Error>(
        std::move(written).error().within("keep " + std::string(stream_name(stream)) + " of execution '" + id_ + "'"));
  }
  sizes_[index] += bytes.size();
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
  bounds.depth = 1;
  bounds.entries = kMaxLoaded;
  TRY(Walk walk, Walk::begin(directory_.get(), RelativePath(), bounds, WalkOrder::any));
  std::vector<Entry> found;
  for (;;) {
    TRY(bool ended, walk.step(kSlice, found));
    if (ended) break;
  }
  std::erase_if(found, [](const Entry& e) { return e.kind != FileKind::directory || !check_execution_id(e.path); });
  std::sort(found.begin(), found.end(), [](const Entry& a, const Entry& b) {
    return a.mtime_ns != b.mtime_ns ? a.mtime_ns < b.mtime_ns
                                    : a.path < b.path;  // a folder's mtime: when its files were made
  });
  for (const Entry& folder : found) {
    uint64_t bytes =
        size_of(directory_.get(), folder.path, Stream::out) + size_of(directory_.get(), folder.path, Stream::err);
    kept_.push_back(Kept{folder.path, bytes, false, true});
  }
  return {};
}

Result<Recording> Executions::begin(std::string_view id) {
  CHECKED(check_execution_id(id));
  if (std::any_of(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.id == id; }))
    return fail(Code::invalid, "execution '" + std::string(id) + "' was recorded already");
  kept_.push_back(Kept{std::string(id), 0, true, false});
  evict();
  return Recording(*this, std::string(id));
}

Result<> Executions::make_files(const std::string& id, Fd (&files)[2]) {
  if (::mkdirat(directory_.get(), id.c_str(), 0700) < 0) return fail_path(errno, "keep the output of execution", id);
  auto make = [&](Stream stream) {
    return open_beneath(directory_.get(), file_path(id, stream), O_CREAT | O_EXCL | O_WRONLY | O_APPEND, 0600);
  };
  auto out = make(Stream::out);
  auto err = make(Stream::err);
  if (!out || !err) {
    (void)remove_tree_beneath(directory_.get(), RelativePath::known(id), kMaxRemovals);
    return tl::unexpected<Error>(out ? std::move(err).error() : std::move(out).error());
  }
  files[0] = *std::move(out);
  files[1] = *std::move(err);
  for (Kept& kept : kept_)
    if (kept.id == id) kept.on_disk = true;
  return {};
}

void Executions::finish(const std::string& id, uint64_t bytes) {
  for (Kept& kept : kept_) {
    if (kept.id != id) continue;
    kept.bytes = bytes;
    kept.running = false;
  }
  evict();
}

Result<FileRange> Executions::read(std::string_view id, Stream stream, uint64_t offset, size_t limit) const {
  CHECKED(check_execution_id(id));
  auto known = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.id == id; });
  if (known == kept_.end())
    return fail(
        Code::not_found, "execution '" + std::string(id) + "' is no longer stored",
        "only the newest " + std::to_string(limits_.executions) + " executions are stored; run the program again");
  if (!known->on_disk) return FileRange{};
  TRY(Fd file, open_regular_beneath(directory_.get(), file_path(id, stream), O_RDONLY));
  return read_range(file.get(), offset, limit);
}

void Executions::set_limits(KeepLimits limits) {
  limits_ = limits;
  evict();
}

std::vector<std::string> Executions::newest(size_t most) const {
  std::vector<std::string> ids;
  for (auto one = kept_.rbegin(); one != kept_.rend() && ids.size() < most; ++one) ids.push_back(one->id);
  return ids;
}

uint64_t Executions::kept_bytes() const {
  uint64_t bytes = 0;
  for (const Kept& kept : kept_) bytes += kept.bytes;
  return bytes;
}

// Removes the oldest executions beyond the limits. The newest execution stays at any size: its answer names it.
void Executions::evict() {
  uint64_t bytes = kept_bytes();
  size_t count = kept_.size();
  for (auto kept = kept_.begin();
       kept != kept_.end() && count > 1 && (count > limits_.executions || bytes > limits_.bytes);) {
    if (kept->running || std::next(kept) == kept_.end()) {
      ++kept;
      continue;
    }
    if (kept->on_disk) (void)remove_tree_beneath(directory_.get(), RelativePath::known(kept->id), kMaxRemovals);
    bytes -= kept->bytes;
    count--;
    kept = kept_.erase(kept);
  }
}

}  // namespace tenants

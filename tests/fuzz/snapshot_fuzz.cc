// Snapshots of workspaces from another machine. The first byte chooses the input: z a packed file as it is; t its tar
// file, whose checksums are made right and which is packed here; e entries, one a line, of which headers are made:
//   TYPE MODE SIZE PATH>TARGET    TYPE as in tar; a file of TYPE 's' has holes, and TARGET has its parts: "0+5,4096+1"
// Whatever comes: nothing outside of the target folder changes, and its contents are within the limits. What is taken
// can be packed and taken again.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "supervisor/base/fd.h"
#include "supervisor/base/path.h"
#include "supervisor/cluster/snapshot/packed_file.h"
#include "supervisor/cluster/snapshot/snapshot.h"
#include "supervisor/cluster/snapshot/tar_format.h"
#include "tests/temp_directory.h"

namespace {

namespace fs = std::filesystem;
using namespace cluster;

constexpr UnpackLimits kLimits{1 << 20, 100, 512 << 10, 50, 16 << 10};
constexpr uint64_t kBlock = 4096;  // that a part of a file may take besides its bytes
const StopRequested kNeverStops = [] { return false; };

void require(bool holds) {
  if (!holds) std::abort();
}

// A folder of the file system in memory, of this process.
struct Scene {
  Scene() {
    ::setenv("TMPDIR", "/dev/shm", 0);
    top.emplace();
    root = open_directory(fs::canonical(top->path()).string()).value();
  }
  std::optional<TempDirectory> top;
  Fd root;
};

Fd memory_file(std::string_view bytes) {
  Fd file(::memfd_create("snapshot", MFD_CLOEXEC));
  require(write_all(file.get(), bytes).has_value());
  return file;
}
Fd packed(std::string_view tar) {
  Fd file(::memfd_create("snapshot", MFD_CLOEXEC));
  PackedWriter writer(file.get());
  require(writer.add(tar) && writer.finish());
  return file;
}

void put_checksums(std::string& tar) {
  for (size_t at = 0; at + kTarBlock <= tar.size(); at += kTarBlock) {
    if (tar.compare(at + 257, 5, "ustar") != 0) continue;
    uint64_t sum = 8 * ' ';
    for (size_t i = 0; i < kTarBlock; i++)
      if (i < 148 || i >= 156) sum += static_cast<unsigned char>(tar[at + i]);
    tar.replace(at + 148, 6, fmt::format("{:06o}", sum));
  }
}

void add_entry(std::string& tar, const TarEntry& entry) {
  const uint64_t bytes = tar_data_bytes(entry);
  tar += tar_headers(entry);
  if (bytes > 64 << 10) return;  // its data is missing
  tar += std::string(bytes, 'x') + std::string(tar_padding(bytes), '\0');
}

std::string begin_tar() {
  constexpr std::string_view kLabel =
      R"({"format":1,"account":"ada","workspace":"","node":"n1","epoch":1,"made_ms":1,"policy":"","policy_hash":""})";
  TarEntry label, records;
  label.path = "label.json", records.path = "records.jsonl";
  label.size = kLabel.size();
  std::string tar = tar_headers(label) + std::string(kLabel) + std::string(tar_padding(kLabel.size()), '\0');
  add_entry(tar, records);
  return tar;
}

template <class Number>
Number number_in(std::string_view& text, int base) {
  Number number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return wrong == std::errc() ? number : Number{0};
}

TarEntry entry_of(std::string_view line) {
  TarEntry entry;
  if (line.empty()) return entry;
  entry.is_sparse = line[0] == 's';
  entry.type = entry.is_sparse ? TarType::file : static_cast<TarType>(line[0]);
  line.remove_prefix(std::min<size_t>(line.size(), 2));
  entry.mode = number_in<uint32_t>(line, 8) & 07777777;
  line.remove_prefix(std::min<size_t>(line.size(), 1));
  entry.size = number_in<uint64_t>(line, 10);
  line.remove_prefix(std::min<size_t>(line.size(), 1));
  const size_t end = std::min(line.find('>'), line.size());
  entry.path = line.substr(0, end);
  std::string_view target = line.substr(std::min(end + 1, line.size()));
  if (!entry.is_sparse) {
    entry.target = target;
    return entry;
  }
  while (!target.empty() && entry.extents.size() < 1000) {
    TarExtent part;
    part.offset = number_in<uint64_t>(target, 10);
    target.remove_prefix(std::min<size_t>(target.size(), 1));
    part.size = number_in<uint64_t>(target, 10) % (1ull << 40);
    target.remove_prefix(std::min<size_t>(target.size(), 1));
    entry.extents.push_back(part);
  }
  return entry;
}

std::string tar_of_lines(std::string_view lines) {
  std::string tar = begin_tar();
  for (int count = 0; !lines.empty() && count < 200; count++) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    add_entry(tar, entry_of(lines.substr(0, end)));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return tar + tar_end();
}

void check_contents(const fs::path& into) {
  uint64_t bytes = 0, entries = 0;
  for (const auto& entry : fs::recursive_directory_iterator(into)) {
    struct stat seen {};
    require(::lstat(entry.path().c_str(), &seen) == 0);
    entries++;
    require((seen.st_mode & 07000) == 0);
    if (S_ISREG(seen.st_mode) && seen.st_nlink == 1) bytes += static_cast<uint64_t>(seen.st_blocks) * 512;
    require(S_ISREG(seen.st_mode) || S_ISDIR(seen.st_mode) || S_ISLNK(seen.st_mode) || S_ISFIFO(seen.st_mode));
  }
  require(entries <= kLimits.entries && bytes <= kLimits.bytes + kBlock * kLimits.entries);
}

void give_rights(const fs::path& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder, fs::directory_options::none)) {
    if (entry.is_directory() && !entry.is_symlink()) ::chmod(entry.path().c_str(), 0700);
  }
}

bool unpack(const Scene& scene, const Fd& file, const char* name) {
  const RelativePath into = RelativePath::known(name);
  const Fd target = make_directories_beneath(scene.root.get(), into, 0700).value();
  require(::lseek(file.get(), 0, SEEK_SET) == 0);
  const auto unpacked = unpack_snapshot(file.get(), target.get(), kLimits, kNeverStops);
  if (!unpacked) require(!unpacked.error().what.empty());
  return unpacked.has_value();
}

void take(const Fd& file) {
  static const Scene kScene;
  const fs::path top = kScene.top->path();
  if (unpack(kScene, file, "first")) {
    const Fd source = open_directory((top / "first").string()).value();
    const Fd retry(::memfd_create("again", MFD_CLOEXEC));
    const auto created =
        pack_snapshot(retry.get(), {{"ada", "", "n1", 1, 1, "", ""}, "", source.get(), {}}, kNeverStops);
    require(created.has_value());
    require(unpack(kScene, retry, "second"));
    give_rights(top / "second");
    check_contents(top / "second");
  }
  give_rights(top / "first");
  check_contents(top / "first");
  for (const auto& entry : fs::directory_iterator(top)) {
    const std::string name = entry.path().filename();
    require(name == "first" || name == "second");
    require(remove_tree_beneath(kScene.root.get(), RelativePath::known(name)).has_value());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'z') {
    take(memory_file(rest));
  } else if (data[0] == 't') {
    std::string tar(rest);
    put_checksums(tar);
    take(packed(tar));
  } else if (data[0] == 'e') {
    take(packed(tar_of_lines(rest)));
  }
  return 0;
}

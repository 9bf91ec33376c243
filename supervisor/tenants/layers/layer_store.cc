#include "supervisor/tenants/layers/layer_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "policies/names.h"
#include "supervisor/base/durable.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/base/random.h"
#include "supervisor/tenants/layers/entry_rules.h"
#include "supervisor/tenants/layers/tree_copy.h"
#include "supervisor/tenants/layers/tree_scan.h"

namespace layers {
namespace {

constexpr size_t kMaxNameFileBytes = 1 << 20, kMaxManifestFileBytes = size_t{256} << 20;
constexpr char kNames[] = "names", kTree[] = "tree", kManifestFile[] = "manifest.json", kFingerprint[] = "fingerprint";

Result<std::string> read_file(int folder, const std::string& name, size_t max) {
  TRY(const RelativePath path, RelativePath::parse(name));
  TRY(const Fd file, open_regular_beneath(folder, path, O_RDONLY));
  return read_complete(file.get(), max);
}

Result<> write_file(int folder, const std::string& name, std::string_view text) {
  TRY(const RelativePath path, RelativePath::parse(name));
  TRY(const Fd file, open_beneath(folder, path, O_WRONLY | O_CREAT | O_EXCL, 0644));
  CHECKED(write_all(file.get(), text));
  if (::fchmod(file.get(), 0644) < 0) return fail_path(errno, "set the mode of", name);
  if (const int error = durable::sync_data(file.get())) return fail_path(error, "write", name);
  return {};
}

// The file has its old text or its new text at any time.
Result<> replace_file(int folder, const std::string& name, std::string_view text) {
  const std::string fresh = fmt::format(".new-{}", random_hex(8));
  CHECKED(write_file(folder, fresh, text));
  TRY(const RelativePath from, RelativePath::parse(fresh));
  TRY(const RelativePath to, RelativePath::parse(name));
  CHECKED(rename_beneath(folder, from, to, Existing::replace));
  if (const int error = durable::sync_file(folder)) return fail_path(error, "write", name);
  return {};
}

Result<Fd> make_folder(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), 0755) < 0 && errno != EEXIST) return fail_path(errno, "make", name);
  Fd created(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!created) return fail_path(errno, "open", name);
  struct stat status {};
  if (::fstat(created.get(), &status) < 0) return fail_path(errno, "look at", name);
  if ((status.st_mode & 07777) != 0755 && ::fchmod(created.get(), 0755) < 0)
    return fail_path(errno, "set the mode of", name);  // whatever the umask is
  return created;
}

std::string name_text(const NamedLayer& layer) {
  const Json value = {{"hash", layer.hash},
                      {"python", layer.python},
                      {"built", layer.built},
                      {"bytes", layer.bytes},
                      {"files", layer.files},
                      {"sources", layer.sources},
                      {"modules", layer.offers.python},
                      {"node_modules", layer.offers.node}};
  return dump_json(value) + "\n";
}

Result<NamedLayer> parse_name(const std::string& name, const std::string& text) {
  TRY(const Json value, parse_json(text));
  NamedLayer layer;
  layer.name = name;
  Fields in(value, name);
  TRY(layer.hash, in.string("hash", 64));
  if (!is_layer_hash(layer.hash)) return fail(Code::invalid, name + ".hash: not 64 hexadecimal digits");
  TRY(layer.python, in.string("python", 16));
  TRY(layer.built, in.string("built", 32));
  TRY(const int64_t bytes, in.integer("bytes", 0, INT64_MAX));
  TRY(const int64_t files, in.integer("files", 0, INT64_MAX));
  layer.bytes = static_cast<uint64_t>(bytes);
  layer.files = static_cast<uint64_t>(files);
  TRY(layer.sources, in.strings_or("sources", {}));
  TRY(layer.offers.python, in.strings_or("modules", {}));
  TRY(layer.offers.node, in.strings_or("node_modules", {}));
  CHECKED(in.done());
  return layer;
}

// The first difference between the built tree and the tree on disk, as a sentence.
std::string difference_of(const Manifest& built, const Manifest& there) {
  size_t at = 0;
  for (const LayerEntry& entry : built.entries) {
    if (at == there.entries.size() || there.entries[at].path > entry.path)
      return fmt::format("'{}' is missing", printable(entry.path, 200));
    const LayerEntry& layer_entry = there.entries[at++];
    if (layer_entry.path < entry.path) return fmt::format("'{}' was added", printable(layer_entry.path, 200));
    if (layer_entry.kind != entry.kind || layer_entry.mode != entry.mode || layer_entry.bytes != entry.bytes ||
        layer_entry.sha256 != entry.sha256 || layer_entry.target != entry.target)
      return fmt::format("'{}' was changed", printable(entry.path, 200));
  }
  if (at < there.entries.size()) return fmt::format("'{}' was added", printable(there.entries[at].path, 200));
  return {};
}

Result<> with_remedy(Result<> checked) {
  if (checked || !checked.error().hint.empty()) return checked;
  checked.error().hint = "build it again: warder layer build";
  return checked;
}

}  // namespace

bool is_layer_name(std::string_view name) { return policies::valid_name(name); }

Result<LayerStore> LayerStore::open(const std::string& folder) {
  Fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened && errno == ENOENT)
    return fail(Code::not_found, "no layer was built on this machine", "warder layer build NAME --deb PACKAGE");
  if (!opened) return fail_path(errno, "open", folder);
  return LayerStore(folder, std::move(opened));
}

Result<LayerStore> LayerStore::open_to_change(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail_path(error.value(), "make", folder);
  TRY(LayerStore store, open(folder));
  struct stat status {};
  if (::fstat(store.folder_.get(), &status) < 0) return fail_path(errno, "look at", folder);
  if (status.st_uid != ::geteuid())
    return fail(Code::denied, fmt::format("{} does not belong to this user", folder), "sudo warder layer ...");
  if ((status.st_mode & 07777) != 0755 && ::fchmod(store.folder_.get(), 0755) < 0)
    return fail_path(errno, "set the mode of", folder);
  if (::flock(store.folder_.get(), LOCK_EX) < 0) return fail_path(errno, "lock", folder);
  return store;
}

Result<std::vector<NamedLayer>> LayerStore::list() const {
  std::vector<NamedLayer> all;
  Fd names(::openat(folder_.get(), kNames, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!names && errno == ENOENT) return all;
  if (!names) return fail_path(errno, "open", path_ + "/names");
  TRY(const auto files, read_names(FolderReader::of(std::move(names), path_ + "/names")));
  for (const std::string& file : files) {
    if (!file.ends_with(".json")) continue;
    const std::string name = file.substr(0, file.size() - 5);
    if (!is_layer_name(name)) continue;
    TRY(NamedLayer layer, find(name));
    all.push_back(std::move(layer));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

Result<NamedLayer> LayerStore::find(const std::string& name) const {
  if (!is_layer_name(name))
    return fail(Code::invalid, fmt::format("'{}' is not the name of a layer", printable(name, 64)),
                "1 to 64 of a-z, 0-9, '-', '_' and '.', not starting with a dot");
  const auto text = read_file(folder_.get(), fmt::format("{}/{}.json", kNames, name), kMaxNameFileBytes);
  if (!text && text.error().code == Code::not_found)
    return fail(Code::not_found, fmt::format("there is no layer '{}'", name),
                fmt::format("build it: warder layer build {} --deb PACKAGE", name));
  if (!text) return tl::unexpected<Error>(text.error());
  return parse_name(name, *text);
}

Result<Fd> LayerStore::open_version(const std::string& hash) const {
  if (!is_layer_hash(hash)) return fail(Code::invalid, "not the hash of a layer");
  TRY(const RelativePath path, RelativePath::parse(hash));
  return open_beneath(folder_.get(), path, O_RDONLY | O_DIRECTORY);
}

Result<Manifest> LayerStore::manifest_of(const std::string& hash) const {
  TRY(const Fd version, open_version(hash));
  TRY(const std::string text, read_file(version.get(), kManifestFile, kMaxManifestFileBytes));
  if (hash_of_manifest(text) != hash)
    return fail(Code::invalid, "its manifest was changed on disk", "build it again: warder layer build");
  return parse_manifest(text);
}

Result<> LayerStore::check(const std::string& hash, CheckDepth depth) const {
  TRY(const Fd version, open_version(hash));
  TRY(const Fd tree, open_beneath(version.get(), RelativePath::known(kTree), O_RDONLY | O_DIRECTORY));
  if (depth == CheckDepth::quick) {
    const auto written = read_file(version.get(), kFingerprint, 64);
    const auto now = fingerprint_of(tree.get());
    if (written && now && *written == *now) return {};
  }
  TRY(const Manifest built, manifest_of(hash));
  auto there = scan_tree(tree.get());
  if (!there) return with_remedy(tl::unexpected<Error>(std::move(there).error()));
  const std::string difference = difference_of(built, *there);
  if (difference.empty()) return {};
  return fail(Code::invalid, fmt::format("its files were changed on disk: {}", difference),
              "build it again: warder layer build");
}

Result<Fd> LayerStore::hold(const std::string& hash) const {
  TRY(Fd version, open_version(hash));
  if (::flock(version.get(), LOCK_SH | LOCK_NB) < 0)
    return fail_errno(errno, "lock the layer, which may be on its way out", Code::unavailable);
  return version;
}

bool LayerStore::is_named(const std::string& hash) const {
  const auto all = list();
  return !all || std::any_of(all->begin(), all->end(), [&](const NamedLayer& layer) { return layer.hash == hash; });
}

// Only a version that has no holder. Its own descriptor has the lock until the files are gone.
Result<> LayerStore::delete_version(const std::string& hash) {
  auto version = open_version(hash);
  if (!version) return version.error().code == Code::not_found ? Result<>() : tl::unexpected<Error>(version.error());
  if (::flock(version->get(), LOCK_EX | LOCK_NB) < 0)
    return fail(Code::exhausted, "the layer is in use: a daemon's policy names it, or a jail still has it",
                "remove it from the policies, reload the daemon (warder reload), and call again");
  TRY(const RelativePath path, RelativePath::parse(hash));
  return remove_tree_beneath(folder_.get(), path);
}

// Deletes versions without a name, unless they are in use, and what a build that was killed has left.
void LayerStore::prune() {
  const auto names = read_names(FolderReader::at(folder_.get(), path_));
  if (!names) return log_warning("old versions of layers stay: {}", names.error().what);
  for (const std::string& name : *names) {
    if (is_layer_hash(name) && !is_named(name)) (void)delete_version(name);
    if (name.starts_with(".new-")) (void)remove_tree_beneath(folder_.get(), RelativePath::known(name));
  }
}

// After a backup was restored the inodes and times are others, and each quick check would read all files.
Result<> LayerStore::renew_fingerprint(const std::string& hash) {
  TRY(const Fd version, open_version(hash));
  TRY(const Fd tree, open_beneath(version.get(), RelativePath::known(kTree), O_RDONLY | O_DIRECTORY));
  TRY(const std::string now, fingerprint_of(tree.get()));
  const auto written = read_file(version.get(), kFingerprint, 64);
  if (written && *written == now) return {};
  return replace_file(version.get(), kFingerprint, now);
}

// Moves a complete version into its place. Where a good one is, it stays: its inodes may be in use.
Result<> LayerStore::install_version(const std::string& fresh, const std::string& hash) {
  TRY(const RelativePath from, RelativePath::parse(fresh));
  TRY(const RelativePath to, RelativePath::parse(hash));
  if (open_version(hash)) {
    if (check(hash, CheckDepth::quick)) {
      CHECKED(renew_fingerprint(hash));
      return remove_tree_beneath(folder_.get(), from);
    }
    CHECKED(delete_version(hash));
  }
  return rename_beneath(folder_.get(), from, to, Existing::refuse);
}

Result<> LayerStore::write_name(const NamedLayer& layer) {
  TRY(const Fd names, make_folder(folder_.get(), kNames));
  return replace_file(names.get(), layer.name + ".json", name_text(layer));
}

Result<NamedLayer> LayerStore::add(NamedLayer layer, int tree) {
  if (!is_layer_name(layer.name))
    return fail(Code::invalid, fmt::format("'{}' is not the name of a layer", printable(layer.name, 64)),
                "1 to 64 of a-z, 0-9, '-', '_' and '.', not starting with a dot");
  const std::string fresh = fmt::format(".new-{}", random_hex(8));
  const auto built = [&]() -> Result<NamedLayer> {
    TRY(const Fd version, make_folder(folder_.get(), fresh));
    TRY(const Fd copy, make_folder(version.get(), kTree));
    CHECKED(copy_layer_tree(tree, copy.get()));
    TRY(Manifest manifest, scan_tree(copy.get()));
    if (manifest.entries.empty()) return fail(Code::invalid, "the packages hold no file for a layer");
    TRY(const Fd usr, open_directory("/usr"));
    CHECKED(check_against_usr(manifest, usr.get()));
    layer.offers = offers_of(manifest);
    if (layer.offers.python.empty()) layer.python.clear();
    manifest.python = layer.python;
    const std::string text = manifest_text(manifest);
    layer.hash = hash_of_manifest(text);
    layer.files = manifest.entries.size();
    layer.bytes = 0;
    for (const LayerEntry& entry : manifest.entries) layer.bytes += entry.bytes;
    CHECKED(write_file(version.get(), kManifestFile, text));
    TRY(const std::string fingerprint, fingerprint_of(copy.get()));
    CHECKED(write_file(version.get(), kFingerprint, fingerprint));
    if (const int error = durable::sync_file_system(version.get())) return fail_path(error, "write", path_);
    CHECKED(install_version(fresh, layer.hash));
    return layer;
  }();
  if (!built) {
    (void)remove_tree_beneath(folder_.get(), RelativePath::known(fresh));
    return built;
  }
  CHECKED(write_name(*built));
  prune();
  return built;
}

Result<> LayerStore::remove(const std::string& name) {
  TRY(const NamedLayer layer, find(name));
  TRY(const RelativePath path, RelativePath::parse(fmt::format("{}/{}.json", kNames, name)));
  const auto all = list();  // an error: other names may have the version
  const bool is_shared =
      !all || std::count_if(all->begin(), all->end(), [&](const auto& other) { return other.hash == layer.hash; }) > 1;
  if (!is_shared) CHECKED(delete_version(layer.hash));
  CHECKED(unlink_beneath(folder_.get(), path, Removing::file));
  prune();
  return {};
}

}  // namespace layers

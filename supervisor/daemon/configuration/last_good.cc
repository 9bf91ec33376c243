#include "supervisor/daemon/configuration/last_good.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <set>

#include "supervisor/base/durable.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/path.h"
#include "supervisor/base/text_lines.h"
#include "supervisor/tenants/layers/layer_lookup.h"

namespace configuration {
namespace {

constexpr size_t kMaxCopiedFile = 4 << 20;  // bytes; the merged files of the configuration may be larger than each
constexpr size_t kMaxCopiedFiles = 5000;
constexpr char kCopyFile[] = "configuration.json";
constexpr int64_t kCopyFormat = 1;

Result<std::vector<std::string>> json_files_of(int folder, const std::string& path) {
  TRY(auto names, read_names(FolderReader::at(folder, path)));
  std::erase_if(names, [](const std::string& name) {
    return name.starts_with('.') || !name.ends_with(".json") || name.ends_with(".schema.json");
  });
  return names;
}

// A folder without the files is not copied: there may be no folder seccomp/.
Result<> copy_files(const std::string& from, const std::string& to, std::map<std::string, std::string>& copy) {
  Fd folder(::open(from.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder && errno == ENOENT) return {};
  if (!folder) return fail_path(errno, "open", from);
  TRY(const auto names, json_files_of(folder.get(), from));
  for (const auto& name : names) {
    Fd file(::openat(folder.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file) return fail_errno(errno, fmt::format("open {}/{}", from, name));
    TRY(copy[to + "/" + name], read_complete(file.get(), kMaxCopiedFile));
    if (copy.size() > kMaxCopiedFiles) return fail(Code::exhausted, fmt::format("more than {} files", kMaxCopiedFiles));
  }
  return {};
}

// Opens the copy. Errors: denied, if a user other than this one could have written it.
Result<Fd> open_copy(const std::string& state) {
  const std::string path = state + "/" + kLastGoodFolder;
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return fail_errno(errno, "open " + path, errno == ENOENT ? Code::not_found : Code::internal);
  struct stat status {};
  if (::fstat(folder.get(), &status) < 0) return fail_errno(errno, "fstat " + path);
  if (status.st_uid != ::geteuid() || (status.st_mode & 077) != 0)
    return fail(Code::denied, path + ": the folder does not belong to the user that starts the daemon alone",
                "remove the folder; a good start makes it again");
  return folder;
}

Result<std::string> read_copied(int folder, const std::string& name) {
  TRY(const RelativePath path, RelativePath::parse(name));
  TRY(Fd file, open_regular_beneath(folder, path, O_RDONLY));
  return read_complete(file.get(), kMaxCopiedFile);
}

// Whether the stored copy has these files with these texts, and no others.
bool is_stored(const std::string& state, const ConfigurationCopy& copy) {
  const auto folder = open_copy(state);
  if (!folder) return false;
  for (const auto& [name, text] : copy.files) {
    const auto stored = read_copied(folder->get(), name);
    if (!stored || *stored != text) return false;
  }
  size_t stored = 1;  // kCopyFile
  for (size_t i = 0; i < copy.policy_folders; i++) {
    for (const char* part : {"", "/seccomp"}) {
      const std::string path = fmt::format("policies/{}{}", i, part);
      const Fd copied(::openat(folder->get(), path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (!copied && errno == ENOENT) continue;
      const auto names = json_files_of(copied.get(), path);
      if (!names) return false;
      stored += names->size();
    }
  }
  return stored == copy.files.size();
}

Result<> sync_folder(int parent, const std::string& name) {
  const Fd folder(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return fail_errno(errno, "open " + name);
  if (const int error = durable::sync_file(folder.get())) return fail_errno(error, "fsync " + name);
  return {};
}

Result<> write_copy(int folder, const ConfigurationCopy& copy) {
  std::set<std::string> folders;
  for (const auto& [name, text] : copy.files) {
    TRY(const RelativePath path, RelativePath::parse(name));
    if (!path.parent().is_root()) CHECKED(make_directories_beneath(folder, path.parent(), 0700));
    TRY(Fd file, open_beneath(folder, path, O_WRONLY | O_CREAT | O_EXCL, 0600));
    CHECKED(write_all(file.get(), text));
    if (const int error = durable::sync_file(file.get())) return fail_errno(error, "fsync " + name);
    for (RelativePath at = path.parent(); !at.is_root(); at = at.parent()) folders.insert(at.text());
  }
  for (const auto& name : folders) CHECKED(sync_folder(folder, name));
  return sync_folder(folder, ".");
}

Result<> remove_copy(int state, const std::string& name) {
  TRY(const RelativePath path, RelativePath::parse(name));
  auto removed = remove_tree_beneath(state, path);
  if (removed || removed.error().code == Code::not_found) return {};
  return removed;
}

}  // namespace

Result<ConfigurationCopy> copy_of(const ConfigurationDocument& document, const std::vector<std::string>& folders) {
  ConfigurationCopy copy;
  copy.policy_folders = folders.size();
  copy.files[kCopyFile] =
      dump_json({{"format", kCopyFormat}, {"configuration", document.merged()}, {"policies", folders}});
  for (size_t i = 0; i < folders.size(); i++) {
    const std::string to = fmt::format("policies/{}", i);
    CHECKED(copy_files(folders[i], to, copy.files));
    CHECKED(copy_files(folders[i] + "/seccomp", to + "/seccomp", copy.files));
  }
  return copy;
}

Result<> keep_last_good(const std::string& state, const ConfigurationCopy& copy) {
  if (is_stored(state, copy)) return {};
  const std::string name = kLastGoodFolder, fresh = name + ".new";
  const Fd parent(::open(state.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent) return fail_errno(errno, "open " + state);
  CHECKED(remove_copy(parent.get(), fresh));  // of a start that was interrupted
  if (::mkdirat(parent.get(), fresh.c_str(), 0700) < 0)
    return fail_errno(errno, fmt::format("make {}/{}", state, fresh));
  const Fd folder(::openat(parent.get(), fresh.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return fail_errno(errno, fmt::format("open {}/{}", state, fresh));
  CHECKED(write_copy(folder.get(), copy));
  // Exchanged, not removed and renamed: at each moment there is one whole copy with the name. EINVAL: the file system
  // cannot exchange, and a start between the two steps finds no copy.
  if (::renameat2(parent.get(), fresh.c_str(), parent.get(), name.c_str(), RENAME_EXCHANGE) < 0) {
    if (errno == EINVAL) CHECKED(remove_copy(parent.get(), name));
    if (::renameat(parent.get(), fresh.c_str(), parent.get(), name.c_str()) < 0)
      return fail_errno(errno, fmt::format("rename {}/{} to {}", state, fresh, name));
  }
  CHECKED(sync_folder(parent.get(), "."));
  return remove_copy(parent.get(), fresh);
}

Result<LoadedConfiguration> load_last_good(const std::string& state, const Invocation& invocation) {
  TRY(const Fd folder, open_copy(state));
  const std::string where = state + "/" + kLastGoodFolder;
  TRY(const std::string text, read_copied(folder.get(), kCopyFile));
  TRY(Json copy, parse_json(text));
  const Json format = copy.is_object() ? copy.value("format", Json()) : Json();
  if (format != kCopyFormat || !copy.contains("configuration") || !copy.contains("policies") ||
      !copy["policies"].is_array())
    return fail(Code::invalid, where + "/" + kCopyFile + ": not a copy that this version can read");
  LoadedConfiguration loaded;
  loaded.document = ConfigurationDocument::of(copy["configuration"], where + "/" + kCopyFile);
  loaded.options = read_options(loaded.document, invocation, loaded.notes);
  std::vector<std::string> copied, originals;
  for (const auto& item : copy["policies"]) {
    if (!item.is_string()) return fail(Code::invalid, where + "/" + kCopyFile + ": policies: not a list of strings");
    copied.push_back(fmt::format("{}/policies/{}", where, originals.size()));
    originals.push_back(item.get<std::string>());
  }
  auto store = policies::Store::load(copied, policies::mode_of(originals));
  if (!store) {
    for (auto& line : lines_in(store.error().what, EmptyLines::left_out))
      loaded.notes.problems.push_back(std::move(line));
    return loaded;
  }
  // A copy of the policies serves the tenants whose layers are good; the others get no jails.
  auto of_layers = layers::give_layers(*store, state + "/layers");
  for (auto& problem : of_layers) loaded.notes.warnings.push_back(std::move(problem));
  loaded.options.policies = std::move(originals);
  loaded.policies = *std::move(store);
  return loaded;
}

}  // namespace configuration

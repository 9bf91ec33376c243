#include "supervisor/executions/runs/folded_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/tenants/index/interpreter_files.h"

namespace runs {
namespace {

constexpr const char* kKinds[] = {"created", "modified", "deleted"};
using Counts = std::array<uint64_t, std::size(kKinds)>;

std::string text_of(const Counts& counts) {
  std::string text;
  for (size_t kind = 0; kind < counts.size(); kind++)
    if (counts[kind] > 0)
      fmt::format_to(std::back_inserter(text), "{}{} {}", text.empty() ? "" : ", ", counts[kind], kKinds[kind]);
  return text;
}

struct ChangedFile {
  size_t kind;
  std::string_view path;
};

struct Folder {
  Counts counts{};
  bool is_closed = false;  // its changes are never listed: a tool's own folder, or one whose changes are not all known
  std::map<std::string_view, Folder> folders;  // by path, with the last slash
  std::vector<ChangedFile> files;

  uint64_t changes() const { return counts[0] + counts[1] + counts[2]; }
  size_t entries() const { return files.size() + folders.size(); }
};

// Counts changes below `path`, which ends with a slash, or of the file `path`. Returns the folder that it is in, or the
// closed folder around it.
Folder& count(Folder& top, size_t kind, std::string_view path, uint64_t changes) {
  Folder* folder = &top;
  for (size_t slash = path.find('/'); slash != path.npos && !folder->is_closed; slash = path.find('/', slash + 1)) {
    folder = &folder->folders[path.substr(0, slash + 1)];
    folder->counts[kind] += changes;
  }
  return *folder;
}

// Replaces folders by what is in them, those with few changes first, as long as the entries are not too many.
class Unfolding {
 public:
  explicit Unfolding(const Folder& top) {
    open(top);
    std::vector<std::pair<std::string_view, const Folder*>> texts;
    while (!folders_.empty()) {
      const auto smallest = std::ranges::min_element(
          folders_, {}, [](const auto& item) { return std::pair(item.second->changes(), item.first); });
      const auto [path, folder] = *smallest;
      folders_.erase(smallest);
      const size_t entries = files_.size() + folders_.size() + texts.size();
      if (folder->is_closed || entries + folder->entries() > kListedFiles) {
        texts.emplace_back(path, folder);
      } else {
        open(*folder);
      }
    }
    folders_ = std::move(texts);
    std::ranges::sort(files_, {}, [](const ChangedFile& file) { return std::pair(file.kind, file.path); });
    std::ranges::sort(folders_);
  }

  // `omitted`: changes that are nowhere in the folders.
  Json json(uint64_t omitted) const {
    Json all;
    for (const auto& file : files_) {
      if (all[kKinds[file.kind]].size() < kListedFiles) {
        all[kKinds[file.kind]].push_back(std::string(file.path));
      } else {
        omitted++;
      }
    }
    for (const auto& [path, folder] : folders_) {
      if (Json& output = all["folders"]; output.size() < kListedFiles) {
        output[std::string(path)] = text_of(folder->counts);
      } else {
        omitted += folder->changes();
      }
    }
    if (omitted > 0) all["omitted"] = omitted;
    return all;
  }

 private:
  void open(const Folder& folder) {
    files_.insert(files_.end(), folder.files.begin(), folder.files.end());
    for (const auto& [path, below] : folder.folders) folders_.emplace_back(path, &below);
  }
  std::vector<ChangedFile> files_;
  std::vector<std::pair<std::string_view, const Folder*>> folders_;
};

}  // namespace

void add_paths_to_ignore(const tenants::Changes& changes, std::vector<std::string>& paths) {
  const auto add = [&paths](const std::string& path) {
    if (path.size() <= kMaxIgnoredPath && tenants::managed_folder(path).empty()) paths.push_back(path);
  };
  for (const tenants::Changes::List* list : {&changes.created, &changes.modified, &changes.deleted}) {
    for (const auto& [folder, more] : list->beyond.folders()) add(folder);
    for (const std::string& path : list->paths) add(path);
  }
}

Json folded_files(const tenants::Changes& changes, const IgnoredFiles& ignored) {
  const tenants::Changes::List* lists[] = {&changes.created, &changes.modified, &changes.deleted};
  Folder top;
  uint64_t omitted = 0, left_out = 0;
  for (size_t kind = 0; kind < std::size(lists); kind++) {
    omitted += lists[kind]->omitted;
    for (const auto& [folder, more] : lists[kind]->beyond.folders()) {
      omitted -= std::min(omitted, more);
      if (tenants::managed_folder(folder).empty() && ignored.contains(folder)) {
        left_out += more;
      } else {
        count(top, kind, folder, more).is_closed = true;
      }
    }
  }
  for (size_t kind = 0; kind < std::size(lists); kind++) {
    for (const std::string& path : lists[kind]->paths) {
      const std::string_view managed = tenants::managed_folder(path);
      if (managed.empty() && ignored.contains(path)) {
        left_out++;
        continue;
      }
      Folder& folder = count(top, kind, managed.empty() ? std::string_view(path) : managed, 1);
      if (managed.empty() && !folder.is_closed) {
        folder.files.push_back({kind, path});
      } else {
        folder.is_closed = true;
      }
    }
  }
  Json files = Unfolding(top).json(omitted);
  if (left_out > 0) files["ignored"] = left_out;
  if (!changes.complete) files["complete"] = false;
  return files;
}

}  // namespace runs

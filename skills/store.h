// SkillStore: the skills of one tenant, and their versions.
// On disk <slug>/<version>/, each a whole skill that never changes. A new version is written beside the others, made
// durable, and then named by one rename. The highest number is the current version. Only the store writes there.
// A change has three steps, because the second waits for the disk and may run on another thread: a plan (checks that
// the change is allowed), its execution (changes the disk, not the store in memory), and finish() (updates the store in
// memory). From plan to finish() there may be only one change of a store; reads may come between.
// Errors: invalid (the draft), exhausted (rules "skills.bytes", "skills.count"), not_found, or the error of the file
// system. Used by: supervisor/tools.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "skills/skill.h"
#include "supervisor/base/fd.h"

namespace skills {

struct StoreLimits {
  uint64_t bytes = 0;      // of all files of all versions
  uint32_t count = 0;      // number of skills
  uint32_t versions = 10;  // versions of each skill that stay on disk
};

class SkillStore {
 public:
  struct Version {
    uint32_t number;
    uint64_t bytes;
  };
  struct Entry {
    Skill skill;                    // the newest version
    std::vector<Version> versions;  // oldest first; at least one
    uint32_t version() const { return versions.back().number; }
  };

  // Reads the folder. Skills that cannot be read are left out and named by problems().
  static Result<SkillStore> open(Fd directory);

  // An entry never changes: a change of the store replaces it. So a job on another thread may read the entries it has.
  using EntryPtr = std::shared_ptr<const Entry>;
  const std::map<std::string, EntryPtr, std::less<>>& entries() const { return entries_; }  // by slug
  EntryPtr find(std::string_view name) const;  // by name or slug; nullptr: unknown
  const std::vector<std::string>& problems() const { return problems_; }
  uint64_t bytes() const;

  // Saves a new version of the skill with this name. same: an equal version exists already, and write() writes no file.
  enum class Saved { first, another, same };
  struct Receipt {
    EntryPtr entry;
    Saved saved;
  };
  struct Saving {
    std::shared_ptr<const Fd> directory;
    Draft draft;
    std::string slug;
    Saved saved = Saved::first;
    uint32_t version = 1;
    std::vector<uint32_t> surplus;  // older versions to remove, beyond StoreLimits::versions
    // Set by write():
    Skill skill;
    size_t removed = 0;  // how many of the surplus versions were removed
  };
  Result<Saving> plan_save(const Draft& draft, const StoreLimits& limits) const;
  static Result<> write(Saving& saving);  // durable when it returns
  Receipt finish(Saving saving);

  struct Removal {
    std::shared_ptr<const Fd> directory;
    std::string slug;
    bool is_gone = false;  // set by remove(), also when remove() fails later
  };
  Result<Removal> plan_removal(std::string_view name) const;
  static Result<> remove(Removal& removal);  // durable when it returns
  void finish(const Removal& removal);

  // A file of the newest version. read_version() and read_code() also read older versions that still exist.
  Result<std::string> read(const Entry& entry, std::string_view path) const;
  Result<Skill> read_version(const Entry& entry, uint32_t version) const;
  Result<std::string> read_code(const Entry& entry, uint32_t version) const;

 private:
  explicit SkillStore(Fd directory) : directory_(std::make_shared<const Fd>(std::move(directory))) {}
  Result<> load();
  Result<std::optional<Entry>> load_entry(const std::string& slug);
  Result<Fd> version_directory(const Entry& entry, uint32_t version) const;
  void note(std::string_view name, std::string_view problem);

  std::shared_ptr<const Fd> directory_;
  std::map<std::string, EntryPtr, std::less<>> entries_;
  std::vector<std::string> problems_;
  std::set<std::string, std::less<>> unread_;  // slugs of folders whose versions are unknown
};

}  // namespace skills

// SkillStore: the skills of one tenant, and their versions.
// On the disk <slug>/<version>/, each a whole skill that is never changed: a new version is written beside the others,
// made durable, and then named by one rename. The highest number counts. Only the store writes there.
// A change takes three steps, because the second waits for the disk and may run on another thread: a plan (what is
// there allows it), its execution (touches the disk and nothing of the store), its end (the store knows of it). From
// plan to end there is one change of a store at a time; what only reads may come between.
// Errors: invalid (the draft), exhausted (rules "skills.bytes", "skills.count"), not_found, or what the disk said.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skills/skill.h"
#include "supervisor/base/fd.h"

namespace skills {

struct StoreLimits {
  uint64_t bytes = 0;      // of all files of all versions
  uint32_t count = 0;      // of skills
  uint32_t versions = 10;  // of each that are kept
};

class SkillStore {
 public:
  struct Version {
    uint32_t number;
    uint64_t bytes;
  };
  struct Entry {
    Skill skill;                    // of the newest version
    std::vector<Version> versions;  // oldest first; at least one
    uint32_t version() const { return versions.back().number; }
  };

  // Reads what is there. What cannot be read is left out and told by problems(); the rest serves.
  static Result<SkillStore> open(Fd directory);

  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }  // by slug
  const Entry* find(std::string_view name) const;                                        // by name or slug
  const std::vector<std::string>& problems() const { return problems_; }
  uint64_t bytes() const;

  // A new version of the skill of that name. What is saved already stays as it is: then nothing is to be written.
  enum class Saved { first, another, same };
  struct Receipt {
    const Entry* entry;  // until the store's next change
    Saved saved;
  };
  struct Saving {
    std::shared_ptr<const Fd> directory;
    Draft draft;
    std::string slug;
    Saved saved = Saved::first;
    uint32_t version = 1;
    std::vector<uint32_t> surplus;  // older versions for which there is no more room
    // By write():
    Skill skill;
    size_t removed = 0;  // of the surplus
  };
  Result<Saving> plan_save(const Draft& draft, const StoreLimits& limits) const;
  static Result<> write(Saving& saving);  // durable when it returns
  Receipt finish(Saving saving);

  struct Removal {
    std::shared_ptr<const Fd> directory;
    std::string slug;
    bool is_gone = false;  // by remove(), also when that fails
  };
  Result<Removal> plan_removal(std::string_view name) const;
  static Result<> remove(Removal& removal);  // durable when it returns
  void finish(const Removal& removal);

  // A file of the newest version, or of an older one that is still kept.
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
  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<std::string> problems_;
};

}  // namespace skills

// Store: the skills of one tenant, and their versions.
// On the disk <slug>/<version>/, each a whole skill that is never changed: a new version is written beside the others,
// made durable, and then named by one rename. The highest number counts. Only the store writes there.
// Errors: invalid (the draft), exhausted (rules "skills.bytes", "skills.count"), not_found, or what the disk said.
#pragma once
#include <cstdint>
#include <map>
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

class Store {
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
  static Result<Store> open(Fd directory);

  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }  // by slug
  const Entry* find(std::string_view name) const;                                        // by name or slug
  const std::vector<std::string>& problems() const { return problems_; }
  uint64_t bytes() const;

  // A new version of the skill of that name, durable when this returns. What is saved already stays as it is.
  enum class Saved { first, another, same };
  struct Receipt {
    const Entry* entry;
    Saved saved;
  };
  Result<Receipt> save(const Draft& draft, const StoreLimits& limits);
  Result<> remove(std::string_view name);

  // A file of the newest version, or of an older one that is still kept.
  Result<std::string> read(const Entry& entry, std::string_view path) const;
  Result<Skill> read_version(const Entry& entry, uint32_t version) const;
  Result<std::string> read_code(const Entry& entry, uint32_t version) const;

 private:
  explicit Store(Fd directory) : directory_(std::move(directory)) {}
  Result<> load();
  Result<std::optional<Entry>> load_entry(const std::string& slug);
  Result<Fd> version_directory(const Entry& entry, uint32_t version) const;
  Result<> write_version(const Draft& draft, const std::string& slug, uint32_t version);
  void forget_old(Entry& entry, uint32_t keep);
  void sweep();
  void note(std::string_view name, std::string_view problem);

  Fd directory_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<std::string> problems_;
};

}  // namespace skills

// Library: the skills of one tenant, its own and the shared ones, found by name and by URI (by words: search.h).
// Shared: the skills of all tenants: those that Warder ships, read once while the daemon starts, and those of the
// cluster. A tenant's own skill comes before a shared skill of the same name; both exist only if the shared skill came
// later. Used by: supervisor/tools, supervisor/cluster/link.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skills/store.h"

namespace skills {

class Shared {
 public:
  Shared() = default;  // has no skills
  // `directory` is part of the installation: <slug>/SKILL.md and so on. A skill that cannot be read is left out and
  // named by problems().
  static Result<Shared> load(const std::string& directory);

  // Adds a skill. False: there is one of this name, which stays.
  bool add(WholeSkill skill);
  // Adds the skills of `peers`, also shared with them in memory. Returns the names of those whose names are taken.
  std::vector<std::string> add(const Shared& peers);
  size_t size() const { return saved_.size(); }

  std::shared_ptr<const Skill> find(std::string_view name) const;  // by name or slug; nullptr: unknown
  // Errors: not_found.
  Result<std::string> read(const Skill& skill, std::string_view path) const;
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  friend class Library;
  std::map<std::string, std::shared_ptr<const WholeSkill>, std::less<>> saved_;  // by slug
  std::vector<std::string> problems_;
};

struct SkillMatch {
  std::shared_ptr<const Skill> skill;
  SkillStore::EntryPtr own;  // nullptr: shared
};

class Library {
 public:
  Library(std::shared_ptr<const Shared> shared, std::shared_ptr<const SkillStore> own)
      : shared_(std::move(shared)), own_(std::move(own)) {}

  std::optional<SkillMatch> find(std::string_view name) const;  // by name or slug
  std::vector<SkillMatch> all() const;                          // by slug
  Result<std::string> read(const SkillMatch& match, std::string_view path) const;
  // The code that an import loads. `version` 0 is the newest, and the only version of a shared skill.
  Result<std::string> read_code(const SkillMatch& match, uint32_t version) const;

 private:
  const std::shared_ptr<const Shared> shared_;
  const std::shared_ptr<const SkillStore> own_;
};

// skill://<slug>/<path>; without a path it is the skill's folder.
std::string uri_of(std::string_view slug, std::string_view path);
struct SkillUri {
  std::string slug;
  std::string path;  // of a file or folder; empty for the skill's folder
};
// nullopt if the text is no URI of this form. The skill or file need not exist.
std::optional<SkillUri> parse_uri(std::string_view uri);

// Entries of a skill's folder ("" is the top): names, folders ending in '/'. nullopt if there is no folder of this
// name.
std::optional<std::vector<std::string>> children(const Skill& skill, std::string_view folder);

}  // namespace skills

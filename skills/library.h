// Library: the skills of one tenant, its own and the shared ones, found by name, by words and by URI. Shared: the
// skills that Warder ships, read once while the daemon starts. A tenant's own skill comes before a shared skill of the
// same name; both exist only if a newer Warder added the shared skill later. Used by: supervisor/tools.
#pragma once
#include <map>
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

  const Skill* find(std::string_view name) const;  // by name or slug
  // Errors: not_found.
  Result<std::string> read(const Skill& skill, std::string_view path) const;
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  friend class Library;
  struct Kept {
    Skill skill;
    std::map<std::string, std::string, std::less<>> contents;  // by path
  };
  std::map<std::string, Kept, std::less<>> kept_;  // by slug
  std::vector<std::string> problems_;
};

struct Found {
  const Skill* skill;
  const SkillStore::Entry* own;  // nullptr: shared
};

class Library {
 public:
  Library(const Shared& shared, const SkillStore& own) : shared_(shared), own_(own) {}

  std::optional<Found> find(std::string_view name) const;  // by name or slug
  std::vector<Found> all() const;                          // by slug
  // Skills that have a word of the query, as a whole word or its beginning, in name or description; best first.
  std::vector<Found> search(std::string_view query) const;
  // Like search(), but a skill must have more than a third of the query's words, and both of two, or two of three: for
  // use in a list of tools.
  std::vector<Found> fitting(std::string_view query) const;
  Result<std::string> read(const Found& found, std::string_view path) const;
  // The code that an import loads. `version` 0 is the newest, and the only version of a shared skill.
  Result<std::string> read_code(const Found& found, uint32_t version) const;

 private:
  std::vector<Found> ranked(std::string_view query, size_t least_words) const;
  const Shared& shared_;
  const SkillStore& own_;
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

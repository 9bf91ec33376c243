// Skill: a folder in the Agent Skills format, SKILL.md with front matter and the files beside it, known by its digests.
// Source: read_skill() of a folder that somebody else may have written; make_files() for what is saved here.
// Errors: invalid (what is wrong with which file), exhausted (too many, too large), denied (links, devices).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json_value.h"
#include "supervisor/base/result.h"

namespace skills {

constexpr size_t kMostFiles = 512;              // of one skill, and the next: what every host must accept
constexpr uint64_t kMostSkillBytes = 16 << 20;  // (SEP-2640, SKILL_LIMITS of the official SDK)
constexpr size_t kMostDescriptionBytes = 1024;
constexpr size_t kMostCodeBytes = 256 << 10;  // of what is saved

enum class SkillLanguage { none, python, javascript };     // none: instructions only, nothing to import
std::string_view language_name(SkillLanguage language);    // "python"
std::string_view language_ending(SkillLanguage language);  // "py"

struct SkillFile {
  std::string path;    // below the skill's folder: "scripts/filter_high_risk.py"
  uint64_t size = 0;   // bytes
  std::string digest;  // "sha256:..."
};

struct Skill {
  std::string name;         // the identifier it is imported by
  std::string slug;         // of its folder and URIs; also its name in the front matter
  std::string description;  // as it was given; may be empty
  std::string created;      // RFC 3339, of this version; may be empty
  SkillLanguage language = SkillLanguage::none;
  Json front_matter;             // an object
  std::vector<SkillFile> files;  // SKILL.md first, the rest by path
  std::string code_file;         // the one that is imported; empty for none

  uint64_t bytes() const;
  const SkillFile* find_file(std::string_view path) const;
};

// What is to be saved.
struct Draft {
  std::string name;
  std::string code;
  std::string description;
  SkillLanguage language = SkillLanguage::python;
  std::string created;  // RFC 3339
};
Result<> check_draft(const Draft& draft);

// The files of a saved skill with their contents, in the order in which a Skill lists them.
struct DraftFile {
  std::string path;
  std::string contents;
};
std::vector<DraftFile> make_files(const Draft& draft, uint32_t version);

// Whether a file may have this name: letters, digits, '.', '_', '-', not hidden. URIs need no escapes then.
bool is_file_name(std::string_view name);

// The skill in `directory` (O_PATH will do), reading every file of it once.
Result<Skill> read_skill(int directory, std::string_view slug);
// One file of it, as it was when the skill was read. Errors: not_found; unavailable when it has changed since.
Result<std::string> read_file(int directory, const Skill& skill, std::string_view path);
// What the files below `directory` hold together, without reading them.
Result<uint64_t> bytes_below(int directory);

}  // namespace skills

// Skill: a folder in the Agent Skills format, SKILL.md with front matter and further files, with their digests. Source:
// read_skill() of a folder that may be untrusted; make_files() for a saved skill; bundle.h for one signed for a
// cluster. Errors: invalid (naming the file and the reason), exhausted (too many, too large), denied (links, devices).
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"

namespace skills {

constexpr size_t kMaxFiles = 512;              // of one skill; this limit and the next must be accepted by every host
constexpr uint64_t kMaxSkillBytes = 16 << 20;  // (SEP-2640, SKILL_LIMITS of the official SDK)
constexpr size_t kMaxDescriptionBytes = 1024;
constexpr size_t kMaxCodeBytes = 256 << 10;  // of a saved skill

enum class SkillLanguage { none, python, javascript };     // `none`: instructions only, no code
std::string_view language_name(SkillLanguage language);    // "python"
std::string_view language_ending(SkillLanguage language);  // "py"

struct SkillFile {
  std::string path;    // below the skill's folder: "scripts/filter_high_risk.py"
  uint64_t size = 0;   // bytes
  std::string digest;  // "sha256:..."
};

struct Skill {
  std::string name;         // the identifier that code imports
  std::string slug;         // name of its folder and in its URIs; also its name in the front matter
  std::string description;  // as given; may be empty
  std::string created;      // RFC 3339, of this version; may be empty
  SkillLanguage language = SkillLanguage::none;
  Json front_matter;             // an object
  std::vector<SkillFile> files;  // SKILL.md first, the rest by path
  std::string code_file;         // the file that an import loads; empty: no code

  uint64_t bytes() const;
  const SkillFile* find_file(std::string_view path) const;
};

// Draft: a skill to be saved.
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

// Whether a file may have this name: letters, digits, '.', '_', '-', not hidden. So URIs need no escapes.
bool is_file_name(std::string_view name);

// Reads the skill in `directory` (O_PATH suffices), and every file of the skill once.
Result<Skill> read_skill(int directory, std::string_view slug);
// One file of a skill, unchanged since the skill was read. Errors: not_found; unavailable when the file has changed
// since.
Result<std::string> read_file(int directory, const Skill& skill, std::string_view path);

// WholeSkill: a skill with its files in memory.
using FileContents = std::map<std::string, std::string, std::less<>>;  // by path below the skill's folder
struct WholeSkill {
  Skill skill;
  FileContents contents;
};
// Reads the skill in `directory`, as read_skill(), with its files.
Result<WholeSkill> read_whole_skill(int directory, std::string_view slug);
// The skill of these files, which may be untrusted.
Result<WholeSkill> make_whole_skill(std::string_view slug, FileContents contents);
// Total size in bytes of the files below `directory`, without reading them.
Result<uint64_t> bytes_below(int directory);

}  // namespace skills

#include "skills/skill.h"

#include <fmt/format.h>

#include <algorithm>

#include "skills/digest.h"
#include "skills/front_matter.h"
#include "skills/name.h"
#include "supervisor/base/ascii.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/path.h"

namespace skills {
namespace {

constexpr int kMaxDepth = 4;
constexpr char kHead[] = "SKILL.md";

// SKILL.md first, the rest by path.
void sort_files(std::vector<SkillFile>& files) {
  std::sort(files.begin(), files.end(), [](const SkillFile& a, const SkillFile& b) {
    return std::pair(a.path != kHead, std::string_view(a.path)) < std::pair(b.path != kHead, std::string_view(b.path));
  });
}

auto wrong_file_name(std::string_view name) {
  return fail(Code::invalid, fmt::format("'{}' is not a valid name for a file of a skill", valid_utf8(name)),
              "use letters, digits, '.', '_' and '-'");
}

// The description of a saved skill without one: the format requires a description.
std::string standard_description(std::string_view name) { return fmt::format("Saved code `{}`.", name); }

// Collection: lists the files below a folder, sorted by path. Reads sizes only.
class Collection {
 public:
  Result<std::vector<SkillFile>> of(int directory) {
    CHECKED(add(directory, "", 0));
    sort_files(files_);
    return std::move(files_);
  }

 private:
  Result<> add(int directory, const std::string& below, int depth) {
    if (depth > kMaxDepth) return fail(Code::invalid, fmt::format("{} is nested too deep", below));
    TRY(FolderReader entries, FolderReader::at(directory, below.empty() ? "." : below));
    const int fd = entries.fd();
    for (;;) {
      TRY(const dirent* entry, entries.next());
      if (entry == nullptr) return {};
      const std::string_view name = entry->d_name;
      if (++entries_ > 2 * kMaxFiles) return fail(Code::exhausted, fmt::format("more than {} files", kMaxFiles));
      if (!is_file_name(name)) return wrong_file_name(name);
      TRY(RelativePath path, RelativePath::parse(name));
      TRY(struct stat info, stat_beneath(fd, path));
      if (S_ISDIR(info.st_mode)) {
        TRY(Fd inner, open_directory_beneath(fd, path));
        CHECKED(add(inner.get(), below + std::string(name) + "/", depth + 1));
      } else if (S_ISREG(info.st_mode)) {
        CHECKED(add_file(below + std::string(name), static_cast<uint64_t>(info.st_size)));
      } else {
        return fail(Code::denied, fmt::format("{}{} is a link, a FIFO, a socket or a device", below, name),
                    "a skill contains only regular files and folders");
      }
    }
  }

  Result<> add_file(std::string path, uint64_t size) {
    if (files_.size() == kMaxFiles) return fail(Code::exhausted, fmt::format("more than {} files", kMaxFiles));
    bytes_ += size;
    if (size > kMaxSkillBytes || bytes_ > kMaxSkillBytes)
      return fail(Code::exhausted, fmt::format("more than {} bytes", kMaxSkillBytes));
    files_.push_back({std::move(path), size, {}});
    return {};
  }

  std::vector<SkillFile> files_;
  size_t entries_ = 0;
  uint64_t bytes_ = 0;
};

Result<std::string> read_bytes(int directory, std::string_view path) {
  TRY(RelativePath relative, RelativePath::parse(path));
  TRY(Fd file, open_regular_beneath(directory, relative, O_RDONLY));
  return read_complete(file.get(), kMaxSkillBytes);
}

// A file whose name another machine gave: not below too many folders, and not below another file.
Result<> check_path(const std::string& path, const FileContents& all) {
  int depth = 0;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    if (!is_file_name(std::string_view(path).substr(at, end - at))) return wrong_file_name(path);
    if (end < path.size() && all.contains(path.substr(0, end)))
      return fail(Code::invalid, fmt::format("{} is a file and a folder", path.substr(0, end)));
    if (end < path.size() && ++depth > kMaxDepth)
      return fail(Code::invalid, fmt::format("{} is nested too deep", path));
    at = end + 1;
  }
  return {};
}

Result<> understand(Skill& skill) {
  const Json none = Json::object();
  const Json& fields = skill.front_matter;
  auto metadata = fields.find("metadata");
  const Json& more = metadata != fields.end() && metadata->is_object() ? *metadata : none;
  if (text_member(fields, "name") != skill.slug)
    return fail(Code::invalid,
                fmt::format("the name in SKILL.md is not the name of its folder, which is {}", skill.slug));
  skill.description = text_member(fields, "description");
  if (skill.description.empty() || skill.description.size() > 4 * kMaxDescriptionBytes)
    return fail(Code::invalid, "SKILL.md has no description of 1 to 1024 characters");
  skill.name = text_member(more, "import");
  if (skill.name.empty()) skill.name = name_of(skill.slug);
  if (!check_name(skill.name) || slug_of(skill.name) != skill.slug)
    return fail(Code::invalid, fmt::format("SKILL.md: metadata.import is not a form of {}", skill.slug));
  if (skill.description == standard_description(skill.name)) skill.description.clear();
  skill.created = text_member(more, "created").substr(0, 64);
  for (SkillLanguage language : {SkillLanguage::python, SkillLanguage::javascript}) {
    std::string path = fmt::format("scripts/{}.{}", skill.name, language_ending(language));
    if (!skill.code_file.empty() || !skill.find_file(path)) continue;
    skill.language = language;
    skill.code_file = std::move(path);
  }
  return {};
}

}  // namespace

std::string_view language_name(SkillLanguage language) {
  return language == SkillLanguage::python ? "python" : language == SkillLanguage::javascript ? "javascript" : "none";
}

std::string_view language_ending(SkillLanguage language) { return language == SkillLanguage::javascript ? "js" : "py"; }

uint64_t Skill::bytes() const {
  uint64_t sum = 0;
  for (const SkillFile& file : files) sum += file.size;
  return sum;
}

const SkillFile* Skill::find_file(std::string_view path) const {
  auto it = std::find_if(files.begin(), files.end(), [&](const SkillFile& file) { return file.path == path; });
  return it == files.end() ? nullptr : &*it;
}

Result<> check_draft(const Draft& draft) {
  CHECKED(check_name(draft.name));
  if (draft.language == SkillLanguage::none) return fail(Code::invalid, "a saved skill is Python or JavaScript");
  if (draft.code.empty()) return fail(Code::invalid, "the skill's code is empty", "save at least one function");
  if (draft.code.size() > kMaxCodeBytes)
    return fail(Code::exhausted, fmt::format("the skill's code has {} bytes", draft.code.size()),
                fmt::format("at most {} bytes are allowed; store data in the workspace", kMaxCodeBytes), "skills.code");
  if (draft.code.find('\0') != std::string::npos || valid_utf8(draft.code) != draft.code)
    return fail(Code::invalid, "the skill's code is not UTF-8 text, or contains a NUL");
  if (draft.description.size() > kMaxDescriptionBytes)
    return fail(Code::invalid, fmt::format("the description has {} bytes", draft.description.size()),
                fmt::format("at most {} bytes are allowed", kMaxDescriptionBytes));
  if (draft.description.find('\0') != std::string::npos || valid_utf8(draft.description) != draft.description)
    return fail(Code::invalid, "the description is not UTF-8 text, or contains a NUL");
  return {};
}

std::vector<DraftFile> make_files(const Draft& draft, uint32_t version) {
  const std::string script = fmt::format("scripts/{}.{}", draft.name, language_ending(draft.language));
  const std::string description = draft.description.empty() ? standard_description(draft.name) : draft.description;
  // A JSON string is a valid YAML text in double quotes.
  std::string head =
      fmt::format("---\nname: \"{}\"\ndescription: {}\nmetadata:\n", slug_of(draft.name), dump_json(Json(description)));
  head += fmt::format("  import: \"{}\"\n  language: {}\n  version: \"{}\"\n  created: \"{}\"\n---\n\n", draft.name,
                      language_name(draft.language), version, draft.created);
  const std::string use = draft.language == SkillLanguage::python
                              ? fmt::format("from skills import {}", draft.name)
                              : fmt::format("const {0} = require('skills/{0}')", draft.name);
  head += fmt::format("# {}\n\n{}\n\nIn `execute_code`, {}: `{}`. The code is {}.\n", draft.name, description,
                      draft.language == SkillLanguage::python ? "Python" : "JavaScript", use, script);
  return {{kHead, std::move(head)}, {script, draft.code}};
}

bool is_file_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_word(c) || c == '.' || c == '-'; });
}

Result<Skill> read_skill(int directory, std::string_view slug) {
  Skill skill;
  skill.slug = slug;
  TRY(skill.files, Collection().of(directory));
  if (skill.files.empty() || skill.files.front().path != kHead) return fail(Code::invalid, "it has no SKILL.md");
  uint64_t bytes = 0;
  for (SkillFile& file : skill.files) {
    TRY(std::string contents, read_bytes(directory, file.path));
    file.size = contents.size();
    bytes += file.size;
    if (bytes > kMaxSkillBytes) return fail(Code::exhausted, fmt::format("more than {} bytes", kMaxSkillBytes));
    file.digest = digest_of(contents);
    if (file.path != kHead) continue;
    TRY(FrontMatter head, parse_front_matter(contents));
    skill.front_matter = std::move(head.fields);
  }
  CHECKED(understand(skill));
  return skill;
}

Result<std::string> read_file(int directory, const Skill& skill, std::string_view path) {
  const SkillFile* file = skill.find_file(path);
  if (!file) return fail(Code::not_found, fmt::format("the skill '{}' has no file of this name", skill.name));
  TRY(std::string contents, read_bytes(directory, path));
  if (digest_of(contents) != file->digest)
    return fail(Code::unavailable, fmt::format("{} of the skill '{}' has changed on the disk", path, skill.name),
                "save the skill again");
  return contents;
}

Result<uint64_t> bytes_below(int directory) {
  TRY(std::vector<SkillFile> files, Collection().of(directory));
  uint64_t sum = 0;
  for (const SkillFile& file : files) sum += file.size;
  return sum;
}

Result<WholeSkill> read_whole_skill(int directory, std::string_view slug) {
  WholeSkill skill;
  TRY(skill.skill, read_skill(directory, slug));
  for (const SkillFile& file : skill.skill.files) {
    TRY(skill.contents[file.path], read_file(directory, skill.skill, file.path));
  }
  return skill;
}

Result<WholeSkill> make_whole_skill(std::string_view slug, FileContents contents) {
  WholeSkill skill{{}, std::move(contents)};
  skill.skill.slug = slug;
  if (skill.contents.size() > kMaxFiles) return fail(Code::exhausted, fmt::format("more than {} files", kMaxFiles));
  for (const auto& [path, text] : skill.contents) {
    CHECKED(check_path(path, skill.contents));
    skill.skill.files.push_back({path, text.size(), digest_of(text)});
  }
  if (skill.skill.bytes() > kMaxSkillBytes)
    return fail(Code::exhausted, fmt::format("more than {} bytes", kMaxSkillBytes));
  const auto head = skill.contents.find(kHead);
  if (head == skill.contents.end()) return fail(Code::invalid, "it has no SKILL.md");
  sort_files(skill.skill.files);
  TRY(FrontMatter parsed, parse_front_matter(head->second));
  skill.skill.front_matter = std::move(parsed.fields);
  CHECKED(understand(skill.skill));
  return skill;
}

}  // namespace skills

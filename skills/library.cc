#include "skills/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "skills/name.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/path.h"

namespace skills {
namespace {

constexpr std::string_view kScheme = "skill://";

SkillMatch own_matches(const SkillStore::EntryPtr& entry) { return {{entry, &entry->skill}, entry}; }

}  // namespace

Result<Shared> Shared::load(const std::string& directory) {
  Shared shared;
  TRY(Fd top, open_directory(directory));
  TRY(const auto names, read_names(FolderReader::open(directory)));
  for (const std::string& name : names) {
    auto load_one = [&]() -> Result<WholeSkill> {
      if (!is_slug(name)) return fail(Code::invalid, "not a skill's folder");
      TRY(RelativePath path, RelativePath::parse(name));
      TRY(Fd folder, open_directory_beneath(top.get(), path));
      return read_whole_skill(folder.get(), name);
    };
    if (auto stored = load_one()) {
      shared.add(*std::move(stored));
    } else {
      shared.problems_.push_back(fmt::format("shared skill '{}': {}", name, stored.error().what));
    }
  }
  return shared;
}

bool Shared::add(WholeSkill skill) {
  std::string slug = skill.skill.slug;
  return saved_.emplace(std::move(slug), std::make_shared<const WholeSkill>(std::move(skill))).second;
}

std::vector<std::string> Shared::add(const Shared& peers) {
  std::vector<std::string> duplicates;
  for (const auto& [slug, skill] : peers.saved_)
    if (!saved_.emplace(slug, skill).second) duplicates.push_back(slug);
  return duplicates;
}

std::shared_ptr<const Skill> Shared::find(std::string_view name) const {
  auto it = saved_.find(slug_of(name));
  if (it == saved_.end()) return nullptr;
  return {it->second, &it->second->skill};
}

Result<std::string> Shared::read(const Skill& skill, std::string_view path) const {
  if (auto it = saved_.find(skill.slug); it != saved_.end())
    if (auto contents = it->second->contents.find(path); contents != it->second->contents.end())
      return contents->second;
  return fail(Code::not_found, fmt::format("the skill '{}' has no file of this name", skill.name));
}

std::optional<SkillMatch> Library::find(std::string_view name) const {
  if (auto own = own_->find(name)) return own_matches(own);
  if (auto skill = shared_->find(name)) return SkillMatch{std::move(skill), nullptr};
  return std::nullopt;
}

std::vector<SkillMatch> Library::all() const {
  std::vector<SkillMatch> match;
  match.reserve(own_->entries().size() + shared_->saved_.size());
  auto own = own_->entries().begin();
  for (const auto& [slug, saved] : shared_->saved_) {
    for (; own != own_->entries().end() && own->first < slug; ++own) match.push_back(own_matches(own->second));
    if (own == own_->entries().end() || own->first != slug) match.push_back({{saved, &saved->skill}, nullptr});
  }
  for (; own != own_->entries().end(); ++own) match.push_back(own_matches(own->second));
  return match;
}

Result<std::string> Library::read(const SkillMatch& match, std::string_view path) const {
  return match.own ? own_->read(*match.own, path) : shared_->read(*match.skill, path);
}

Result<std::string> Library::read_code(const SkillMatch& match, uint32_t version) const {
  if (match.own) return own_->read_code(*match.own, version ? version : match.own->version());
  if (version > 1) return fail(Code::not_found, "a shared skill has no versions", "load the skill without a version");
  if (match.skill->code_file.empty())
    return fail(Code::invalid, fmt::format("the skill '{}' has no code", match.skill->name), "read its SKILL.md");
  return shared_->read(*match.skill, match.skill->code_file);
}

std::string uri_of(std::string_view slug, std::string_view path) {
  return fmt::format("{}{}{}{}", kScheme, slug, path.empty() ? "" : "/", path);
}

std::optional<SkillUri> parse_uri(std::string_view uri) {
  if (!uri.starts_with(kScheme) || uri.size() > kMaxPathBytes) return std::nullopt;
  uri.remove_prefix(kScheme.size());
  const size_t slash = std::min(uri.find('/'), uri.size());
  SkillUri skill_uri{std::string(uri.substr(0, slash)), {}};
  if (!is_slug(skill_uri.slug)) return std::nullopt;
  if (slash == uri.size()) return skill_uri;
  skill_uri.path = uri.substr(slash + 1);
  for (size_t at = 0; at <= skill_uri.path.size();) {
    const size_t end = std::min(skill_uri.path.find('/', at), skill_uri.path.size());
    if (!is_file_name(std::string_view(skill_uri.path).substr(at, end - at))) return std::nullopt;
    at = end + 1;
  }
  return skill_uri;
}

std::optional<std::vector<std::string>> children(const Skill& skill, std::string_view folder) {
  const std::string prefix = folder.empty() ? "" : std::string(folder) + "/";
  std::set<std::string> names;
  for (const SkillFile& file : skill.files) {
    if (!file.path.starts_with(prefix)) continue;
    const size_t slash = file.path.find('/', prefix.size());
    names.insert(file.path.substr(prefix.size(), slash == std::string::npos ? slash : slash + 1 - prefix.size()));
  }
  if (names.empty()) return std::nullopt;
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace skills

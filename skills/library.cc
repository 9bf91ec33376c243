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

Found own_found(const SkillStore::EntryPtr& entry) { return {{entry, &entry->skill}, entry}; }

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
    if (auto kept = load_one()) {
      shared.add(*std::move(kept));
    } else {
      shared.problems_.push_back(fmt::format("shared skill '{}': {}", name, kept.error().what));
    }
  }
  return shared;
}

bool Shared::add(WholeSkill skill) {
  std::string slug = skill.skill.slug;
  return kept_.emplace(std::move(slug), std::make_shared<const WholeSkill>(std::move(skill))).second;
}

std::vector<std::string> Shared::add(const Shared& others) {
  std::vector<std::string> taken;
  for (const auto& [slug, skill] : others.kept_)
    if (!kept_.emplace(slug, skill).second) taken.push_back(slug);
  return taken;
}

std::shared_ptr<const Skill> Shared::find(std::string_view name) const {
  auto found = kept_.find(slug_of(name));
  if (found == kept_.end()) return nullptr;
  return {found->second, &found->second->skill};
}

Result<std::string> Shared::read(const Skill& skill, std::string_view path) const {
  if (auto kept = kept_.find(skill.slug); kept != kept_.end())
    if (auto contents = kept->second->contents.find(path); contents != kept->second->contents.end())
      return contents->second;
  return fail(Code::not_found, fmt::format("the skill '{}' has no file of this name", skill.name));
}

std::optional<Found> Library::find(std::string_view name) const {
  if (auto own = own_->find(name)) return own_found(own);
  if (auto skill = shared_->find(name)) return Found{std::move(skill), nullptr};
  return std::nullopt;
}

std::vector<Found> Library::all() const {
  std::vector<Found> found;
  found.reserve(own_->entries().size() + shared_->kept_.size());
  auto own = own_->entries().begin();
  for (const auto& [slug, kept] : shared_->kept_) {
    for (; own != own_->entries().end() && own->first < slug; ++own) found.push_back(own_found(own->second));
    if (own == own_->entries().end() || own->first != slug) found.push_back({{kept, &kept->skill}, nullptr});
  }
  for (; own != own_->entries().end(); ++own) found.push_back(own_found(own->second));
  return found;
}

Result<std::string> Library::read(const Found& found, std::string_view path) const {
  return found.own ? own_->read(*found.own, path) : shared_->read(*found.skill, path);
}

Result<std::string> Library::read_code(const Found& found, uint32_t version) const {
  if (found.own) return own_->read_code(*found.own, version ? version : found.own->version());
  if (version > 1) return fail(Code::not_found, "a shared skill has no versions", "load the skill without a version");
  if (found.skill->code_file.empty())
    return fail(Code::invalid, fmt::format("the skill '{}' has no code", found.skill->name), "read its SKILL.md");
  return shared_->read(*found.skill, found.skill->code_file);
}

std::string uri_of(std::string_view slug, std::string_view path) {
  return fmt::format("{}{}{}{}", kScheme, slug, path.empty() ? "" : "/", path);
}

std::optional<SkillUri> parse_uri(std::string_view uri) {
  if (!uri.starts_with(kScheme) || uri.size() > kMaxPathBytes) return std::nullopt;
  uri.remove_prefix(kScheme.size());
  const size_t slash = std::min(uri.find('/'), uri.size());
  SkillUri place{std::string(uri.substr(0, slash)), {}};
  if (!is_slug(place.slug)) return std::nullopt;
  if (slash == uri.size()) return place;
  place.path = uri.substr(slash + 1);
  for (size_t at = 0; at <= place.path.size();) {
    const size_t end = std::min(place.path.find('/', at), place.path.size());
    if (!is_file_name(std::string_view(place.path).substr(at, end - at))) return std::nullopt;
    at = end + 1;
  }
  return place;
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

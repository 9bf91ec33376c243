#include "skills/store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "skills/name.h"
#include "supervisor/base/durable.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/path.h"

namespace skills {
namespace {

constexpr mode_t kPrivate = 0700;
constexpr size_t kMaxListed = 20'000;
constexpr size_t kMaxProblems = 100;
constexpr char kNew[] = ".new";       // name of a version during its writing
constexpr char kRemoved[] = ".gone";  // name of a skill during its removal

std::string version_path(std::string_view slug, uint32_t version) { return fmt::format("{}/{:06}", slug, version); }

// The names in a folder, sorted.
Result<std::vector<std::string>> names_in(int directory, const RelativePath& path) {
  TRY(Fd folder, open_beneath(directory, path, O_RDONLY | O_DIRECTORY));
  return read_names(FolderReader::of(std::move(folder), path.text()), kMaxListed);
}

std::optional<uint32_t> version_number(std::string_view name) {
  uint32_t number = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number == 0 || number > 1'000'000'000)
    return std::nullopt;
  return fmt::format("{:06}", number) == name ? std::optional(number) : std::nullopt;
}

Result<> make_durable(int directory, const RelativePath& path) {
  TRY(Fd folder, open_beneath(directory, path, O_RDONLY | O_DIRECTORY));
  if (const int failed = durable::sync_file(folder.get())) return fail_path(failed, "make durable", path.text());
  return {};
}

Result<> write_new(int directory, const RelativePath& path, std::string_view contents) {
  TRY(Fd file, open_beneath(directory, path, O_WRONLY | O_CREAT | O_EXCL, 0600));
  CHECKED(write_all(file.get(), contents));
  if (const int failed = durable::sync_file(file.get())) return fail_path(failed, "make durable", path.text());
  return {};
}

// Removes the rest of a skill if the daemon ended during a removal.
void sweep(int directory) { (void)remove_tree_beneath(directory, RelativePath::known(kRemoved)); }

Result<> write_version(int top, const Draft& draft, const std::string& slug, uint32_t version) {
  const std::string beside = fmt::format("{}/{}", slug, kNew);
  TRY(Fd folder, make_directories_beneath(top, RelativePath::known(slug), kPrivate));
  if (auto remaining = stat_beneath(top, RelativePath::known(beside)))
    CHECKED(remove_tree_beneath(top, RelativePath::known(beside)));
  TRY(Fd scripts, make_directories_beneath(top, RelativePath::known(beside + "/scripts"), kPrivate));
  for (const DraftFile& file : make_files(draft, version))
    CHECKED(write_new(top, RelativePath::known(beside + "/" + file.path), file.contents));
  for (const std::string& path : {beside + "/scripts", beside}) CHECKED(make_durable(top, RelativePath::known(path)));
  // Replaces a version that cannot be read, or one that a daemon left behind when it ended: no client got its number.
  const RelativePath named = RelativePath::known(version_path(slug, version));
  if (stat_beneath(top, named)) CHECKED(remove_tree_beneath(top, named));
  CHECKED(rename_beneath(top, RelativePath::known(beside), named, Existing::refuse));
  CHECKED(make_durable(top, RelativePath::known(slug)));
  return make_durable(top, RelativePath());
}

}  // namespace

Result<SkillStore> SkillStore::open(Fd directory) {
  SkillStore store(std::move(directory));
  CHECKED(store.load());
  return store;
}

Result<> SkillStore::load() {
  sweep(directory_->get());
  TRY(std::vector<std::string> names, names_in(directory_->get(), RelativePath()));
  for (const std::string& name : names) {
    auto entry = is_slug(name) ? load_entry(name) : fail(Code::invalid, "not a skill's folder");
    if (!entry) {
      note(name, entry.error().what);
      unread_.insert(name);
    } else if (entry->has_value()) {
      entries_.emplace(name, std::make_shared<const Entry>(**std::move(entry)));
    }
  }
  return {};
}

void SkillStore::note(std::string_view name, std::string_view problem) {
  if (problems_.size() < kMaxProblems) problems_.push_back(fmt::format("skill '{}': {}", valid_utf8(name), problem));
}

// Reads the newest version that can be read. nullopt: the folder has no version, because the daemon ended during the
// first save. The rest of an interrupted save is removed.
Result<std::optional<SkillStore::Entry>> SkillStore::load_entry(const std::string& slug) {
  TRY(std::vector<std::string> names, names_in(directory_->get(), RelativePath::known(slug)));
  if (std::erase(names, kNew) > 0)
    CHECKED(remove_tree_beneath(directory_->get(), RelativePath::known(fmt::format("{}/{}", slug, kNew))));
  std::vector<uint32_t> numbers;
  for (const std::string& name : names)
    if (auto number = version_number(name)) numbers.push_back(*number);
  Entry entry;
  for (auto number = numbers.rbegin(); number != numbers.rend(); number++) {
    TRY(Fd folder, open_directory_beneath(directory_->get(), RelativePath::known(version_path(slug, *number))));
    if (!entry.versions.empty()) {
      if (auto bytes = bytes_below(folder.get())) entry.versions.insert(entry.versions.begin(), {*number, *bytes});
    } else if (auto skill = read_skill(folder.get(), slug)) {
      entry.skill = *std::move(skill);
      entry.versions.push_back({*number, entry.skill.bytes()});
    } else {
      note(slug, fmt::format("version {}: {}", *number, skill.error().what));
    }
  }
  return entry.versions.empty() ? std::optional<Entry>() : std::optional(std::move(entry));
}

SkillStore::EntryPtr SkillStore::find(std::string_view name) const {
  auto it = entries_.find(slug_of(name));
  return it == entries_.end() ? nullptr : it->second;
}

uint64_t SkillStore::bytes() const {
  uint64_t sum = 0;
  for (const auto& [slug, entry] : entries_)
    for (const Version& version : entry->versions) sum += version.bytes;
  return sum;
}

Result<SkillStore::Saving> SkillStore::plan_save(const Draft& draft, const StoreLimits& limits) const {
  CHECKED(check_draft(draft));
  Saving saving{directory_, draft, slug_of(draft.name), Saved::first, 1, {}, {}, 0};
  if (unread_.contains(saving.slug))  // a first version would replace the one of this number
    return fail(Code::unavailable, fmt::format("the stored versions of the skill '{}' could not be read", draft.name),
                "the administrator sees the reason in the daemon's log; save the code with another name");
  uint64_t stored_bytes = bytes();
  auto it = entries_.find(saving.slug);
  if (it != entries_.end()) {
    const Entry& entry = *it->second;
    if (entry.skill.name != draft.name)
      return fail(Code::invalid, fmt::format("the name is too similar to the existing skill '{}'", entry.skill.name),
                  "use the existing name, or a name with more differences than case and underscores");
    saving.saved = Saved::another;
    if (entry.skill.language == draft.language && entry.skill.description == draft.description) {
      auto code = read(entry, entry.skill.code_file);
      if (code && *code == draft.code) saving.saved = Saved::same;
    }
    if (saving.saved == Saved::same) return saving;
    saving.version = entry.version() + 1;
    const size_t keep = std::max<size_t>(limits.versions, 1);
    for (size_t i = 0; i + keep <= entry.versions.size(); i++) {
      saving.surplus.push_back(entry.versions[i].number);
      stored_bytes -= entry.versions[i].bytes;
    }
  } else if (entries_.size() >= limits.count) {
    return fail(Code::exhausted, fmt::format("there are already {} skills", entries_.size()),
                "delete one that is no longer needed", "skills.count");
  }
  uint64_t bytes = 0;
  for (const DraftFile& file : make_files(draft, saving.version)) bytes += file.contents.size();
  if (stored_bytes + bytes > limits.bytes)
    return fail(Code::exhausted,
                fmt::format("the skills hold {} bytes, and this one would add {}", stored_bytes, bytes),
                fmt::format("at most {} bytes are stored, including older versions: delete a skill", limits.bytes),
                "skills.bytes");
  return saving;
}

Result<> SkillStore::write(Saving& saving) {
  const int top = saving.directory->get();
  CHECKED(write_version(top, saving.draft, saving.slug, saving.version));
  TRY(Fd folder, open_directory_beneath(top, RelativePath::known(version_path(saving.slug, saving.version))));
  TRY(saving.skill, read_skill(folder.get(), saving.slug));
  for (uint32_t old : saving.surplus) {
    if (!remove_tree_beneath(top, RelativePath::known(version_path(saving.slug, old))))
      break;  // the next save tries again
    saving.removed++;
  }
  return {};
}

SkillStore::Receipt SkillStore::finish(Saving saving) {
  EntryPtr& entry_ptr = entries_[saving.slug];
  if (saving.saved == Saved::same) return {entry_ptr, saving.saved};
  Entry entry;
  if (entry_ptr)
    entry.versions.assign(entry_ptr->versions.begin() + static_cast<ptrdiff_t>(saving.removed),
                          entry_ptr->versions.end());
  entry.versions.push_back({saving.version, saving.skill.bytes()});
  entry.skill = std::move(saving.skill);
  entry_ptr = std::make_shared<const Entry>(std::move(entry));
  return {entry_ptr, saving.saved};
}

Result<SkillStore::Removal> SkillStore::plan_removal(std::string_view name) const {
  auto it = entries_.find(slug_of(name));
  if (it == entries_.end()) return fail(Code::not_found, fmt::format("Skill not found: {}", valid_utf8(name)));
  return Removal{directory_, it->first, false};
}

Result<> SkillStore::remove(Removal& removal) {
  const int top = removal.directory->get();
  sweep(top);
  CHECKED(rename_beneath(top, RelativePath::known(removal.slug), RelativePath::known(kRemoved), Existing::refuse));
  removal.is_gone = true;
  CHECKED(make_durable(top, RelativePath()));
  sweep(top);
  return {};
}

void SkillStore::finish(const Removal& removal) {
  if (removal.is_gone) entries_.erase(removal.slug);
}

Result<Fd> SkillStore::version_directory(const Entry& entry, uint32_t version) const {
  auto saved = std::any_of(entry.versions.begin(), entry.versions.end(),
                           [&](const Version& item) { return item.number == version; });
  if (!saved)
    return fail(Code::not_found, fmt::format("the skill '{}' has no version {}", entry.skill.name, version),
                fmt::format("versions {} to {} are stored", entry.versions.front().number, entry.version()));
  return open_directory_beneath(directory_->get(), RelativePath::known(version_path(entry.skill.slug, version)));
}

Result<std::string> SkillStore::read(const Entry& entry, std::string_view path) const {
  TRY(Fd folder, version_directory(entry, entry.version()));
  return read_file(folder.get(), entry.skill, path);
}

Result<Skill> SkillStore::read_version(const Entry& entry, uint32_t version) const {
  if (version == entry.version()) return entry.skill;
  TRY(Fd folder, version_directory(entry, version));
  return read_skill(folder.get(), entry.skill.slug);
}

Result<std::string> SkillStore::read_code(const Entry& entry, uint32_t version) const {
  TRY(Skill skill, read_version(entry, version));
  if (skill.code_file.empty())
    return fail(Code::invalid, fmt::format("the skill '{}' has no code", skill.name), "read its SKILL.md");
  TRY(Fd folder, version_directory(entry, version));
  return read_file(folder.get(), skill, skill.code_file);
}

}  // namespace skills

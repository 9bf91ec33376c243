// Scene: a folder for a store, and drafts to save in it.
#pragma once
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "skills/store.h"
#include "supervisor/base/path.h"
#include "tests/temp_directory.h"

// The steps of a change, one after the other.
inline Result<skills::SkillStore::Receipt> save(skills::SkillStore& store, const skills::Draft& draft,
                                                const skills::StoreLimits& limits) {
  TRY(skills::SkillStore::Saving saving, store.plan_save(draft, limits));
  if (saving.saved != skills::SkillStore::Saved::same) CHECKED(skills::SkillStore::write(saving));
  return store.finish(std::move(saving));
}
inline Result<> remove(skills::SkillStore& store, std::string_view name) {
  TRY(skills::SkillStore::Removal removal, store.plan_removal(name));
  auto removed = skills::SkillStore::remove(removal);
  store.finish(removal);
  return removed;
}

struct Scene {
  TempDirectory top;
  skills::StoreLimits limits{1 << 20, 20, 3};

  skills::SkillStore open() const {
    auto directory = open_directory(top.path());
    return skills::SkillStore::open(*std::move(directory)).value();
  }
  static skills::Draft draft(std::string name, std::string code, std::string description = "What it does") {
    return {std::move(name), std::move(code), std::move(description), skills::SkillLanguage::python,
            "2026-11-21T12:00:00Z"};
  }
  void write(const std::filesystem::path& name, std::string_view text) const {
    std::filesystem::create_directories((top.path() / name).parent_path());
    std::ofstream(top.path() / name) << text;
  }
  std::string read(const std::filesystem::path& name) const {
    std::ifstream file(top.path() / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

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
inline Result<skills::Store::Receipt> save(skills::Store& store, const skills::Draft& draft,
                                           const skills::StoreLimits& limits) {
  TRY(skills::Store::Saving saving, store.plan_save(draft, limits));
  if (saving.saved != skills::Store::Saved::same) CHECKED(skills::Store::write(saving));
  return store.finish(std::move(saving));
}
inline Result<> remove(skills::Store& store, std::string_view name) {
  TRY(skills::Store::Removal removal, store.plan_removal(name));
  auto removed = skills::Store::remove(removal);
  store.finish(removal);
  return removed;
}

struct Scene {
  TempDirectory top;
  skills::StoreLimits limits{1 << 20, 20, 3};

  skills::Store open() const {
    auto directory = open_directory(top.path());
    return skills::Store::open(*std::move(directory)).value();
  }
  static skills::Draft draft(std::string name, std::string code, std::string description = "What it does") {
    return {std::move(name), std::move(code), std::move(description), skills::Language::python, "2026-11-21T12:00:00Z"};
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

// Scene: a folder for a store, and drafts to save in it.
#pragma once
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "skills/store.h"
#include "supervisor/base/path.h"
#include "tests/temp_directory.h"

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

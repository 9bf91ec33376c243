// Scene: a workspace folder that hostile hands may change, a secret beside it, and a loop to run tasks on.
#pragma once
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/base/path.h"
#include "supervisor/tenants/workspace.h"
#include "tests/catch.h"
#include "tests/file_times.h"
#include "tests/temp_directory.h"

// Runs one task to its end.
template <class T>
T wait_for(Loop& loop, Task<T> task) {
  auto started = start(std::move(task));
  loop.run_until([&] { return started.done(); });
  REQUIRE(started.done());
  std::optional<T> value;
  auto collect = [](Started<T>& from, std::optional<T>& into) -> Task<> { into.emplace(co_await from); };
  auto collecting = start(collect(started, value));
  REQUIRE(value.has_value());
  return std::move(*value);
}

struct Scene {
  TempDirectory temp;
  std::filesystem::path inside = temp.path() / "workspace";
  std::filesystem::path outside = temp.path() / "outside";
  std::filesystem::path unfinished = temp.path() / "unfinished";
  Loop loop;
  std::optional<tenants::Workspace> workspace;

  explicit Scene(tenants::QuotaLimits limits = {1 << 20, 1000}) {
    std::filesystem::create_directories(inside);
    std::filesystem::create_directories(outside);
    std::filesystem::create_directories(unfinished);
    put(outside / "secret", "secret");
    workspace.emplace(loop, open_directory(inside.string()).value(), open_directory(unfinished.string()).value(),
                      limits);
  }
  tenants::Workspace* operator->() { return &*workspace; }

  static RelativePath path(std::string_view text) { return RelativePath::parse(text).value(); }
  static void put(const std::filesystem::path& file, std::string_view text) {
    std::ofstream(file, std::ios::binary) << text;
  }
  static std::string get(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
  }
  Result<uint64_t> write(std::string_view name, std::string bytes,
                         tenants::WriteMode mode = tenants::WriteMode::replace) {
    return wait_for(loop, workspace->write(path(name), std::move(bytes), mode));
  }
  Result<> remove(std::string_view name, tenants::Removal removal = tenants::Removal::one) {
    return wait_for(loop, workspace->remove(path(name), removal));
  }
  Result<tenants::Listing> list(std::string_view name = ".", tenants::ListOptions options = {}) {
    return wait_for(loop, workspace->list(path(name), options));
  }
  tenants::Usage measure() { return wait_for(loop, workspace->measure()).value(); }
  // With temporary files of ours, if any were left behind.
  size_t files_on_disk() const {
    size_t count = 0;
    for (const auto& folder : {inside, unfinished}) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) count += entry.exists() || true;
    }
    return count;
  }
};

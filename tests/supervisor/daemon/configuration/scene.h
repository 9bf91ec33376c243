// ConfigurationScene: a folder with a configuration file, drop-ins and policies of a test's own.
#pragma once
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "supervisor/base/json/json_value.h"
#include "supervisor/daemon/configuration/load.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

struct ConfigurationScene {
  ConfigurationScene() {
    std::filesystem::create_directories(folder / "warderd.json.d");
    std::filesystem::create_directories(folder / "policies/seccomp");
    copy("default.json");
    copy("seccomp/default.json");
    Flags flags;
    flags.config = folder / "warderd.json";
    flags.policies = folder / "policies";
    flags.state = folder / "state";
    std::filesystem::create_directories(flags.state);
    invocation = configuration::invocation_of(std::move(flags));
  }
  void copy(const std::string& name) const {
    std::ifstream in(std::string(WARDER_SOURCE_DIR "/policies/") + name);
    write("policies/" + name, std::string(std::istreambuf_iterator<char>(in), {}));
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
    REQUIRE(::chmod((folder / name).c_str(), 0644) == 0);
  }
  configuration::LoadedConfiguration load() const { return configuration::load(invocation); }
  std::string path(const std::string& name) const { return (folder / name).string(); }

  TempDirectory temp;
  std::filesystem::path folder = temp.path();
  configuration::Invocation invocation;
};

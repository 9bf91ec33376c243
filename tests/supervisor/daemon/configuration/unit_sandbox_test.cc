// The rules of a unit about paths: which of several settings holds for a path, systemd.exec(5).
#include "supervisor/daemon/configuration/unit_sandbox.h"

#include <filesystem>

#include "tests/catch.h"
#include "tests/temp_directory.h"

using namespace configuration;

namespace {

UnitPathSettings protected_by(const std::string& system, const std::string& home = "no") {
  UnitPathSettings settings;
  settings.protect_system = system;
  settings.protect_home = home;
  return settings;
}

std::string access_to(const std::string& path, const UnitPathSettings& settings) {
  const auto rules = path_rules(settings);
  const PathRule* const rule = rule_for(rules, path);
  if (!rule || rule->access == PathRule::Access::read_write) return "write";
  return rule->access == PathRule::Access::hidden ? "none" : "read";
}

}  // namespace

TEST_CASE("ProtectSystem= closes the folders that it names, and strict all but those of the kernel", "[unit]") {
  for (const std::string system : {"", "no", "yes", "full", "strict"}) {
    CAPTURE(system);
    const auto settings = protected_by(system);
    const bool is_any = system == "yes" || system == "full" || system == "strict";
    for (const char* path : {"/usr", "/usr/local/warder", "/boot/x", "/efi/x"})
      CHECK(access_to(path, settings) == (is_any ? "read" : "write"));
    CHECK(access_to("/etc/warder", settings) == (system == "full" || system == "strict" ? "read" : "write"));
    for (const char* path : {"/", "/srv/warder", "/opt", "/usrx", "/etc2/x"})
      CHECK(access_to(path, settings) == (system == "strict" ? "read" : "write"));
    for (const char* path : {"/home/ada/warder", "/root/x", "/run/user/0", "/dev/shm/x"})
      CHECK(access_to(path, settings) == "write");
  }
}

TEST_CASE("ProtectHome= closes homes, also beside ProtectSystem=strict", "[unit]") {
  for (const std::string system : {"no", "full", "strict"}) {
    CAPTURE(system);
    for (const char* path : {"/home/ada", "/root", "/run/user/1000/x"}) {
      CHECK(access_to(path, protected_by(system, "yes")) == "none");
      CHECK(access_to(path, protected_by(system, "read-only")) == "read");
      CHECK(access_to(path, protected_by(system, "tmpfs")) == "none");
    }
    CHECK(access_to("/homes", protected_by(system, "yes")) == (system == "strict" ? "read" : "write"));
  }
}

TEST_CASE("the rule of the longest path holds, and of two for one path the stricter one", "[unit]") {
  UnitPathSettings settings = protected_by("strict");
  settings.read_write = {"/srv", "/srv/a/b", "/opt/both"};
  settings.read_only = {"/srv/a/", "/opt/both"};
  CHECK(access_to("/srv/x", settings) == "write");
  CHECK(access_to("/srv/a", settings) == "read");
  CHECK(access_to("/srv/a/x", settings) == "read");
  CHECK(access_to("/srv/a/b/c", settings) == "write");
  CHECK(access_to("/srv/ab", settings) == "write");
  CHECK(access_to("/opt/both/x", settings) == "read");
  CHECK(access_to("/srv/a/../x", settings) == "write");
}

TEST_CASE("below a path of InaccessiblePaths= no other setting opens a folder", "[unit]") {
  for (const std::string system : {"no", "full", "strict"}) {
    UnitPathSettings settings = protected_by(system);
    settings.inaccessible = {"/srv", "/var/lib/warder"};
    settings.read_write = {"/srv/a", "/var/lib/warder"};
    settings.read_only = {"/srv/a/b"};
    for (const char* path : {"/srv", "/srv/a", "/srv/a/b/c", "/var/lib/warder/x"})
      CHECK(access_to(path, settings) == "none");
    CHECK(access_to("/var/lib", settings) == (system == "strict" ? "read" : "write"));
  }
}

TEST_CASE("links in paths lead to the folder that systemd closes", "[unit]") {
  const TempDirectory temporary;
  const auto root = std::filesystem::canonical(temporary.path());
  std::filesystem::create_directory(root / "real");
  std::filesystem::create_directory_symlink(root / "real", root / "link");
  UnitPathSettings settings;
  settings.read_only = {root / "link"};
  CHECK(access_to(root / "real/x", settings) == "read");
  settings.read_only = {root / "real"};
  CHECK(access_to(root / "link/missing/x", settings) == "read");
  CHECK(access_to(root / "other", settings) == "write");
}

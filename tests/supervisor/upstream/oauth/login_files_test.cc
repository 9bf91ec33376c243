#include "supervisor/upstream/oauth/login_files.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/catch.h"
#include "tests/temp_directory.h"

namespace {

struct Files {
  Files() {
    REQUIRE(::sodium_init() >= 0);
    key.fill(7);
  }
  std::map<oauth::LoginName, oauth::Tokens> read(const oauth::SealKey& with) {
    problems.clear();
    return *oauth::LoginFiles(fd.get(), with).read_all(problems);
  }
  std::filesystem::path file(const std::string& name) const { return folder.path() / "logins" / name; }

  TempDirectory folder;
  Fd fd{::open(std::string(folder.path()).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  oauth::SealKey key;
  std::vector<std::string> problems;
};

oauth::Tokens some_tokens() {
  oauth::Tokens tokens;
  tokens.access = "access-text";
  tokens.refresh = "refresh-text";
  tokens.issuer = "https://a.example";
  tokens.scopes = {"x", "y"};
  tokens.expires_at = 42;
  return tokens;
}

}  // namespace

TEST_CASE_METHOD(Files, "logins are stored sealed, and come back", "[oauth]") {
  oauth::LoginFiles files(fd.get(), key);
  CHECK(read(key).empty());
  REQUIRE(files.write({"far", ""}, some_tokens()));
  REQUIRE(files.write({"far", "acme"}, some_tokens()));
  REQUIRE(files.write({"far", "acme"}, some_tokens()));  // again
  const auto all = read(key);
  REQUIRE(all.size() == 2);
  CHECK(problems.empty());
  const auto& tokens = all.at({"far", "acme"});
  CHECK((tokens.access == "access-text" && tokens.refresh == "refresh-text" && tokens.expires_at == 42));
  CHECK(tokens.scopes == some_tokens().scopes);
  struct stat info {};
  REQUIRE(::stat(file("far/everybody.sealed").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  std::ifstream sealed(file("far/everybody.sealed"));
  const std::string text((std::istreambuf_iterator<char>(sealed)), {});
  CHECK(text.find("-text") == std::string::npos);
  REQUIRE(files.remove({"far", "acme"}));
  REQUIRE(files.remove({"far", "acme"}));  // no file is no error
  CHECK(read(key).size() == 1);
}

TEST_CASE_METHOD(Files, "a file with another key, of another name, or changed, is no login", "[oauth]") {
  oauth::LoginFiles files(fd.get(), key);
  REQUIRE(files.write({"far", "acme"}, some_tokens()));
  SECTION("another key") {
    oauth::SealKey other = key;
    other[0]++;
    CHECK(read(other).empty());
  }
  SECTION("moved to another tenant") {
    std::filesystem::rename(file("far/tenant-acme.sealed"), file("far/tenant-evil.sealed"));
    CHECK(read(key).empty());
  }
  SECTION("changed") {
    std::fstream change(file("far/tenant-acme.sealed"), std::ios::in | std::ios::out | std::ios::binary);
    change.seekg(60);
    const auto before = static_cast<char>(change.get());
    change.seekp(60);
    change.put(static_cast<char>(before ^ 1));
    change.close();
    CHECK(read(key).empty());
  }
  SECTION("cut off") {
    std::filesystem::resize_file(file("far/tenant-acme.sealed"), 20);
    CHECK(read(key).empty());
  }
  SECTION("a link") {
    std::filesystem::rename(file("far/tenant-acme.sealed"), file("x"));
    std::filesystem::create_symlink(file("x"), file("far/tenant-acme.sealed"));
    CHECK(read(key).empty());
  }
  CHECK(problems.size() >= 1);
}

TEST_CASE_METHOD(Files, "a name leads nowhere else", "[oauth]") {
  oauth::LoginFiles files(fd.get(), key);
  CHECK_FALSE(files.write({"..", "acme"}, some_tokens()));
  CHECK_FALSE(files.write({"far", "../../acme"}, some_tokens()));
}

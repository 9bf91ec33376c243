#include "jail/template.h"

#include <sys/stat.h>

#include <fstream>
#include <set>
#include <sstream>

#include "jail/host_files.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"
#include "tests/tiny_files.h"

namespace fs = std::filesystem;

namespace {

constexpr const char* kPrograms[] = {"python/runner.py",          "python/runner.bundle", "python/zygote.py",
                                     "python/warder/__init__.py", "javascript/runner.js", "shell/warder-shell-runner"};

class Made {
 public:
  Made() : guest(directory_.path() / "guest"), produced(directory_.path() / "template") {
    for (const char* file : kPrograms) {
      fs::create_directories((guest / file).parent_path());
      std::ofstream(guest / file) << "pass\n";
    }
    std::ofstream(guest / "tool") << "#!/bin/sh\n";
    fs::permissions(guest / "tool", fs::perms(0700));
  }
  Result<Fd> make() const { return jail::make_template(produced, guest); }
  fs::path root() const { return produced / "root"; }

 private:
  TempDirectory directory_;

 public:
  const fs::path guest, produced;
};

unsigned mode_of(const fs::path& path) {
  struct stat info {};
  REQUIRE(::lstat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

}  // namespace

TEST_CASE("the template can be read by every id and written by its maker only, whatever the umask", "[jail]") {
  Made result;
  mode_t before = ::umask(077);
  auto opened = result.make();
  ::umask(before);
  REQUIRE(opened);
  CHECK(mode_of(result.produced) == 0755);
  for (const auto& entry : fs::recursive_directory_iterator(result.produced)) {
    if (entry.is_symlink()) continue;
    CAPTURE(entry.path().string());
    unsigned mode = mode_of(entry.path());
    const bool is_closed = entry.path().filename() == "shadow" && mode == 0;
    CHECK((mode == 0755 || is_closed || (entry.is_regular_file() && mode == 0644)));
  }
  CHECK(mode_of(result.root() / "warder/tool") == 0755);
  CHECK(mode_of(result.root() / "warder/python/runner.py") == 0644);
}

TEST_CASE("the template has what a root needs: mount points, devices, users, links", "[jail]") {
  Made result;
  REQUIRE(result.make());
  for (const char* name : {"empty", "mount", "root/proc", "root/tmp", "root/mnt", "root/usr", "root/dev/shm",
                           "root/home/agent", "root/skills", "root/servers"}) {
    CAPTURE(name);
    CHECK(fs::is_directory(result.produced / name));
  }
  CHECK(fs::is_empty(result.produced / "empty"));
  for (const char* name : {"null", "zero", "full", "random", "urandom"})
    CHECK(fs::is_regular_file(result.root() / "dev" / name));
  CHECK(fs::symlink_status(result.root() / "workspace").type() == fs::file_type::directory);
  CHECK(fs::read_symlink(result.root() / "bin") == fs::read_symlink("/bin"));
  std::stringstream passwd;
  passwd << std::ifstream(result.root() / "etc/passwd").rdbuf();
  CHECK(passwd.str().find("agent:x:1000:1000:") != std::string::npos);
}

TEST_CASE("the template holds no file of the host that could be a secret, and no set-id file", "[jail]") {
  Made result;
  REQUIRE(result.make());
  const std::set<std::string> existing = {"ImageMagick-6",
                                          "ImageMagick-7",
                                          "alternatives",
                                          "debian_version",
                                          "dictionaries-common",
                                          "fonts",
                                          "ghostscript",
                                          "gnucobol",
                                          "groff",
                                          "group",
                                          "hostname",
                                          "hosts",
                                          "inputrc",
                                          "java-17-openjdk",
                                          "java-21-openjdk",
                                          "chromium.d",
                                          "ld.so.cache",
                                          "locale.alias",
                                          "localtime",
                                          "magic",
                                          "magic.mime",
                                          "matplotlibrc",
                                          "mime.types",
                                          "mtab",
                                          "nsswitch.conf",
                                          "odbcinst.ini",
                                          "os-release",
                                          "papersize",
                                          "passwd",
                                          "perl",
                                          "protocols",
                                          "python3",
                                          "python3.11",
                                          "python3.13",
                                          "resolv.conf",
                                          "services",
                                          "sgml",
                                          "shadow",
                                          "ssl",
                                          "terminfo",
                                          "texmf",
                                          "timezone",
                                          "xml"};
  for (const auto& entry : fs::directory_iterator(result.root() / "etc")) {
    CAPTURE(entry.path().string());
    CHECK(existing.count(entry.path().filename()) == 1);
  }
  CHECK(fs::file_size(result.root() / "etc/shadow") == 0);  // not the host's
  CHECK(fs::status(result.root() / "etc/shadow").permissions() == fs::perms::none);
  std::set<std::string> users;
  std::ifstream passwd(result.root() / "etc/passwd");
  for (std::string line; std::getline(passwd, line);) users.insert(line.substr(0, line.find(':')));
  CHECK(users == std::set<std::string>{"root", "agent", "nobody"});
}

TEST_CASE("of the host's /etc a jail gets what is listed, small, and open to everybody", "[jail]") {
  TempDirectory host;
  const fs::path etc = host.path() / "etc", to = host.path() / "jail";
  for (const char* folder :
       {"fonts/conf.d", "fonts/closed", "ImageMagick-7", "java-21-openjdk/security", "ssl/private"})
    fs::create_directories(etc / folder);
  for (const char* file : {"matplotlibrc", "shadow", "gitconfig", "pip.conf", "fonts/fonts.conf", "fonts/closed/x",
                           "fonts/secret", "ImageMagick-7/policy.xml", "java-21-openjdk/security/java.security",
                           "java-21-openjdk/jmx.password", "ssl/private/key.pem", "ssl/openssl.cnf"})
    std::ofstream(etc / file) << "text";
  std::ofstream(etc / "services") << std::string(5 << 20, 'x');
  fs::create_symlink("/usr/share/fontconfig/x.conf", etc / "fonts/conf.d/x.conf");
  fs::create_symlink(etc / "shadow", etc / "protocols");
  for (const char* file : {"fonts/secret", "java-21-openjdk/jmx.password", "shadow"})
    fs::permissions(etc / file, fs::perms(0640));
  fs::permissions(etc / "fonts/closed", fs::perms(0700));
  jail::copy_host_files(etc, to);
  std::set<std::string> match;
  for (const auto& entry : fs::recursive_directory_iterator(to))
    if (entry.is_symlink() || entry.is_regular_file()) match.insert(entry.path().lexically_relative(to).string());
  CHECK(match == std::set<std::string>{"matplotlibrc", "fonts/fonts.conf", "fonts/conf.d/x.conf", "ssl/openssl.cnf",
                                       "ImageMagick-7/policy.xml", "java-21-openjdk/security/java.security"});
  CHECK(fs::is_symlink(to / "fonts/conf.d/x.conf"));
}

TEST_CASE("a file that only a layer may have is linked to, and never written through the link", "[jail]") {
  TempDirectory host;
  const fs::path etc = host.path() / "etc", to = host.path() / "jail";
  fs::create_directories(etc);
  jail::copy_host_files(etc, to);
  CHECK(fs::read_symlink(to / "matplotlibrc") == "/usr/share/matplotlib/mpl-data/matplotlibrc");
  std::ofstream(host.path() / "victim") << "victim";
  fs::remove(to / "matplotlibrc");
  fs::create_symlink(host.path() / "victim", to / "matplotlibrc");
  std::ofstream(etc / "matplotlibrc") << "text";
  jail::copy_host_files(etc, to);
  CHECK(fs::is_regular_file(fs::symlink_status(to / "matplotlibrc")));
  CHECK(fs::file_size(host.path() / "victim") == 6);
}

TEST_CASE("python is found by its name, and an installer that is missing says why", "[jail]") {
  Made result;
  REQUIRE(result.make());
  CHECK(fs::read_symlink(result.root() / "warder/bin/python") == "/usr/bin/python3");
  CHECK(mode_of(result.root() / "warder/bin/pip") == 0755);
  CHECK(fs::read_symlink(result.root() / "warder/bin/npm") == "pip");
}

TEST_CASE("a template is made anew: nothing of the one before stays", "[jail]") {
  Made result;
  REQUIRE(result.make());
  std::ofstream(result.root() / "etc/planted") << "x";
  std::ofstream(result.root() / "warder/python/runner.py") << "changed";
  REQUIRE(result.make());
  CHECK_FALSE(fs::exists(result.root() / "etc/planted"));
  CHECK(fs::file_size(result.root() / "warder/python/runner.py") == 5);
}

TEST_CASE("what everybody shares is found below /skills, also where its folder is a link", "[jail]") {
  Made result;
  fs::create_directories(result.guest / "shared/csv/scripts");
  std::ofstream(result.guest / "shared/csv/scripts/csv.py") << "pass\n";
  fs::create_directory_symlink(result.guest / "shared", result.guest / "link");
  REQUIRE(jail::make_template(result.produced, result.guest, result.guest / "link"));
  CHECK_FALSE(fs::is_symlink(result.root() / "skills"));
  CHECK(mode_of(result.root() / "skills/csv/scripts/csv.py") == 0644);
  REQUIRE(result.make());
  CHECK(fs::is_empty(result.root() / "skills"));
}

TEST_CASE("a missing guest program is told by path", "[jail]") {
  auto missing = GENERATE(from_range(std::begin(kPrograms), std::end(kPrograms)));
  Made result;
  fs::remove(result.guest / missing);
  auto opened = result.make();
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == Code::unavailable);
  CHECK_THAT(opened.error().what, Catch::Matchers::EndsWith((result.guest / missing).string() + " is missing"));
}

TEST_CASE("a place that cannot be written is told by path", "[jail]") {
  Made result;
  auto opened = jail::make_template("/proc/warder-template", result.guest);
  REQUIRE_FALSE(opened);
  CHECK_THAT(opened.error().what, Catch::Matchers::Contains("/proc/warder-template"));
}

TEST_CASE("a template is never made with a file that could not be written whole", "[jail]") {
  Made result;
  auto opened = [&] {
    const TinyFiles tiny;  // the guest's programs fit, /etc/passwd does not
    return result.make();
  }();
  REQUIRE_FALSE(opened);
  CHECK_THAT(opened.error().what, Catch::Matchers::Contains("etc/passwd"));
}

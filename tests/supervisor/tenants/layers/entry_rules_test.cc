#include "supervisor/tenants/layers/entry_rules.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "supervisor/base/path.h"
#include "tests/catch.h"

namespace fs = std::filesystem;
using layers::check_entry;
using layers::EntryKind;
using layers::LayerEntry;

namespace {

const std::string kPlace = "lib/python3/dist-packages/";

LayerEntry file_at(std::string path, uint32_t mode = 0644) {
  LayerEntry entry;
  entry.path = std::move(path);
  entry.mode = mode;
  return entry;
}
LayerEntry folder_at(std::string path, uint32_t mode = 0755) {
  LayerEntry entry = file_at(std::move(path), mode);
  entry.kind = EntryKind::folder;
  return entry;
}
LayerEntry link_at(std::string path, std::string target) {
  LayerEntry entry = file_at(std::move(path), 0777);
  entry.kind = EntryKind::link;
  entry.target = std::move(target);
  return entry;
}

std::string refusal_of(const LayerEntry& entry) {
  const auto checked = check_entry(entry);
  return checked ? "" : checked.error().what;
}

// A folder that stands in for /usr.
struct HostUsr {
  std::string top = "/tmp/warder-test-usr-XXXXXX";
  HostUsr() { REQUIRE(::mkdtemp(top.data())); }
  ~HostUsr() { fs::remove_all(top); }
  void write(const std::string& path) const {
    fs::create_directories(fs::path(top + "/" + path).parent_path());
    std::ofstream(top + "/" + path) << "x";
  }
  std::string refusal_of(std::vector<LayerEntry> entries) const {
    const Fd usr(::open(top.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto checked = layers::check_against_usr({"", std::move(entries)}, usr.get());
    return checked ? "" : checked.error().what;
  }
};

}  // namespace

TEST_CASE("entries that a layer may have") {
  CHECK(check_entry(folder_at("lib")));
  CHECK(check_entry(file_at(kPlace + "numpy/__init__.py")));
  CHECK(check_entry(file_at("bin/f2py", 0755)));
  CHECK(check_entry(file_at(kPlace + "numpy/__pycache__/a.cpython-311.pyc")));
  CHECK(check_entry(link_at("lib/x86_64-linux-gnu/libblas.so.3", "blas/libblas.so.3")));
  CHECK(check_entry(link_at("share/doc/a", "../../lib/b")));
  CHECK(check_entry(link_at("share/a", "/usr/lib/b")));
  CHECK(check_entry(file_at("share/warder/node_modules/@scope/name/package.json")));
  CHECK(check_entry(file_at(kPlace + "name-1.0.dist-info/METADATA")));
  CHECK(check_entry(file_at(kPlace + "package/warder/servers.py")));
  CHECK(check_entry(file_at(kPlace + "package/x86_64/a.so")));
  CHECK(check_entry(file_at("lib/x86_64-linux-gnu/package/data.zip")));
}

TEST_CASE("hostile names are refused, and named") {
  const std::pair<std::string, const char*> kNames[] = {
      {"../etc/passwd", ".."},
      {"lib/../../etc/passwd", ".."},
      {"lib/..", ".."},
      {"/etc/passwd", "absolute"},
      {"lib//x", "component"},
      {"lib/./x", "component"},
      {".", "component"},
      {"", ""},
      {"etc/ld.so.preload", "no such folder"},
      {"x.py", "no such folder"},
      {"local/lib/python3.11/dist-packages/six.py", "/usr/local"},
      {kPlace + "sitecustomize.py", "every start"},
      {kPlace + "usercustomize.py", "every start"},
      {kPlace + "sitecustomize/__init__.py", "every start"},
      {kPlace + "sitecustomize.cpython-311-x86_64-linux-gnu.so", "every start"},
      {"lib/python3.11/sitecustomize.py", "every start"},
      {kPlace + "evil.pth", "every start"},
      {kPlace + "evil.egg-link", "every start"},
      {"lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v3/libc.so.6", "linker"},
      {"lib/x86_64-linux-gnu/tls/libc.so.6", "linker"},
      {"lib/x86_64-linux-gnu/x86_64/libc.so.6", "linker"},
      {"lib/x86_64-linux-gnu/haswell/libc.so.6", "linker"},
      {"lib/x86_64-linux-gnu/avx512_1", "linker"},
      {"lib/tls/libc.so.6", "linker"},
      {"lib64/haswell/libc.so.6", "linker"},
      {"lib/python311.zip", "before /usr"},
      {"lib/python3.zip/json.py", "before /usr"},
      {"bin/python3._pth", "before /usr"},
      {"bin/pyvenv.cfg", "before /usr"},
      {"lib/pyvenv.cfg", "before /usr"},
      {kPlace + "warder/__init__.py", "Warder's own"},
      {kPlace + "warder.py", "Warder's own"},
      {kPlace + "servers.cpython-311-x86_64-linux-gnu.so", "Warder's own"},
      {"lib/python3.13/skills/__init__.py", "Warder's own"},
      {"lib/.wh.x", ".wh."},
      {"lib/a\nb", ""},
      {"lib/a\x1b[2J", ""},
      {"lib/\xff", ""},
      {"lib/" + std::string(256, 'a'), ""},
      {"lib/" + std::string(1100, '/'), ""},
  };
  for (const auto& [name, why] : kNames) {
    CAPTURE(name);
    const std::string refusal = refusal_of(file_at(name));
    CHECK(!refusal.empty());
    CHECK(refusal.find("is refused") != refusal.npos);
    CHECK(refusal.find(why) != refusal.npos);
  }
  std::string deep = "lib";
  for (size_t i = 0; i < layers::kMaxLayerDepth; i++) deep += "/d";
  CHECK(refusal_of(file_at(deep)).find("nested deeper") != std::string::npos);
}

TEST_CASE("modes that give rights are refused") {
  for (uint32_t mode : {04755u, 02755u, 01644u, 06777u})
    CHECK(refusal_of(file_at("bin/su", mode)).find("set-user-id") != std::string::npos);
  CHECK(!refusal_of(file_at("bin/su", 0777)).empty());
  CHECK(!refusal_of(file_at("bin/su", 0600)).empty());
  CHECK(!refusal_of(folder_at("lib", 0777)).empty());
  CHECK(refusal_of(folder_at("lib", 02755)).find("set-user-id") != std::string::npos);
}

TEST_CASE("links that lead out of /usr are refused") {
  for (const char* target : {"/etc/passwd", "/", "/usr/../etc/passwd", "../../..", "../../../etc/passwd", "/usrx",
                             "x/../../../../etc", "", "a\nb", "/proc/self/root"}) {
    CAPTURE(target);
    CHECK(refusal_of(link_at("lib/a/link", target)).find("link") != std::string::npos);
  }
  CHECK(!refusal_of(link_at("lib/link", std::string(1100, 'a'))).empty());
}

TEST_CASE("modules of paths") {
  CHECK(layers::python_module_of(kPlace + "six.py") == "six");
  CHECK(layers::python_module_of(kPlace + "numpy/core/a.py") == "numpy");
  CHECK(layers::python_module_of(kPlace + "_yaml.cpython-311-x86_64-linux-gnu.so") == "_yaml");
  CHECK(layers::python_module_of("lib/python3.11/lib-dynload/readline.so") == "readline");
  CHECK(layers::python_module_of("lib/python3.11/tkinter/__init__.py") == "tkinter");
  CHECK(layers::python_module_of(kPlace + "name-1.0.dist-info/METADATA").empty());
  CHECK(layers::python_module_of(kPlace + "__pycache__/six.cpython-311.pyc").empty());
  CHECK(layers::python_module_of(kPlace + "__future__.py") == "__future__");
  CHECK(layers::python_module_of(kPlace + "__phello__/__init__.py") == "__phello__");
  CHECK(layers::python_module_of("lib/python3x/dist-packages/six.py").empty());
  CHECK(layers::python_module_of("share/six.py").empty());
  CHECK(layers::node_module_of("share/warder/node_modules/left-pad/index.js") == "left-pad");
  CHECK(layers::node_module_of("share/warder/node_modules/@a/b/index.js") == "@a/b");
  CHECK(layers::node_module_of("share/warder/node_modules/@a").empty());
  CHECK(layers::node_module_of("share/warder/node_modulesx/a").empty());
}

TEST_CASE("a layer shadows nothing of /usr") {
  const HostUsr usr;
  usr.write("bin/python3");
  usr.write("lib/python3/dist-packages/six.py");
  usr.write("lib/python3/dist-packages/numpy/__init__.py");
  usr.write("lib/python3/dist-packages/google/cloud/a.py");
  usr.write("lib/python3.11/json/__init__.py");
  usr.write("lib/python3.11/__future__.py");
  usr.write("lib/python3.11/lib-dynload/readline.so");

  CHECK(usr.refusal_of({folder_at("lib"), folder_at("bin"), file_at("bin/other", 0755), file_at(kPlace + "new.py")}) ==
        "");
  CHECK(usr.refusal_of({file_at("bin/python3", 0755)}).find("'bin/python3' is refused") == 0);
  CHECK(!usr.refusal_of({link_at("bin/python3", "other")}).empty());
  CHECK(!usr.refusal_of({folder_at("bin/python3")}).empty());
  CHECK(!usr.refusal_of({file_at("bin/python3/x")}).empty());
  CHECK(!usr.refusal_of({file_at("bin")}).empty());
  // Python takes an extension module before a source file, and a folder before both.
  CHECK(usr.refusal_of({file_at(kPlace + "six.cpython-311-x86_64-linux-gnu.so")}).find("module six") !=
        std::string::npos);
  CHECK(!usr.refusal_of({file_at(kPlace + "six/__init__.py")}).empty());
  CHECK(!usr.refusal_of({file_at(kPlace + "numpy/evil.py")}).empty());
  CHECK(!usr.refusal_of({file_at(kPlace + "json.py")}).empty());
  CHECK(!usr.refusal_of({file_at("lib/python3.11/numpy.py")}).empty());
  CHECK(!usr.refusal_of({file_at(kPlace + "readline.py")}).empty());
  CHECK(usr.refusal_of({file_at(kPlace + "__future__.py")}).find("module __future__") != std::string::npos);
  // Compiled modules belong to a source of the layer.
  CHECK(usr.refusal_of({file_at(kPlace + "new.py"), file_at(kPlace + "__pycache__/new.cpython-311.pyc"),
                        file_at(kPlace + "__pycache__/new.cpython-311.opt-1.pyc")}) == "");
  for (const char* name : {"six.cpython-311.pyc", "six.cpython-311.opt-2.pyc", "other.cpython-311.pyc"})
    CHECK(usr.refusal_of({file_at(kPlace + "new.py"), file_at(kPlace + "__pycache__/" + name)}).find("source") !=
          std::string::npos);
  CHECK(!usr.refusal_of({link_at(kPlace + "__pycache__/six.cpython-311.pyc", "x")}).empty());
  // Several packages may share a folder without __init__.py.
  CHECK(usr.refusal_of({folder_at(kPlace + "google"), file_at(kPlace + "google/protobuf/a.py")}) == "");
  CHECK(!usr.refusal_of({file_at(kPlace + "google/__init__.py")}).empty());
  CHECK(!usr.refusal_of({file_at(kPlace + "google.py")}).empty());
}

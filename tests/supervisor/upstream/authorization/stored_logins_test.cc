#include "supervisor/upstream/authorization/stored_logins.h"

#include <fcntl.h>

#include <filesystem>
#include <fstream>

#include "supervisor/base/fd.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

namespace fs = std::filesystem;

TEST_CASE("the file of a login names its owner, and other files name none", "[logins]") {
  for (const char* owner : {"", "acme", "uid-1000"})
    CHECK(oauth::login_owner_of(oauth::login_file_of(owner)) == std::string(owner));
  for (const char* file : {"acme.sealed", "tenant-acme", "tenant-acme.sealed.new", ""})
    CHECK_FALSE(oauth::login_owner_of(file));
}

TEST_CASE("a tenant's logins at all servers are erased, and no others", "[logins]") {
  TempDirectory temp;
  const Fd folder(::open(temp.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  CHECK(oauth::erase_logins_of(folder.get(), "acme").value() == 0);  // there is no folder yet
  for (const char* server : {"wiki", "mail"}) {
    fs::create_directories(temp.path() / "logins" / server);
    for (const char* owner : {"", "acme", "other"})
      std::ofstream(temp.path() / "logins" / server / oauth::login_file_of(owner)) << "sealed";
  }
  CHECK(oauth::erase_logins_of(folder.get(), "acme").value() == 2);
  for (const char* server : {"wiki", "mail"}) {
    const auto names =
        oauth::login_names_in(folder.get(), RelativePath::parse(std::string("logins/") + server).value()).value();
    CHECK(names == std::vector<std::string>{"everybody.sealed", "tenant-other.sealed"});
  }
}

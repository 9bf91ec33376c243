#include "jail/host_files.h"

#include <string_view>

namespace jail {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMaxFileBytes = 4 << 20;
constexpr int kMaxFolderFiles = 500;
constexpr int kMaxDepth = 4;  // folders within a folder

// Files and folders with settings of libraries. These are left out, because they may hold passwords although all users
// can read them: pip.conf, npmrc, gitconfig, wgetrc, curlrc, odbc.ini, apt/, R/.
constexpr std::string_view kCopiedNames[] = {
    "ld.so.cache",                    // every program that is linked dynamically
    "localtime",                      // the C library
    "timezone",                       // Java, tzlocal
    "mime.types",                     // Python's mimetypes
    "services",                       // getservbyname(3)
    "protocols",                      // getprotobyname(3)
    "debian_version",                 // programs that ask for the system's version
    "ssl/certs/ca-certificates.crt",  // Python's ssl and requests, curl
    "ssl/openssl.cnf",                // OpenSSL
    "matplotlibrc",                   // Debian's matplotlib does not import without it
    "fonts",                          // fontconfig: where fonts are
    "magic",                          // file(1)
    "magic.mime",                     // file(1)
    "inputrc",                        // readline
    "locale.alias",                   // setlocale(3)
    "terminfo",                       // ncurses
    "papersize",                      // groff, ghostscript
    "groff",                          // groff
    "perl",                           // Net::*
    "xml",                            // libxml2's catalogue of DTDs
    "sgml",                           // the same for SGML
    "texmf",                          // TeX
    "ghostscript",                    // fonts of ghostscript
    "gnucobol",                       // cobc
    "chromium.d/default-flags",       // Debian's chromium does not start without a file there; not its API keys
    "chromium.d/dev-shm",             // chromium: no large files in /dev/shm
    "odbcinst.ini",                   // drivers of databases, without any account
    "dictionaries-common",            // spelling
    "python3/debian_config",          // Debian's Python
    "python3.11/sitecustomize.py",    // Debian 12's
    "python3.13/sitecustomize.py",    // Debian 13's
    "ImageMagick-6",                  // Debian 12's: does not convert without its policy
    "ImageMagick-7",                  // Debian 13's
    "java-17-openjdk",                // Debian 12's: does not start without java.security
    "java-21-openjdk",                // Debian 13's
    "ssl/certs/java/cacerts",         // Java's ssl
};

// Files that a package needs in /etc, and has below /usr, too: where the host does not have the package, a layer of the
// jail may (supervisor/tenants/layers). Without the layer the link leads to no file, as if it were not there.
struct LinkedName {
  std::string_view name;
  const char* target;
};
constexpr LinkedName kLinkedNames[] = {{"matplotlibrc", "/usr/share/matplotlib/mpl-data/matplotlibrc"}};

bool is_open_to_all(const fs::file_status& status, fs::perms needed) {
  return (status.permissions() & needed) == needed;
}

void copy_if_open(const fs::path& from, const fs::path& to) {
  std::error_code missing;
  const fs::file_status status = fs::status(from, missing);
  if (missing || !fs::is_regular_file(status) || !is_open_to_all(status, fs::perms::others_read)) return;
  if (fs::file_size(from, missing) > kMaxFileBytes || missing) return;
  fs::create_directories(to.parent_path());
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
}

void copy_folder(const fs::path& from, const fs::path& to) {
  std::error_code missing;
  int files = 0;
  const auto every = fs::recursive_directory_iterator(from, fs::directory_options::skip_permission_denied);
  for (auto entry = fs::begin(every); entry != fs::end(every); ++entry) {
    const fs::path target = to / entry->path().lexically_relative(from);
    if (entry->is_symlink()) {
      fs::create_directories(target.parent_path());
      if (++files <= kMaxFolderFiles) fs::copy_symlink(entry->path(), target, missing);
    } else if (entry->is_directory()) {
      const bool is_open =
          is_open_to_all(entry->status(), fs::perms::others_read | fs::perms::others_exec) && entry.depth() < kMaxDepth;
      if (!is_open) entry.disable_recursion_pending();
    } else if (++files <= kMaxFolderFiles) {
      copy_if_open(entry->path(), target);
    }
  }
}

}  // namespace

void copy_host_files(const fs::path& etc, const fs::path& to) {
  std::error_code ignored;
  for (const LinkedName& linked : kLinkedNames)  // of an earlier start: a copy would write to the host's file
    if (fs::is_symlink(to / linked.name, ignored)) fs::remove(to / linked.name);
  for (std::string_view name : kCopiedNames) {
    std::error_code missing;
    const fs::file_status status = fs::status(etc / name, missing);
    if (fs::is_directory(status)) {
      if (is_open_to_all(status, fs::perms::others_read | fs::perms::others_exec)) copy_folder(etc / name, to / name);
    } else {
      copy_if_open(etc / name, to / name);
    }
  }
  fs::create_directories(to);
  for (const LinkedName& linked : kLinkedNames)
    if (!fs::exists(to / linked.name, ignored)) fs::create_symlink(linked.target, to / linked.name);
}

}  // namespace jail

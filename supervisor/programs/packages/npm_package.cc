#include "supervisor/programs/packages/npm_package.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/base/tree.h"
#include "supervisor/programs/packages/confined_run.h"
#include "supervisor/programs/packages/tree_copy.h"

namespace packages {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxManifest = 32 << 20;  // bytes of a package.json or package-lock.json

bool is_part_of_name(std::string_view text) {
  return !text.empty() && text.size() <= 128 && text[0] != '.' && text[0] != '-' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == text.npos;
}

bool is_name(std::string_view text) {
  if (!text.starts_with('@')) return is_part_of_name(text);
  const size_t slash = text.find('/');
  return slash != text.npos && is_part_of_name(text.substr(1, slash - 1)) && is_part_of_name(text.substr(slash + 1));
}

bool is_version(std::string_view text) {
  return text.size() <= 64 &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+~^-") == text.npos;
}

// A JSON object below a folder of strangers.
Result<Json> read_object_beneath(const std::string& folder, const std::string& name) {
  TRY(const Fd root, open_directory(folder));
  TRY(const RelativePath path, RelativePath::parse(name));
  TRY(const Fd file, open_regular_beneath(root.get(), path, O_RDONLY));
  TRY(const std::string text, read_complete(file.get(), kMaxManifest));
  auto value = parse_json(text);
  if (!value) return tl::unexpected<Error>(std::move(value).error().within(name));
  if (!value->is_object()) return fail(Code::invalid, name + ": not an object");
  return value;
}

// Takes name, version and integrity, and checks that npm has checked every package.
Result<> read_lock(FetchedPackage& fetched) {
  TRY(const Json lock, read_object_beneath(fetched.root, "package-lock.json"));
  const Json all = lock.value("packages", Json::object());
  if (!all.is_object()) return fail(Code::invalid, "package-lock.json has no packages");
  for (const auto& [path, entry] : all.items()) {
    if (path.empty() || !entry.is_object()) continue;
    fetched.dependencies++;
    const std::string integrity = text_member(entry, "integrity");
    if (!integrity.starts_with("sha512-") && !integrity.starts_with("sha1-") && entry.value("inBundle", Json()) != true)
      return fail(Code::invalid, fmt::format("{} has no hash: it comes from git or from a URL", printable(path, 200)),
                  "install it by hand, and then the folder: warder servers install FOLDER");
    if (path == fetched.package) {
      fetched.integrity = integrity;
      fetched.version = text_member(entry, "version");
    }
  }
  if (fetched.version.empty() || !is_version(fetched.version))
    return fail(Code::invalid, "package-lock.json does not name the version of the package");
  fetched.dependencies--;  // the package itself
  return {};
}

Result<> read_manifest(FetchedPackage& fetched) {
  TRY(const Json manifest, read_object_beneath(fetched.root, fetched.package + "/package.json"));
  fetched.name = text_member(manifest, "name");
  fetched.version = text_member(manifest, "version");
  if (!is_name(fetched.name) || !is_version(fetched.version) || fetched.version.empty())
    return fail(Code::invalid, "package.json has no valid name and version");
  const Json needed = manifest.value("dependencies", Json::object());
  std::error_code missing;
  const bool has_them = fs::is_directory(fetched.root + "/node_modules", missing) ||
                        fs::is_directory(fetched.root + "/" + fetched.package + "/node_modules", missing);
  if (needed.is_object() && !needed.empty() && !has_them)
    return fail(Code::invalid,
                fmt::format("{} needs {} packages that are not in the file", fetched.name, needed.size()),
                "on a machine with network: npm install --ignore-scripts --prefix D PACKAGE; tar czf FILE.tgz -C D .");
  return {};
}

// The program of a package.json: `bin`, else `main`.
std::string program_of(const Json& manifest, const std::string& name) {
  const auto bin = manifest.find("bin");
  if (bin != manifest.end() && bin->is_string()) return bin->get<std::string>();
  if (bin != manifest.end() && bin->is_object() && !bin->empty()) {
    const std::string own = text_member(*bin, name.substr(name.rfind('/') + 1));
    if (!own.empty()) return own;
    if (bin->begin().value().is_string()) return bin->begin().value().get<std::string>();
  }
  return text_member(manifest, "main");
}

std::string first_that_exists(std::initializer_list<const char*> paths) {
  for (const char* path : paths)
    if (::access(path, X_OK) == 0) return path;
  return {};
}

// The interpreter that a program's first line or name asks for. Empty: the program starts by itself.
Result<std::string> interpreter_of(const std::string& first_line, const std::string& name, bool executable) {
  const bool marked = first_line.starts_with("#!");
  const auto asks = [&](const char* word) { return marked && first_line.find(word) != first_line.npos; };
  if (asks("node") || name.ends_with(".js") || name.ends_with(".mjs") || name.ends_with(".cjs")) {
    const std::string node = first_that_exists({"/usr/bin/node", "/usr/local/bin/node"});
    if (node.empty()) return fail(Code::unavailable, "node is missing", "apt install nodejs");
    return node;
  }
  if (asks("python") || name.ends_with(".py")) return std::string("/usr/bin/python3");
  if (executable) return std::string();
  return fail(Code::invalid,
              fmt::format("{} is neither executable nor a program of node or Python", printable(name, 200)),
              "name the program: --run PATH");
}

// Makes the missing folders, readable by all with any umask. Existing folders are not changed.
Result<> make_open_folders(const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error) || folder == folder.parent_path()) return {};
  CHECKED(make_open_folders(folder.parent_path()));
  if (::mkdir(folder.c_str(), 0755) < 0 || ::chmod(folder.c_str(), 0755) < 0)
    return fail_errno(errno, "make the folder " + folder.string(), Code::denied);
  return {};
}

// The nearest parent that exists, without links.
fs::path existing_parent(fs::path folder) {
  std::error_code error;
  while (!fs::exists(folder, error) && folder != folder.parent_path()) folder = folder.parent_path();
  return fs::canonical(folder, error);
}

bool is_below_usr(const fs::path& real) { return (real.string() + "/").starts_with("/usr/"); }

bool is_reachable_below_usr(fs::path folder) {
  struct stat status {};
  for (; folder != "/usr" && folder != folder.parent_path(); folder = folder.parent_path())
    if (::stat(folder.c_str(), &status) < 0 || (status.st_mode & 0005) != 0005) return false;
  return true;
}

}  // namespace

Result<FetchedPackage> scratch_package() {
  FetchedPackage package;
  TRY(package.scratch_, ScratchFolder::make("package"));
  // The outer folder stays root's, so that no other user can replace the tree. run_confined() gives the tree away.
  package.root = package.scratch_.path() + "/tree";
  if (::mkdir(package.root.c_str(), 0700) < 0) return fail_errno(errno, "make " + package.root);
  return package;
}

Result<PackageName> parse_package(std::string_view text) {
  if (text.starts_with("npm:")) text.remove_prefix(4);
  PackageName package;
  const size_t mark = text.find('@', 1);
  package.name = text.substr(0, mark);
  if (mark != text.npos) package.version = text.substr(mark + 1);
  if (!is_name(package.name) || !is_version(package.version) || (mark != text.npos && package.version.empty()))
    return fail(Code::invalid, fmt::format("'{}' is not the name of a package", printable(text, 200)),
                "for example npm:@modelcontextprotocol/server-everything, or npm:NAME@1.2.3");
  return package;
}

Result<FetchedPackage> fetch_package(const PackageName& package, const std::string& registry) {
  if (first_that_exists({"/usr/local/bin/npm", "/usr/bin/npm"}).empty())
    return fail(Code::unavailable, "npm is missing",
                "apt install npm; or fetch the package on another machine, and give the file: --from FILE.tgz");
  TRY(FetchedPackage fetched, scratch_package());
  fetched.name = package.name;
  fetched.package = "node_modules/" + package.name;
  ConfinedRun npm;
  npm.folder = fetched.root;
  npm.network = ConfinedRun::Network::host;
  npm.words = {"npm",
               "install",
               "--ignore-scripts",
               "--no-audit",
               "--no-fund",
               "--no-bin-links",
               "--omit=dev",
               "--package-lock=true",
               "--no-update-notifier",
               "--loglevel=error",
               "--logs-max=0",
               "--cache=" + fetched.root + "/.npm",
               "--prefix=" + fetched.root};
  if (!registry.empty()) npm.words.push_back("--registry=" + registry);
  npm.words.push_back("--");
  npm.words.push_back(package.name + (package.version.empty() ? "" : "@" + package.version));
  for (const char* name : {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
                           "NODE_EXTRA_CA_CERTS", "npm_config_registry", "NPM_CONFIG_REGISTRY"})
    if (const char* value = std::getenv(name)) npm.environment.emplace_back(name, value);
  if (auto done = run_confined(npm); !done) {
    if (done.error().what.find("E404") != std::string::npos)
      return fail(Code::not_found, fmt::format("npm's registry has no package {}", npm.words.back()),
                  "npm view NAME shows what it has");
    return tl::unexpected<Error>(std::move(done).error());
  }
  std::error_code error;
  fs::remove_all(fetched.root + "/.npm", error);
  CHECKED(read_lock(fetched));
  return fetched;
}

Result<FetchedPackage> unpack_package(const std::string& file, const PackageName& package) {
  const Fd input(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!input) return fail_errno(errno, "open " + file, Code::not_found);
  struct stat status {};
  if (::fstat(input.get(), &status) < 0 || !S_ISREG(status.st_mode))
    return fail(Code::invalid, file + ": not a regular file");
  TRY(FetchedPackage fetched, scratch_package());
  ConfinedRun tar;
  tar.folder = fetched.root;
  tar.words = {"tar", "-xzf", "-", "--no-same-owner", "--no-same-permissions", "-C", fetched.root};
  if (auto unpacked = run_confined(tar, input.get()); !unpacked) {
    if (unpacked.error().code == Code::unavailable) unpacked.error().code = Code::invalid;
    return tl::unexpected<Error>(std::move(unpacked).error().within(file));
  }
  std::error_code missing;
  fetched.package = "package";  // of npm pack
  if (!fs::is_directory(fetched.root + "/package", missing)) {
    fetched.package = package.name.empty() ? "." : "node_modules/" + package.name;
    if (!fs::is_directory(fetched.root + "/" + fetched.package, missing))
      return fail(Code::invalid, fmt::format("{} has neither package/ nor {}/", file, fetched.package),
                  "name the package that was installed into it: warder servers install npm:PACKAGE --from FILE.tgz");
  }
  CHECKED(read_manifest(fetched));
  if (!package.name.empty() && fetched.name != package.name)
    return fail(Code::invalid, fmt::format("{} has the package {}, not {}", file, fetched.name, package.name));
  return fetched;
}

Result<FetchedPackage> package_in(const std::string& folder) {
  FetchedPackage package;
  std::error_code error;
  fs::path named = fs::absolute(folder, error).lexically_normal();
  if (!named.has_filename()) named = named.parent_path();  // "server/"
  TRY(package.folder_, open_without_links(named.string(), O_RDONLY | O_DIRECTORY));
  // By the descriptor: another user who owns a parent folder cannot put another folder in its place meanwhile.
  package.root = descriptor_path(package.folder_.get());
  package.package = ".";
  package.name = named.filename();
  package.version = "local";
  if (package.name.empty() || package.name == "/")
    return fail(Code::invalid, fmt::format("{} cannot be copied", folder), "name the folder of one server");
  return package;
}

Result<std::vector<std::string>> start_words(const FetchedPackage& package, const std::string& installed,
                                             const std::string& program) {
  std::string run = program;
  if (run.empty()) {
    const auto manifest = read_object_beneath(package.root, package.package + "/package.json");
    if (manifest) run = program_of(*manifest, package.name);
  }
  if (run.empty())
    return fail(Code::invalid, fmt::format("{} does not say which program to start", package.name),
                "name the program, relative to the package: --run PATH");
  TRY(const RelativePath path, RelativePath::parse(package.package + "/" + run));
  TRY(const Fd root, open_directory(package.root));
  auto file = open_regular_beneath(root.get(), path, O_RDONLY);
  if (!file) return tl::unexpected<Error>(std::move(file).error().within("the program " + printable(run, 200)));
  char begin[128] = {};
  const ssize_t got = ::read(file->get(), begin, sizeof begin - 1);
  if (got < 0) return fail_errno(errno, "read the program " + printable(run, 200));
  std::string first_line(begin, static_cast<size_t>(got));
  first_line.resize(std::min(first_line.find('\n'), first_line.size()));
  struct stat status {};
  if (::fstat(file->get(), &status) < 0) return fail_errno(errno, "fstat");
  TRY(const std::string interpreter, interpreter_of(first_line, path.text(), (status.st_mode & S_IXUSR) != 0));
  std::vector<std::string> words;
  if (!interpreter.empty()) words.push_back(interpreter);
  words.push_back(installed + "/" + path.text());
  return words;
}

InstalledPackage::InstalledPackage(InstalledPackage&& other) noexcept
    : folder_(std::move(other.folder_)),
      former_(std::move(other.former_)),
      copied_(other.copied_),
      is_shared_(other.is_shared_),
      is_saved_(std::exchange(other.is_saved_, true)) {}

InstalledPackage::~InstalledPackage() {
  if (is_saved_) return;
  std::string taken_away = folder_;
  if (!former_.empty()) {
    // If the exchange fails, both packages stay; the older one has a name that begins with a dot.
    if (::renameat2(AT_FDCWD, former_.c_str(), AT_FDCWD, folder_.c_str(), RENAME_EXCHANGE) < 0) return;
    taken_away = former_;
  }
  std::error_code ignored;
  fs::remove_all(taken_away, ignored);
}

void InstalledPackage::keep() {
  std::error_code ignored;
  if (!former_.empty()) fs::remove_all(former_, ignored);
  is_saved_ = true;
}

// A copy in a folder beside the places, which is moved to its place or removed.
class PackageInstallation {
 public:
  PackageInstallation() = default;
  PackageInstallation(const PackageInstallation&) = delete;
  ~PackageInstallation() {
    std::error_code ignored;
    if (!scratch_.empty()) fs::remove_all(scratch_, ignored);
  }

  Result<> copy(const FetchedPackage& package, const fs::path& parent) {
    std::string scratch = (parent / ".installing-XXXXXX").string();
    if (!::mkdtemp(scratch.data())) return fail_errno(errno, "write in " + parent.string(), Code::denied);
    scratch_ = scratch;
    TRY(const Fd from, open_directory(package.root));
    copy_ = Fd(::open(scratch_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!copy_) return fail_errno(errno, "open " + scratch_);
    TRY(tree_, copy_tree(from.get(), copy_.get()));
    if (::fchmod(copy_.get(), 0755) < 0) return fail_errno(errno, "chmod " + scratch_);
    return {};
  }

  // nullopt: another package is there.
  Result<std::optional<InstalledPackage>> put(const InstalledPackagePath& position) {
    InstalledPackage installed;
    installed.folder_ = position.folder;
    installed.copied_ = tree_;
    std::error_code error;
    const bool exists = fs::exists(fs::symlink_status(position.folder, error));
    if (exists) {
      const Fd there(::open(position.folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (there) {
        TRY(installed.is_shared_, is_same_tree(copy_.get(), there.get()));
        if (installed.is_shared_) return std::optional(std::move(installed));
      }
      if (position.other == ExistingPackage::refuse) return std::optional<InstalledPackage>();
    }
    // In one step: jails that start meanwhile find one of both.
    if (::renameat2(AT_FDCWD, scratch_.c_str(), AT_FDCWD, position.folder.c_str(),
                    exists ? RENAME_EXCHANGE : RENAME_NOREPLACE) < 0)
      return fail_errno(errno, (exists ? "replace " : "make ") + position.folder);
    if (exists) installed.former_ = scratch_;
    scratch_.clear();
    installed.is_saved_ = false;
    return std::optional(std::move(installed));
  }

 private:
  std::string scratch_;
  Fd copy_;
  CopiedTree tree_;
};

Result<InstalledPackage> install_package(const FetchedPackage& package,
                                         const std::vector<InstalledPackagePath>& positions) {
  const fs::path target(positions.front().folder);
  std::error_code error;
  if (is_below_usr(existing_parent(target.parent_path()))) CHECKED(make_open_folders(target.parent_path()));
  struct stat usr {
  }, parent{};
  const auto real = fs::canonical(target.parent_path(), error);
  if (error || ::stat("/usr", &usr) < 0 || ::stat(real.c_str(), &parent) < 0 || usr.st_dev != parent.st_dev ||
      !is_below_usr(real))
    return fail(Code::invalid,
                fmt::format("{} is not on the file system of /usr, so jails do not see it", target.string()),
                "name another folder below /usr: --into DIR");
  if (!is_reachable_below_usr(real))
    return fail(Code::invalid, fmt::format("{} is not open to all users, so jails cannot read it", real.string()),
                "chmod 755 the folder, or name another one: --into DIR");
  PackageInstallation installation;
  CHECKED(installation.copy(package, target.parent_path()));
  for (const auto& position : positions) {
    TRY(auto installed, installation.put(position));
    if (installed) return *std::move(installed);
  }
  return fail(Code::invalid, fmt::format("{} exists already, with other files", positions.back().folder),
              "replace it: --replace");
}

}  // namespace packages

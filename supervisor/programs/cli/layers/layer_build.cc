#include "supervisor/programs/cli/layers/layer_build.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "supervisor/base/folder.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/base/text_lines.h"
#include "supervisor/base/tree.h"
#include "supervisor/programs/cli/layers/requirements.h"
#include "supervisor/programs/cli/layers/unpack_script.h"
#include "supervisor/programs/packages/confined_run.h"

namespace admin {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxArchiveBytes = uint64_t{2} << 30;  // of one archive
constexpr size_t kMaxArchives = 1000;
constexpr size_t kMaxRequirementBytes = 1 << 20;
// More than a layer may have, for the archives beside it and npm's cache.
constexpr packages::TreeLimits kWorkLimits{uint64_t{10} << 30, 500'000, 64};
// For apt-get, pip and npm.
constexpr const char* kProxyVariables[] = {
    "HTTP_PROXY",          "HTTPS_PROXY",   "NO_PROXY", "http_proxy",    "https_proxy",         "no_proxy",
    "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "PIP_CERT", "PIP_INDEX_URL", "npm_config_registry", "NPM_CONFIG_REGISTRY"};

packages::ConfinedRun run_in(const std::string& folder, std::vector<std::string> words) {
  packages::ConfinedRun run;
  run.folder = folder;
  run.words = std::move(words);
  run.limit = std::chrono::seconds(1800);
  run.folder_limits = kWorkLimits;
  return run;
}

packages::ConfinedRun fetch_in(const std::string& folder, std::vector<std::string> words) {
  packages::ConfinedRun run = run_in(folder, std::move(words));
  run.network = packages::ConfinedRun::Network::host;
  for (const char* name : kProxyVariables)
    if (const char* value = std::getenv(name)) run.environment.emplace_back(name, value);
  return run;
}

std::string path_of(const Fd& folder) { return descriptor_path(folder.get()); }

bool is_archive_name(const std::string& name) {
  return name.ends_with(".deb") || name.ends_with(".whl") || name.ends_with(".tgz");
}

// apt-get takes a word with a dash as a flag, and one with a slash as a file.
bool is_package_word(const std::string& word) {
  return !word.empty() && word.size() <= 200 && word.front() != '-' &&
         word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.:=~") == word.npos;
}

// The first package in the output of `apt-get --simulate` of which another version is installed. Its line has the
// former version in brackets: "Inst libpython3.11 [3.11.2-6] (3.11.2-6+deb12u6 ...".
std::string upgraded_package(std::string_view output) {
  while (const auto line = take_line(output)) {
    if (!line->starts_with("Inst ")) continue;
    const std::string_view rest = line->substr(5);
    const size_t end = rest.find(' ');
    if (end != rest.npos && rest.substr(end + 1).starts_with('[')) return std::string(rest.substr(0, end));
  }
  return {};
}

Result<std::string> requirements_in(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return fail_errno(errno, "open " + path, errno == ENOENT ? Code::not_found : Code::denied);
  auto text = read_complete(file.get(), kMaxRequirementBytes);
  if (!text) return tl::unexpected<Error>(std::move(text).error().within(path));
  return read_requirements(*text);
}

bool is_index_url(const std::string& text) {
  return (text.starts_with("https://") || text.starts_with("http://")) && text.size() <= 2000 &&
         text.find_first_of(" \t\n") == text.npos;
}

}  // namespace

Result<LayerBuild> LayerBuild::begin() {
  LayerBuild build;
  TRY(build.scratch_, packages::ScratchFolder::make("layer"));
  build.work_ = build.scratch_.path() + "/work";
  build.in_ = build.work_ + "/in";
  CHECKED(build.make_folder(build.work_));
  CHECKED(build.make_folder(build.in_));
  return build;
}

// Only while no process of the other user runs: it could put a link in the place of a folder.
Result<> LayerBuild::make_folder(const std::string& path) const {
  if (::mkdir(path.c_str(), 0755) < 0) return fail_errno(errno, "make " + path);
  if (::chmod(path.c_str(), 0755) < 0) return fail_errno(errno, "chmod " + path);
  if (::lchown(path.c_str(), packages::kFetcherId, packages::kFetcherId) < 0) return fail_errno(errno, "chown " + path);
  return {};
}

// The folder of archives belongs to the other user, and its programs may have put a link in its place: it is opened
// without following links, and root names its files through this descriptor only.
Result<Fd> LayerBuild::archive_folder() const { return open_without_links(in_, O_RDONLY | O_DIRECTORY); }

// Copies a regular file of the administrator, because the confined programs do not see home folders.
Result<> LayerBuild::put(const std::string& path, const std::string& folder, const std::string& name) const {
  const Fd source(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!source) return fail_errno(errno, "open " + path, errno == ENOENT ? Code::not_found : Code::denied);
  struct stat status {};
  if (::fstat(source.get(), &status) < 0) return fail_errno(errno, "look at " + path);
  if (!S_ISREG(status.st_mode)) return fail(Code::invalid, path + ": not a regular file");
  if (static_cast<uint64_t>(status.st_size) > kMaxArchiveBytes)
    return fail(Code::exhausted, fmt::format("{}: more than {} GiB", path, kMaxArchiveBytes >> 30));
  TRY(const RelativePath relative_path, RelativePath::parse(name));
  TRY(const Fd parent, open_without_links(folder, O_RDONLY | O_DIRECTORY));
  auto target = open_beneath(parent.get(), relative_path, O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (!target) return tl::unexpected<Error>(std::move(target).error().within(path));
  if (::fchmod(target->get(), 0644) < 0) return fail_errno(errno, "chmod " + name);
  for (uint64_t remaining = static_cast<uint64_t>(status.st_size); remaining > 0;) {
    const ssize_t sent = ::sendfile(target->get(), source.get(), nullptr, std::min<uint64_t>(remaining, 1 << 30));
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return fail_errno(errno, "copy " + path);
    if (sent == 0) return fail(Code::unavailable, path + ": changed while it was read");
    remaining -= static_cast<uint64_t>(sent);
  }
  return {};
}

Result<> LayerBuild::add_file(const std::string& path) {
  const std::string name = fs::path(path).filename();
  if (!is_archive_name(name)) return fail(Code::invalid, path + ": not a .deb, .whl or .tgz file");
  return put(path, in_, name);
}

Result<> LayerBuild::add_wheels(const std::string& folder) {
  TRY(auto names, read_names(FolderReader::open(folder)));
  std::erase_if(names, [](const std::string& name) { return fs::path(name).extension() != ".whl"; });
  if (names.empty()) return fail(Code::not_found, folder + " has no wheel (.whl)");
  for (const auto& name : names) CHECKED(add_file(fs::path(folder) / name));
  return {};
}

// apt-get resolves the dependencies, and checks the hash of each package that it fetches. It only downloads, and can
// write to this folder alone.
Result<> LayerBuild::add_debs(const std::vector<std::string>& packages) {
  std::vector<std::string> words;
  for (const std::string& word : packages) {
    if (word.ends_with(".deb")) {
      CHECKED(add_file(word));
      named_.push_back(fs::path(word).filename());
    } else if (is_package_word(word)) {
      words.push_back(word);
      named_.push_back(word.substr(0, word.find_first_of("=:")));
    } else {
      return fail(Code::invalid, fmt::format("--deb: '{}' is not the name of a package", printable(word, 100)),
                  "python3-pandas, python3-pandas=1.5.3+dfsg-2 or ./FILE.deb; several with commas between them");
    }
  }
  if (words.empty()) return {};
  TRY(const auto before, archives());
  std::vector<std::string> command = {"apt-get",
                                      "-qq",
                                      "--yes",
                                      "--no-install-recommends",
                                      "-oDebug::NoLocking=1",
                                      "-oAPT::Sandbox::User=",
                                      "-oDir::Cache=" + work_,
                                      "-oDir::Cache::archives=" + in_,
                                      "-oDir::Cache::pkgcache=",
                                      "-oDir::Cache::srcpkgcache=",
                                      "-oDir::Log=" + work_,
                                      "install",
                                      "--"};
  command.insert(command.end(), words.begin(), words.end());
  for (const char* step : {"--simulate", "--download-only"}) {
    command.insert(command.begin() + 1, step);
    auto done = packages::run_confined(fetch_in(work_, command));
    command.erase(command.begin() + 1);
    if (!done) {
      if (done.error().hint.empty()) done.error().hint = "apt-get update; apt-cache policy PACKAGE shows what there is";
      return tl::unexpected<Error>(std::move(done).error());
    }
    const std::string upgraded = upgraded_package(*done);
    if (!upgraded.empty())
      return fail(Code::invalid,
                  fmt::format("--deb: the packages need a newer version of {} than the one of /usr", upgraded),
                  fmt::format("apt-get install --only-upgrade {}; then build the layer", upgraded));
  }
  {
    TRY(const Fd folder, archive_folder());
    std::error_code ignored;
    fs::remove_all(path_of(folder) + "/partial", ignored);
    fs::remove(path_of(folder) + "/lock", ignored);
  }
  TRY(const auto after, archives());
  if (after.size() == before.size())
    return fail(Code::invalid,
                fmt::format("--deb: {} and all that it needs is installed on this machine, and jails have it already",
                            fmt::join(words, ", ")),
                "no layer is needed: policies without `layers` give it to their jails");
  return {};
}

Result<> LayerBuild::add_requirements(const std::string& file, const std::string& index) {
  if (!index.empty() && !is_index_url(index))
    return fail(Code::invalid, fmt::format("--index: '{}' is not a URL", printable(index, 200)),
                "for example https://pypi.org/simple");
  if (::access("/usr/lib/python3/dist-packages/pip", F_OK) < 0)
    return fail(Code::unavailable, "pip is missing",
                "apt install python3-pip; or fetch the wheels elsewhere: --wheels");
  TRY(const std::string lines, requirements_in(file));
  TRY(const auto before, archives());
  {
    TRY(const Fd folder, open_without_links(work_, O_RDONLY | O_DIRECTORY));
    TRY(const RelativePath name, RelativePath::parse("requirements.txt"));
    TRY(const Fd target, open_beneath(folder.get(), name, O_WRONLY | O_CREAT | O_EXCL, 0644));
    if (::fchmod(target.get(), 0644) < 0) return fail_errno(errno, "chmod requirements.txt");
    CHECKED(write_all(target.get(), lines));
  }
  std::vector<std::string> command = {"env",
                                      "PIP_CONFIG_FILE=/dev/null",
                                      "/usr/bin/python3",
                                      "-s",
                                      "-P",
                                      "-m",
                                      "pip",
                                      "download",
                                      "--quiet",
                                      "--no-input",
                                      "--no-cache-dir",
                                      "--disable-pip-version-check",
                                      "--only-binary=:all:",
                                      "--dest=" + in_,
                                      "--requirement=" + work_ + "/requirements.txt"};
  if (!index.empty()) command.push_back("--index-url=" + index);
  CHECKED(packages::run_confined(fetch_in(work_, std::move(command))));
  TRY(const Fd folder, archive_folder());
  TRY(const auto names, read_names(FolderReader::at(folder.get(), in_)));
  for (const std::string& name : names) {
    if (name.ends_with(".whl") || std::find(before.begin(), before.end(), name) != before.end()) continue;
    return fail(Code::invalid, fmt::format("--requirements: pip fetched '{}', which is no wheel", printable(name, 200)),
                "a dependency names it by its URL: fetch its wheel elsewhere, and give it with --wheels");
  }
  return {};
}

Result<> LayerBuild::add_npm(const std::string& file, const std::string& registry) {
  if (file.ends_with(".tgz")) return add_file(file);
  if (fs::path(file).extension() != ".json")
    return fail(Code::invalid, file + ": neither a package.json nor a .tgz file of npm pack");
  if (!registry.empty() && !is_index_url(registry))
    return fail(Code::invalid, fmt::format("--registry: '{}' is not a URL", printable(registry, 200)),
                "for example https://registry.npmjs.org");
  if (::access("/usr/bin/npm", X_OK) < 0 && ::access("/usr/local/bin/npm", X_OK) < 0)
    return fail(Code::unavailable, "npm is missing", "apt install npm; or give the files of npm pack: --npm FILE.tgz");
  const std::string folder = work_ + "/npm";
  CHECKED(make_folder(folder));
  CHECKED(put(file, folder, "package.json"));
  const std::string lock = fs::path(file).replace_filename("package-lock.json");
  const bool has_lock = ::access(lock.c_str(), F_OK) == 0;
  if (has_lock) CHECKED(put(lock, folder, "package-lock.json"));
  std::vector<std::string> command = {"npm",
                                      has_lock ? "ci" : "install",
                                      "--ignore-scripts",
                                      "--no-audit",
                                      "--no-fund",
                                      "--no-bin-links",
                                      "--omit=dev",
                                      "--no-update-notifier",
                                      "--loglevel=error",
                                      "--logs-max=0",
                                      "--cache=" + work_ + "/.npm",
                                      "--prefix=" + folder};
  if (!registry.empty()) command.push_back("--registry=" + registry);
  CHECKED(packages::run_confined(fetch_in(work_, std::move(command))));
  TRY(const Fd from, open_without_links(folder, O_RDONLY | O_DIRECTORY));
  TRY(const Fd to, archive_folder());
  struct stat status {};
  if (::fstatat(from.get(), "node_modules", &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(status.st_mode))
    return fail(Code::invalid, "npm has installed no package");
  if (::renameat(from.get(), "node_modules", to.get(), "node_modules") < 0)
    return fail_errno(errno, "move node_modules", Code::invalid);
  return {};
}

Result<std::vector<std::string>> LayerBuild::archives() const {
  TRY(const Fd folder, archive_folder());
  TRY(auto names, read_names(FolderReader::at(folder.get(), in_)));
  std::erase_if(names, [](const std::string& name) { return !is_archive_name(name) && name != "node_modules"; });
  if (names.size() > kMaxArchives)
    return fail(Code::exhausted, fmt::format("more than {} packages", kMaxArchives), "make several layers");
  return names;
}

Result<LayerBuild::Unpacked> LayerBuild::unpack() const {
  // The hash seed is fixed, because the order of sets is part of compiled modules.
  auto unpacked = packages::run_confined(
      run_in(work_, {"env", "PYTHONHASHSEED=0", "/usr/bin/python3", "-s", "-S", "-P", "-c", kUnpackScript, in_,
                     work_ + "/out", fmt::format("{}", fmt::join(named_, ","))}));
  if (!unpacked) {
    if (unpacked.error().code == Code::unavailable) unpacked.error().code = Code::invalid;
    return tl::unexpected<Error>(std::move(unpacked).error());
  }
  TRY(Fd tree, open_without_links(work_ + "/out", O_RDONLY | O_DIRECTORY));
  return Unpacked{std::move(tree), *std::move(unpacked)};
}

}  // namespace admin

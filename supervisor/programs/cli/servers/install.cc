// `warder servers install`: copies a server's program to a folder that jails see, and adds the server.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "supervisor/base/json/json_value.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/servers/add.h"
#include "supervisor/programs/cli/terminal.h"
#include "supervisor/programs/packages/npm_package.h"

namespace admin {
namespace {

bool is_archive(const std::string& source) { return source.ends_with(".tgz") || source.ends_with(".tar.gz"); }

Result<packages::FetchedPackage> fetched_from(const std::string& source, const ParsedCommand& command) {
  const std::string from = command.value("from", "");
  if (source.starts_with("npm:")) {
    TRY(const packages::PackageName name, packages::parse_package(source));
    if (!from.empty()) return packages::unpack_package(from, name);
    cli::print_text(stderr, fmt::format("npm fetches {} ...\n", name.name));
    return packages::fetch_package(name, command.value("registry", ""));
  }
  if (!from.empty())
    return fail(Code::invalid, "--from: only with npm:PACKAGE",
                "give the file as the source: warder servers install FILE.tgz");
  if (is_archive(source)) return packages::unpack_package(source, {});
  if (source.find('/') == source.npos)
    return fail(Code::invalid, fmt::format("'{}' is no source", source),
                "npm:PACKAGE, a FILE.tgz, or the path of a folder: ./" + source);
  return packages::package_in(source);
}

// "everything" for "@modelcontextprotocol/server-everything".
std::string server_name_of(const std::string& package) {
  std::string name = package.substr(package.rfind('/') + 1);
  for (const char* affix : {"mcp-server-", "server-", "mcp-"})
    if (name.starts_with(affix) && name.size() > std::string_view(affix).size()) {
      name.erase(0, std::string_view(affix).size());
      break;
    }
  for (const char* affix : {"-mcp-server", "-server", "-mcp"})
    if (name.ends_with(affix) && name.size() > std::string_view(affix).size()) {
      name.resize(name.size() - std::string_view(affix).size());
      break;
    }
  for (char& c : name)
    if (c == '.') c = '-';
  return name;
}

// The folder's name: "server-everything@2026.8.31", "@scope+name@1.0.0".
std::string place_name(const packages::FetchedPackage& package) {
  std::string name = package.name;
  if (const size_t slash = name.find('/'); slash != name.npos) name[slash] = '+';
  return name + "@" + package.version;
}

// Whether a server other than `name` has a program below `path`.
bool is_used_by_another(const ServerDropIns& files, const std::string& path, const std::string& name) {
  const auto uses = [&path](const std::string& word) { return word.starts_with(path + "/"); };
  return std::any_of(files.options().servers.begin(), files.options().servers.end(), [&](const auto& server) {
    return server.name != name && std::any_of(server.command.begin(), server.command.end(), uses);
  });
}

// A second server of the same package and version has its program in the same folder, if the files are the same. If
// they are not, it gets another folder, "server-everything@2026.8.31@second": to replace one program must not
// change another server. A version has no '@'.
std::vector<packages::InstalledPackagePath> slots_for(const ServerDropIns& files, const std::string& path,
                                                      const std::string& name, NameConflict on_conflict) {
  const auto own =
      on_conflict == NameConflict::replace ? packages::ExistingPackage::replace : packages::ExistingPackage::refuse;
  if (!is_used_by_another(files, path, name)) return {{path, own}};
  return {{path, packages::ExistingPackage::refuse}, {path + "@" + name, own}};
}

Result<Json> installed_entry(const ParsedCommand& command, const packages::FetchedPackage& package,
                             const std::string& path) {
  TRY(auto words, packages::start_words(package, path, command.value("run", "")));
  words.insert(words.end(), command.words.begin() + 1, command.words.end());
  Json entry = {{"command", words.front()}};
  if (words.size() > 1) entry["args"] = std::vector<std::string>(words.begin() + 1, words.end());
  CHECKED(take_entry_flags(command, entry));
  return entry;
}

// What the copy changed, so that no secret is published and no missing file is a riddle.
void print_copied(const packages::CopiedTree& copied) {
  if (copied.left_out > 0)
    cli::print_text(stderr, fmt::format("{} links and special files were left out\n", copied.left_out));
  if (copied.opened > 0)
    cli::print_text(stderr, fmt::format("{} of the copied files were not readable by all users before; the copies are, "
                                        "so they must hold no secrets\n",
                                        copied.opened));
}

}  // namespace

Result<int> install_server(const ParsedCommand& command) {
  if (::geteuid() != 0)
    return fail(Code::denied, "only root can copy programs below /usr", "sudo warder servers install ...");
  TRY(const packages::FetchedPackage package, fetched_from(command.words.front(), command));
  const std::string name = command.value("name", server_name_of(package.name));
  std::error_code error;
  const std::string into =
      std::filesystem::absolute(command.value("into", kInstalledServers), error).lexically_normal();
  const NameConflict on_conflict = command.has("replace") ? NameConflict::replace : NameConflict::refuse;
  const ServerDropIns files = ServerDropIns::read(command);
  const auto positions = slots_for(files, into + "/" + place_name(package), name, on_conflict);
  // Checked before a file is copied; the folder is not part of a mistake.
  TRY(const Json expected, installed_entry(command, package, positions.front().folder));
  CHECKED(files.check(name, expected, on_conflict));
  CHECKED(check_daemons_files(command, RunningDaemon::find(command), files));
  TRY(packages::InstalledPackage installed, packages::install_package(package, positions));
  TRY(const Json entry, installed_entry(command, package, installed.folder()));
  auto added = add_entry(command, name, entry, on_conflict);
  if (!added) {
    if (installed.replaced()) added.error().what += "; its former program is in " + installed.folder() + " again";
    return tl::unexpected<Error>(std::move(added).error());  // `installed` undoes the copy
  }
  const bool is_new = !installed.is_shared();
  installed.keep();
  if (!command.json)
    cli::print_text(
        stdout, fmt::format("{} {}{}: {} {}, with {} packages that it needs\n", package.name, package.version,
                            package.integrity.empty() ? "" : ", hash checked by npm",
                            is_new ? "copied to" : "the same is already in", installed.folder(), package.dependencies));
  if (is_new) print_copied(installed.copied());
  return report_added(command, *added);
}
const ProgramOfCommand kInstallServer{"servers install", install_server};

}  // namespace admin

// `warder servers install`: copies a server's program to a folder that jails see, and adds the server.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "supervisor/base/json_value.h"
#include "supervisor/cli/servers/add.h"
#include "supervisor/cli/servers/commands.h"
#include "supervisor/cli/terminal.h"
#include "supervisor/packages/npm_package.h"

namespace admin {
namespace {

bool is_archive(const std::string& source) { return source.ends_with(".tgz") || source.ends_with(".tar.gz"); }

Result<packages::FetchedPackage> fetched_from(const std::string& source, const Given& given) {
  const std::string from = given.value("from", "");
  if (source.starts_with("npm:")) {
    TRY(const packages::PackageName name, packages::parse_package(source));
    if (!from.empty()) return packages::unpack_package(from, name);
    cli::print_text(stderr, fmt::format("npm fetches {} ...\n", name.name));
    return packages::fetch_package(name, given.value("registry", ""));
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

Result<Json> installed_entry(const Given& given, const packages::FetchedPackage& package, const std::string& place) {
  TRY(auto words, packages::start_words(package, place, given.value("run", "")));
  words.insert(words.end(), given.words.begin() + 1, given.words.end());
  Json entry = {{"command", words.front()}};
  if (words.size() > 1) entry["args"] = std::vector<std::string>(words.begin() + 1, words.end());
  CHECKED(take_entry_flags(given, entry));
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

Result<int> install_server(const Given& given) {
  if (::geteuid() != 0)
    return fail(Code::denied, "only root can copy programs below /usr", "sudo warder servers install ...");
  TRY(const packages::FetchedPackage package, fetched_from(given.words.front(), given));
  const std::string name = given.value("name", server_name_of(package.name));
  std::error_code error;
  const std::string into = std::filesystem::absolute(given.value("into", kInstalledServers), error).lexically_normal();
  const std::string place = into + "/" + place_name(package);
  TRY(const Json entry, installed_entry(given, package, place));
  const NameTaken taken = given.has("replace") ? NameTaken::replace : NameTaken::refuse;
  CHECKED(ServerDropIns::read(given).check(name, entry, taken));  // before a file is copied
  const bool exists = std::filesystem::exists(place, error);
  TRY(const packages::CopiedTree copied,
      packages::install_package(
          package, place,
          given.has("replace") ? packages::ExistingPackage::replace : packages::ExistingPackage::refuse));
  auto added = add_entry(given, name, entry, taken);
  if (!added) {
    if (!exists) std::filesystem::remove_all(place, error);
    return tl::unexpected<Error>(std::move(added).error());
  }
  if (!given.json)
    cli::print_text(
        stdout, fmt::format("{} {}{}: copied to {}, with {} packages that it needs\n", package.name, package.version,
                            package.integrity.empty() ? "" : ", hash checked by npm", place, package.dependencies));
  print_copied(copied);
  return report_added(given, *added);
}

}  // namespace admin

#include "supervisor/programs/cli/servers/drop_ins.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "policies/merged.h"
#include "supervisor/base/durable.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/json/json_file.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/base/user_lookup.h"
#include "supervisor/daemon/configuration/files_in_force.h"
#include "supervisor/programs/cli/indented_json.h"

namespace admin {
namespace {

constexpr size_t kMaxDropIn = 1 << 20;  // bytes

Result<std::string> read_text_file(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW));
  if (!file) return fail_errno(errno, "open " + path, errno == ENOENT ? Code::not_found : Code::internal);
  return read_complete(file.get(), kMaxDropIn);
}

bool holds_texts(const Json& document, const std::string& name) {
  const Json& entry = document.at("servers").at(name);
  return entry.contains("env") || entry.contains("headers");
}

}  // namespace

// As supervisor/privileges.cc chooses it.
Result<std::optional<gid_t>> daemon_group(const Options& options) {
  if (::geteuid() != 0) return std::nullopt;
  TRY(const auto user, find_system_user(options.user));
  if (user) return user->gid;
  return options.ids.value_or(jail::IdRange{}).daemon();
}

Result<> replace_text_file(const std::string& path, const std::string& text, mode_t mode, std::optional<gid_t> group) {
  const std::filesystem::path full(path);
  // A name that begins with a dot is no drop-in yet.
  std::string temporary = full.parent_path() / ("." + full.filename().string() + ".XXXXXX");
  Fd file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file)
    return fail_errno(errno, "write " + path, errno == EACCES || errno == EROFS ? Code::denied : Code::internal);
  const auto undone = [&temporary, &path](int error, const char* kind) {
    ::unlink(temporary.c_str());
    return fail_errno(error, fmt::format("{} {}", kind, path));
  };
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t part = ::write(file.get(), text.data() + written, text.size() - written);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) return undone(errno, "write");
    written += static_cast<size_t>(part);
  }
  if (group && ::fchown(file.get(), 0, *group) < 0) return undone(errno, "give to the daemon's group:");
  if (::fchmod(file.get(), mode) < 0) return undone(errno, "chmod");
  if (const int error = durable::sync_file(file.get())) return undone(error, "write");
  if (::rename(temporary.c_str(), path.c_str()) < 0) return undone(errno, "write");
  return {};
}

ServerDropIns ServerDropIns::read(const ParsedCommand& command) {
  Flags flags;
  flags.config = command.value("config", "");
  flags.policies = fmt::format("{}", fmt::join(command.values("policies"), ":"));
  ServerDropIns all;
  all.invocation_ = configuration::invocation_of(std::move(flags));
  all.document_ = configuration::ConfigurationDocument::read(all.invocation_, all.notes_.problems);
  all.options_ = configuration::read_options(all.document_, all.invocation_, all.notes_);
  all.main_ = configuration::files_of(all.invocation_, all.options_).main;
  if (!all.main_.empty()) all.folder_ = all.main_ + ".d";
  return all;
}

bool ServerDropIns::has(const std::string& name) const {
  return std::any_of(options_.servers.begin(), options_.servers.end(),
                     [&name](const auto& server) { return server.name == name; });
}

std::string ServerDropIns::file_of(const std::string& name) const { return folder_ + "/50-server-" + name + ".json"; }

Result<upstream::ServerConfig> ServerDropIns::check(const std::string& name, const Json& entry,
                                                    NameConflict on_conflict) const {
  if (folder_.empty())
    return fail(Code::invalid, "this user has no folder for a configuration: HOME is not set", "give --config FILE");
  if (!problems().empty())
    return fail(Code::invalid, fmt::format("the configuration has a mistake already: {}", problems().front()),
                "correct it first; warder config check prints every mistake");
  const Json servers = Json{{name, entry}};
  auto read = upstream::read_servers(servers, "servers");
  if (!read) {
    // The command line has the name, and not the place in a file.
    Error& wrong = read.error();
    if (const std::string path = "servers." + name + ": "; wrong.what.starts_with(path))
      wrong.what = "'" + printable(name, 64) + "': " + wrong.what.substr(path.size());
    return tl::unexpected<Error>(std::move(wrong));
  }
  const Json& before = document_.merged();
  const bool configured = before.contains("servers") && before["servers"].contains(name);
  if (has(name) || configured) {
    const std::string file = document_.file_of("servers." + name);
    if (on_conflict == NameConflict::refuse)
      return fail(Code::invalid, fmt::format("a server is named '{}' already", name),
                  "choose another name, or replace it: --replace");
    if (!configured || file != file_of(name))
      return fail(Code::invalid,
                  fmt::format("the server '{}' is not from this command, but from {}", name,
                              configured ? file : "an import of " + document_.file_of("import")),
                  "change that file, or choose another name");
  }
  Json all = before;
  if (configured) all["servers"].erase(name);
  all = policies::merged(all, Json{{"servers", servers}});
  configuration::Notes notes;
  (void)configuration::read_options(configuration::ConfigurationDocument::of(std::move(all), file_of(name)),
                                    invocation_, notes);
  if (!notes.problems.empty()) return fail(Code::invalid, notes.problems.front());
  return std::move(read->front());
}

Result<> ServerDropIns::write_text(const std::string& name, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return fail_errno(error.value(), "make the folder " + folder_, Code::denied);
  return restore(name, text);
}

Result<std::optional<std::string>> ServerDropIns::write(const std::string& name, const Json& entry) {
  std::optional<std::string> before;
  if (auto text = read_text_file(file_of(name))) {
    before = *std::move(text);
  } else if (text.error().code != Code::not_found) {
    return tl::unexpected<Error>(std::move(text).error());
  }
  auto written = write_text(name, indented_json(Json{{"servers", {{name, entry}}}}));
  if (!written) {
    if (::geteuid() != 0 && invocation_.by_root == false && written.error().hint.empty())
      written.error().hint = "call as root for the machine's daemon";
    return tl::unexpected<Error>(std::move(written).error());
  }
  return before;
}

Result<std::string> ServerDropIns::remove(const std::string& name) {
  const std::string file = file_of(name);
  auto text = read_text_file(file);
  if (!text) {
    if (text.error().code != Code::not_found) return text;
    if (!has(name))
      return fail(Code::not_found, fmt::format("no server is named '{}'", name), "warder servers list shows them");
    return fail(Code::not_found,
                fmt::format("the server '{}' was not added by this command, but by {}", name,
                            document_.file_of("servers." + name)),
                "remove it from that file, then: systemctl reload warder");
  }
  // The file may have more than this server.
  const auto parsed = parse_json_file(*text);
  const std::string by_hand = "correct the file, or delete it: rm " + file + ", then: systemctl reload warder";
  if (!parsed) return fail(Code::internal, file + ": " + parsed.error().what, by_hand);
  const auto servers = parsed->is_object() ? parsed->find("servers") : parsed->end();
  if (servers != parsed->end() && servers->is_object())
    for (const auto& [other, entry] : servers->items())
      if (other != name)
        return fail(Code::denied, fmt::format("{} also has the server '{}'", file, printable(other, 64)), by_hand);
  if (::unlink(file.c_str()) < 0) return fail_errno(errno, "remove " + file, Code::denied);
  return text;
}

Result<> ServerDropIns::restore(const std::string& name, const std::optional<std::string>& text) {
  const std::string file = file_of(name);
  if (!text) {
    if (::unlink(file.c_str()) < 0 && errno != ENOENT) return fail_errno(errno, "remove " + file);
    return {};
  }
  // Variables and headers may be secrets. The daemon's user reads the file at a reload.
  const auto parsed = parse_json_file(*text);
  const bool closed =
      !parsed || !parsed->contains("servers") || !parsed->at("servers").contains(name) || holds_texts(*parsed, name);
  std::optional<gid_t> group;
  if (closed) {
    TRY(group, daemon_group(options_));
  }
  return replace_text_file(file, *text, !closed ? 0644 : group ? 0640 : 0600, group);
}

}  // namespace admin

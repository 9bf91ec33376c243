#include "supervisor/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "policies/store.h"
#include "supervisor/base/fields.h"
#include "supervisor/base/json.h"
#include "supervisor/base/json_value.h"
#include "supervisor/base/version.h"
#include "supervisor/flags.h"

namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Default paths: root serves all users of the machine, an ordinary user only that user (file-hierarchy(7), XDG base
// directories).
Options defaults() {
  Options options;
  bool root = ::geteuid() == 0;
  std::string runtime = environment("XDG_RUNTIME_DIR"), state = environment("XDG_STATE_HOME"),
              home = environment("HOME");
  if (root) {
    options.socket = "/run/warder/mcp.sock";
    options.state = "/var/lib/warder";
  } else {
    if (!runtime.empty()) options.socket = runtime + "/warder/mcp.sock";
    if (state.empty() && !home.empty()) state = home + "/.local/state";
    if (!state.empty()) options.state = state + "/warder";
  }
  std::error_code missing;
  for (const char* folder : {policies::kInstalledFolder, "/etc/warder/policies"}) {
    if (fs::is_directory(folder, missing)) options.policies.push_back(folder);
  }
  return options;
}

Result<journal::Durability> parse_durability(const std::string& name) {
  if (name == "durable") return journal::Durability::durable;
  if (name == "buffered") return journal::Durability::buffered;
  return fail(Code::invalid, fmt::format("--journal {}: is neither durable nor buffered", name));
}

Result<> read_journal(const Json& object, const Fields& file, journal::Settings& settings) {
  Fields fields(object, file.path_of("journal"));
  TRY(std::string durability, fields.one_of("durability", {"durable", "buffered"}, "buffered"));
  TRY(settings.durability, parse_durability(durability));
  TRY(settings.executions_kept, fields.integer_or("executions_kept", 100, 100'000'000, 100'000));
  TRY(settings.audit_kept, fields.integer_or("audit_kept", 100, 1'000'000'000, 1'000'000));
  TRY(settings.audit_kept_bytes,
      fields.integer_or("audit_kept_bytes", 1 << 20, int64_t{1} << 40, static_cast<int64_t>(512) << 20));
  TRY(int64_t days, fields.integer_or("days_kept", 1, 36'500, 90));
  settings.oldest = std::chrono::hours(24 * days);
  return fields.done();
}

Result<> read_servers_of(Fields& in_file, Options& options) {
  if (const auto* servers = in_file.find("servers")) {
    TRY(options.servers, upstream::read_servers(*servers, in_file.path_of("servers")));
  }
  if (const auto* files = in_file.find("import")) {
    TRY(auto imported, upstream::read_imports(*files, in_file.path_of("import"), options.servers_skipped));
    std::move(imported.begin(), imported.end(), std::back_inserter(options.servers));
  }
  return upstream::check_names(options.servers);
}

Result<traces::Collector> read_collector(const std::string& flag, const std::string& named) {
  auto collector = traces::parse_collector(named);
  if (!collector) return tl::unexpected<Error>(std::move(collector).error().within(flag));
  return collector;
}

// "traces": "URL", or {"url", "headers", "authorities"}; "headers" and "authorities" are files.
Result<> read_traces(const Json& value, const Fields& file, Options& options) {
  const std::string path = file.path_of("traces");
  if (value.is_string()) {
    TRY(options.traces, read_collector(path, value.get<std::string>()));
    return {};
  }
  Fields fields(value, path);
  TRY(const std::string url, fields.string("url"));
  TRY(options.traces, read_collector(fields.path_of("url"), url));
  TRY(options.traces->headers_file, fields.string_or("headers", ""));
  TRY(options.traces->authorities, fields.string_or("authorities", ""));
  CHECKED(fields.done());
  return {};
}

Result<> read_file(const std::string& file, Options& options) {
  std::error_code error;
  std::ifstream in(file);
  std::stringstream text;
  if (!fs::is_regular_file(file, error) || !in.is_open())  // a device may have no end
    return fail(Code::invalid, fmt::format("--config {}: cannot be read", file), "name a readable JSON file");
  text << in.rdbuf();
  auto parsed = parse_json(text.str());
  if (!parsed) return tl::unexpected(std::move(parsed).error().within(file));
  Fields in_file(*parsed, file);
  TRY(options.socket, in_file.string_or("socket", options.socket));
  TRY(options.state, in_file.string_or("state", options.state));
  TRY(options.policies, in_file.strings_or("policies", options.policies));
  TRY(options.catalog, in_file.string_or("catalog", options.catalog));
  TRY(options.bus, in_file.string_or("bus", options.bus));
  TRY(options.metrics, in_file.string_or("metrics", options.metrics));
  if (const auto* traces = in_file.find("traces")) CHECKED(read_traces(*traces, in_file, options));
  TRY(options.user, in_file.string_or("user", options.user));
  TRY(std::string level, in_file.one_of("log_level", {"error", "warning", "notice", "info", "debug"}, "info"));
  parse_log_level(level, options.log_level);
  if (const auto* range = in_file.find("id_range")) {
    Fields fields(*range, in_file.path_of("id_range"));
    TRY(int64_t first, fields.integer("first", 65536, 0x7ffe'ffff));
    TRY(int64_t count, fields.integer("count", jail::IdRange::kLeast, 1 << 24));
    CHECKED(fields.done());
    options.ids = jail::IdRange{static_cast<uint32_t>(first), static_cast<uint32_t>(count)};
  }
  if (const auto* journal = in_file.find("journal")) CHECKED(read_journal(*journal, in_file, options.journal));
  CHECKED(read_servers_of(in_file, options));
  return in_file.done();
}

// Finds the files that belong to this warderd: in its build tree, or else in its installation.
void find_programs(Options& options) {
  std::error_code error;
  fs::path top = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  bool built = fs::exists(top / "jail/init/warder-jail-init", error);
  options.jail_init = built ? top / "jail/init/warder-jail-init" : top / "lib/warder/warder-jail-init";
  options.guest = built ? top / "guest" : top / "lib/warder/guest";
  fs::path skills = built ? top / "shared-skills" : top / "lib/warder/skills";
  if (fs::is_directory(skills, error)) options.skills = skills;
  if (!options.catalog.empty()) return;
  fs::path catalog = built ? top / "definitions" : top / "lib/warder/catalog";
  if (fs::is_directory(catalog, error)) options.catalog = catalog;
}

Result<> make_absolute(std::string& path, const char* flag) {
  if (path.empty()) return {};
  std::error_code error;
  auto absolute = fs::absolute(path, error);
  if (error) return fail(Code::invalid, fmt::format("{} {}: {}", flag, path, error.message()));
  path = absolute.lexically_normal();
  return {};
}

template <class T>
Result<T> named(const char* flag, Result<T> result) {
  if (!result) return tl::unexpected<Error>(std::move(result).error().within(flag));
  return result;
}

Result<> check(Options& options) {
  if (options.socket.empty() && environment("LISTEN_FDS").empty())
    return fail(Code::invalid, "no path for the socket: XDG_RUNTIME_DIR is not set", "give --socket PATH");
  if (options.state.empty())
    return fail(Code::invalid, "no state folder: neither XDG_STATE_HOME nor HOME is set", "give --state DIR");
  if (options.policies.empty())
    return fail(Code::invalid, "no policies: neither /usr/lib/warder/policies nor /etc/warder/policies is a folder",
                "give --policies DIR");
  if (options.connections == Options::Connections::kept && environment("NOTIFY_SOCKET").empty())
    return fail(Code::invalid, "--keep-connections: no service manager runs that can store the connections",
                "leave out --keep-connections, or start warderd by its unit");
  CHECKED(make_absolute(options.socket, "--socket"));
  if (is_tcp_address(options.metrics)) {
    TRY(const LoopbackAddress address, named("--metrics", parse_loopback(options.metrics)));
    options.metrics_address = address;
    options.metrics.clear();
  }
  CHECKED(make_absolute(options.metrics, "--metrics"));
  CHECKED(make_absolute(options.state, "--state"));
  CHECKED(make_absolute(options.catalog, "--catalog"));
  for (auto& folder : options.policies) {
    CHECKED(make_absolute(folder, "--policies"));
    std::error_code missing;
    if (!fs::is_directory(folder, missing))
      return fail(Code::invalid, fmt::format("--policies {}: not a folder", folder), "name a folder of policy files");
  }
  std::error_code missing;
  if (!options.catalog.empty() && !fs::is_directory(options.catalog, missing))
    return fail(Code::invalid, fmt::format("--catalog {}: not a folder", options.catalog),
                "name a folder of tool definitions");
  // sockaddr_un(7): 108 bytes with the NUL.
  for (const auto& [flag, path] : {std::pair("--socket", &options.socket), std::pair("--metrics", &options.metrics)})
    if (path->size() > 107)
      return fail(Code::invalid, fmt::format("{} {}: longer than 107 bytes", flag, *path), "choose a shorter path");
  const std::string& bus = options.bus;
  if (bus != "system" && bus != "session" && bus != "off" && bus.find('=') == std::string::npos)
    return fail(Code::invalid, fmt::format("--bus {}: not system, session, off or an address", bus),
                "an address looks like unix:path=/run/bus");
  return {};
}

// Flags win over the configuration file.
Result<> take_flags(const Flags& flags, Options& options) {
  if (!flags.socket.empty()) options.socket = flags.socket;
  if (!flags.state.empty()) options.state = flags.state;
  if (!flags.policies.empty()) options.policies = {flags.policies};
  if (!flags.catalog.empty()) options.catalog = flags.catalog;
  if (!flags.bus.empty()) options.bus = flags.bus;
  if (!flags.metrics.empty()) options.metrics = flags.metrics;
  if (!flags.traces.empty()) {
    TRY(options.traces, read_collector("--traces", flags.traces));
  }
  if (!flags.journal.empty()) {
    TRY(options.journal.durability, parse_durability(flags.journal));
  }
  if (flags.keep_connections) options.connections = Options::Connections::kept;
  if (!flags.log_level.empty() && !parse_log_level(flags.log_level, options.log_level))
    return fail(Code::invalid,
                fmt::format("--log-level {}: not error, warning, notice, info or debug", flags.log_level));
  return {};
}

}  // namespace

Result<std::optional<Options>> parse_options(int argc, char** argv) {
  Options options = defaults();
  Flags flags;
  CLI::App app{kDaemonDescription, "warderd"};
  app.set_version_flag("--version", std::string("warderd ") + kWarderVersion);
  declare_flags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    app.exit(e);
    return std::optional<Options>{};
  } catch (const CLI::ParseError& e) {
    return fail(Code::invalid, e.what(), "see warderd --help");
  }
  if (!flags.config.empty()) CHECKED(read_file(flags.config, options));
  CHECKED(take_flags(flags, options));
  find_programs(options);
  CHECKED(check(options));
  return std::optional<Options>(std::move(options));
}

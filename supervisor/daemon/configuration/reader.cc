#include "supervisor/daemon/configuration/reader.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "policies/store.h"
#include "supervisor/base/environment.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/loopback.h"
#include "supervisor/base/tcp_address.h"

namespace configuration {
namespace {

namespace fs = std::filesystem;

constexpr char kCatalogFolder[] = "/etc/warder/catalog";  // read if it exists and no other folder is named

// Finds the files that belong to this warderd: in its build tree, or else in its installation.
void find_programs(const Invocation& invocation, Options& options) {
  std::error_code error;
  const fs::path top = invocation.programs;
  const bool built = fs::exists(top / "jail/init/warder-jail-init", error);
  options.jail_init = built ? top / "jail/init/warder-jail-init" : top / "lib/warder/warder-jail-init";
  options.jailer = built ? top / "jail/jailer/warder-jailer" : top / "lib/warder/warder-jailer";
  options.guest = built ? top / "guest" : top / "lib/warder/guest";
  fs::path skills = built ? top / "shared-skills" : top / "lib/warder/skills";
  if (fs::is_directory(skills, error)) options.skills = skills;
  if (options.catalog.empty() && fs::is_directory(kCatalogFolder, error)) options.catalog = kCatalogFolder;
}

Result<journal::Durability> parse_durability(const std::string& name) {
  if (name == "durable") return journal::Durability::durable;
  if (name == "buffered") return journal::Durability::buffered;
  return fail(Code::invalid, "neither durable nor buffered");
}

// OptionsReader: reads each key of the document into `options`. A key with a problem does not change them.
class OptionsReader {
 public:
  OptionsReader(const ConfigurationDocument& document, const Invocation& invocation, Options& options, Notes& notes)
      : document_(document), invocation_(invocation), options_(options), notes_(notes), in_(document.merged(), "") {}

  void read() {
    (void)in_.find("$schema");
    path("socket", options_.socket, check_own_socket);
    metrics();
    path("egress_socket", options_.egress_socket, check_socket_path);
    take(cluster());
    path("state", options_.state, check_absolute);
    path("catalog", options_.catalog);
    policies();
    text("bus", options_.bus, check_bus);
    text("user", options_.user);
    take(http());
    take(tokens());
    take(jwt());
    take(traces());
    take(log_level());
    take(id_range());
    take(journal());
    take(tasks());
    servers();
    imports();
    take(in_.done());
  }

 private:
  using Check = Result<>(const std::string& value);

  static Result<> check_path_text(const std::string& path) {
    if (path.starts_with('~'))
      return fail(Code::invalid, "~ stands for no folder in this file", "write the path from / on");
    return {};
  }
  static Result<> check_own_socket(const std::string& path) {
    if (path.empty()) return fail(Code::invalid, "empty", "leave out the key, or name a path");
    return check_socket_path(path);
  }
  static Result<> check_absolute(const std::string& path) {
    CHECKED(check_path_text(path));
    if (path.starts_with('/')) return {};
    return fail(Code::invalid, "not an absolute path", "write it from / on, for example /var/lib/warder");
  }

  // "journal.days_kept: 0 is outside 1..36500" begins with its key.
  void wrong(const Error& error) {
    const std::string key = error.what.substr(0, error.what.find_first_of(":["));
    notes_.problems.push_back(document_.file_of(key) + ": " + error.what +
                              (error.hint.empty() ? "" : " (" + error.hint + ")"));
  }
  void take(const Result<>& result) {
    if (!result) wrong(result.error());
  }
  void wrong_value(const char* key, const std::string& value, Error error) {
    wrong(std::move(error).within(fmt::format("{}: {}", key, value)));
  }

  void text(const char* key, std::string& into, Check* check = nullptr) {
    const auto value = in_.string_or(key, into);
    if (!value) return wrong(value.error());
    if (check && in_.has(key)) {
      auto fits = check(*value);
      if (!fits) return wrong_value(key, *value, std::move(fits).error());
    }
    into = *value;
  }
  void path(const char* key, std::string& into, Check* check = check_path_text) {
    text(key, into, check);
    into = absolute_path(into, invocation_);
  }

  void metrics() {
    text("metrics", options_.metrics, check_metrics);
    if (!is_tcp_address(options_.metrics)) options_.metrics = absolute_path(options_.metrics, invocation_);
  }

  void policies() {
    auto folders = in_.strings_or("policies", options_.policies);
    if (!folders) return wrong(folders.error());
    for (size_t i = 0; i < folders->size(); i++) {
      std::string& folder = (*folders)[i];
      folder = absolute_path(folder, invocation_);
      std::error_code missing;
      if (in_.has("policies") && !fs::is_directory(folder, missing))
        wrong({Code::invalid,
               0,
               fmt::format("policies[{}]: {}: not a folder", i, folder),
               "name a folder of policy files",
               {}});
    }
    if (folders->empty() && in_.has("policies"))
      return wrong({Code::invalid, 0, "policies: no folder is named", "leave out the key, or name a folder", {}});
    options_.policies = *std::move(folders);
  }

  // "http": {"listen", "public", "hosts", "origins"}.
  Result<> http() {
    const auto* object = in_.find("http");
    if (!object) return {};
    HttpOptions http;
    Fields fields(*object, "http");
    TRY(http.is_public, fields.boolean_or("public", false));
    TRY(http.listen, fields.strings_or("listen", {}));
    TRY(http.hosts, fields.strings_or("hosts", {}));
    TRY(http.origins, fields.strings_or("origins", {}));
    CHECKED(fields.done());
    for (size_t i = 0; i < http.listen.size(); i++) {
      auto fits = check_http_address(http.listen[i], http.is_public);
      if (!fits) return tl::unexpected<Error>(std::move(fits).error().within(fmt::format("http.listen[{}]", i)));
    }
    options_.http = std::move(http);
    return {};
  }

  // "cluster": {"socket", "listen", "user", "trust"}.
  Result<> cluster() {
    const auto* object = in_.find("cluster");
    if (!object) return {};
    ClusterOptions cluster;
    Fields fields(*object, "cluster");
    TRY(cluster.socket, fields.string_or("socket", "/run/warder-node/node.sock"));
    TRY(cluster.listen, fields.string_or("listen", "/run/warder/node.sock"));
    TRY(cluster.user, fields.string_or("user", invocation_.by_root ? "warder-node" : "", 64));
    TRY(cluster.trust, fields.string_or("trust", "/etc/warder/cluster/trust.record"));
    cluster.trust = absolute_path(cluster.trust, invocation_);
    CHECKED(fields.done());
    for (auto& [key, path] : {std::pair{"socket", &cluster.socket}, std::pair{"listen", &cluster.listen}}) {
      auto fits = check_socket_path(*path);
      if (!fits) return tl::unexpected<Error>(std::move(fits).error().within(fmt::format("cluster.{}", key)));
      *path = absolute_path(*path, invocation_);
    }
    options_.cluster = std::move(cluster);
    return {};
  }

  // "tokens": {"NAME": {"hash", "created", "expires", "tenant", "policy"}}.
  Result<> tokens() {
    const auto* entries = in_.find("tokens");
    if (!entries) return {};
    TRY(options_.tokens, credentials::read_tokens(*entries, "tokens"));
    return {};
  }

  // "jwt": {"issuer", "audience", "jwks", "tenant_claim"}. The file jwks belongs to a timer, and may be broken at
  // times: then no JWT is good, and all else works.
  Result<> jwt() {
    const auto* object = in_.find("jwt");
    if (!object) return {};
    credentials::JwtSettings jwt;
    Fields fields(*object, "jwt");
    TRY(jwt.issuer, fields.string("issuer", 256));
    TRY(jwt.audience, fields.string("audience", 1024));
    TRY(const std::string jwks, fields.string("jwks"));
    TRY(jwt.tenant_claim, fields.string_or("tenant_claim", "", 64));
    CHECKED(fields.done());
    for (const auto& [key, value] : {std::pair{"issuer", &jwt.issuer}, std::pair{"audience", &jwt.audience}})
      if (!credentials::is_resource_url(*value))
        return fail(Code::invalid, fmt::format("jwt.{}: '{}' is not an https URL without query", key, *value),
                    "write it as the identity provider has it, for example https://warder.example/mcp");
    jwt.jwks = absolute_path(jwks, invocation_);
    auto keys = credentials::read_jwks_file(jwt.jwks);
    if (keys) {
      jwt.keys = *std::move(keys);
    } else {
      notes_.warnings.push_back(fmt::format("{}: jwt.jwks: {}; no JWT is good until a reload reads the file",
                                            document_.file_of("jwt"), keys.error().what));
    }
    options_.jwt = std::move(jwt);
    return {};
  }

  // "traces": "URL", or {"url", "headers", "authorities"}; "headers" and "authorities" are files.
  Result<> traces() {
    const auto* value = in_.find("traces");
    if (!value) return {};
    std::string url, headers, authorities, key = "traces";
    if (value->is_string()) {
      url = value->get<std::string>();
    } else {
      Fields fields(*value, "traces");
      key = "traces.url";
      TRY(url, fields.string("url"));
      TRY(headers, fields.string_or("headers", ""));
      TRY(authorities, fields.string_or("authorities", ""));
      CHECKED(fields.done());
    }
    auto collector = spans::parse_collector(url);
    if (!collector) return tl::unexpected<Error>(std::move(collector).error().within(key));
    collector->headers_file = absolute_path(headers, invocation_);
    collector->authorities = absolute_path(authorities, invocation_);
    options_.traces = *std::move(collector);
    return {};
  }

  Result<> log_level() {
    TRY(const std::string level, in_.one_of("log_level", {"error", "warning", "notice", "info", "debug"}, "info"));
    parse_log_level(level, options_.log_level);
    return {};
  }

  Result<> id_range() {
    const auto* range = in_.find("id_range");
    if (!range) return {};
    Fields fields(*range, "id_range");
    TRY(const int64_t first, fields.integer("first", 65536, 0x7ffe'ffff));
    TRY(const int64_t count, fields.integer("count", jail::IdRange::kMin, 1 << 24));
    CHECKED(fields.done());
    options_.ids = jail::IdRange{static_cast<uint32_t>(first), static_cast<uint32_t>(count)};
    return {};
  }

  Result<> journal() {
    const auto* object = in_.find("journal");
    if (!object) return {};
    journal::Settings settings;
    Fields fields(*object, "journal");
    TRY(const std::string durability, fields.one_of("durability", {"durable", "buffered"}, "buffered"));
    TRY(settings.durability, parse_durability(durability));
    TRY(settings.executions_kept, fields.integer_or("executions_kept", 100, 100'000'000, 100'000));
    TRY(settings.audit_kept, fields.integer_or("audit_kept", 100, 1'000'000'000, 1'000'000));
    TRY(settings.audit_kept_bytes,
        fields.integer_or("audit_kept_bytes", 1 << 20, int64_t{1} << 40, static_cast<int64_t>(512) << 20));
    TRY(const int64_t days, fields.integer_or("days_kept", 1, 36'500, 90));
    settings.oldest = std::chrono::hours(24 * days);
    CHECKED(fields.done());
    options_.journal = settings;
    return {};
  }

  Result<> tasks() {
    const auto* object = in_.find("tasks");
    if (!object) return {};
    Fields fields(*object, "tasks");
    TRY(const int64_t after_ms, fields.integer_or("promote_after_ms", 1, 86'400'000, 15'000));
    CHECKED(fields.done());
    options_.promote_after = std::chrono::milliseconds(after_ms);
    return {};
  }

  // Each server is read alone, so that every one with a problem is named.
  void servers() {
    const auto* all = in_.find("servers");
    if (!all) return;
    if (!all->is_object()) return take(as_void(upstream::read_servers(*all, "servers")));
    for (const auto& [name, entry] : all->items()) {
      auto server = upstream::read_servers(Json{{name, entry}}, "servers");
      if (!server) {
        wrong(server.error());
      } else {
        options_.servers.push_back(server->front());
      }
    }
    auto fit = upstream::check_names(options_.servers);
    if (!fit) wrong(std::move(fit).error().within("servers"));
  }

  // A client's file belongs to another program, which may remove it or write an entry that Warder cannot use. Neither
  // may end the service: the entry is skipped.
  void imports() {
    const auto* files = in_.find("import");
    if (!files) return;
    upstream::ImportNotes read;
    auto imported = upstream::read_imports(*files, "import", read);
    notes_.unreadable_imports = std::move(read.unreadable);
    for (const auto& entry : read.skipped) notes_.warnings.push_back(document_.file_of("import") + ": " + entry);
    if (!imported) return wrong(imported.error());
    for (auto& server : *imported) {
      options_.servers.push_back(std::move(server));
      const auto fit = upstream::check_names(options_.servers);
      if (fit) continue;
      notes_.warnings.push_back(fmt::format("{}: import: server '{}' is skipped: {}", document_.file_of("import"),
                                            options_.servers.back().name, fit.error().what));
      options_.servers.pop_back();
    }
  }

  template <class T>
  static Result<> as_void(Result<T> result) {
    if (!result) return tl::unexpected<Error>(std::move(result).error());
    return {};
  }

  const ConfigurationDocument& document_;
  const Invocation& invocation_;
  Options& options_;
  Notes& notes_;
  Fields in_;
};

// The policies that a cluster's authority has signed, as the daemon stores them (supervisor/cluster/link/rule_files.h):
// behind the installed ones, before this machine's own. Users who may not read the daemon's folder do without.
void add_cluster_policies(Options& options) {
  if (options.cluster.socket.empty() || options.state.empty()) return;
  const std::string folder = options.state + "/cluster/policies";
  std::error_code error;
  if (!fs::is_directory(folder, error) && error == std::errc::permission_denied) return;
  const auto installed = std::find(options.policies.begin(), options.policies.end(), policies::kInstalledFolder);
  const auto behind = installed == options.policies.end() ? options.policies.begin() : std::next(installed);
  options.policies.insert(behind, folder);
}

// Flags were checked when the command line was read.
void take_flags(const Flags& flags, Options& options) {
  if (!flags.socket.empty()) options.socket = flags.socket;
  if (!flags.state.empty()) options.state = flags.state;
  if (!flags.policies.empty()) options.policies = folders_in(flags.policies);
  if (!flags.catalog.empty()) options.catalog = flags.catalog;
  if (!flags.bus.empty()) options.bus = flags.bus;
  if (!flags.metrics.empty()) options.metrics = flags.metrics;
  if (!flags.http.empty()) options.http.listen = flags.http;
  if (!flags.traces.empty())
    if (auto collector = spans::parse_collector(flags.traces)) options.traces = *std::move(collector);
  if (!flags.journal.empty())
    if (auto durability = parse_durability(flags.journal)) options.journal.durability = *durability;
  if (flags.keep_connections) options.connections = Options::Connections::saved;
  if (!flags.log_level.empty()) parse_log_level(flags.log_level, options.log_level);
}

}  // namespace

Result<> check_bus(const std::string& bus) {
  if (bus == "system" || bus == "session" || bus == "off" || bus.find('=') != std::string::npos) return {};
  return fail(Code::invalid, "not system, session, off or an address", "an address looks like unix:path=/run/bus");
}

Result<> check_socket_path(const std::string& path) {
  if (path.starts_with('~')) return fail(Code::invalid, "~ stands for no folder here", "write the path from / on");
  // sockaddr_un(7): 108 bytes with the NUL.
  if (path.size() > 107) return fail(Code::invalid, "longer than 107 bytes", "choose a shorter path");
  return {};
}

Result<> check_metrics(const std::string& path) {
  if (!is_tcp_address(path)) return check_socket_path(path);
  auto address = parse_loopback(path);
  if (!address) return tl::unexpected<Error>(std::move(address).error());
  return {};
}

Result<> check_http_address(const std::string& address, bool is_public) {
  TRY(const TcpAddress parsed, parse_tcp_address(address));
  if (parsed.is_loopback || is_public) return {};
  return fail(Code::invalid, fmt::format("'{}' can be reached from other machines", address),
              "write 127.0.0.1:PORT, with a proxy for TLS before it; or \"public\": true beside it");
}

Result<> check_log_level(const std::string& level) {
  LogLevel parsed = LogLevel::info;
  if (parse_log_level(level, parsed)) return {};
  return fail(Code::invalid, "not error, warning, notice, info or debug");
}

Result<> check_durability(const std::string& durability) {
  CHECKED(parse_durability(durability));
  return {};
}

// Root serves all users of the machine, an ordinary user only that user.
Options default_options(const Invocation& invocation) {
  Options options;
  std::string runtime = environment("XDG_RUNTIME_DIR"), state = environment("XDG_STATE_HOME"),
              home = environment("HOME");
  if (invocation.by_root) {
    options.socket = "/run/warder/mcp.sock";
    options.egress_socket = "/run/warder-egress/egress.sock";
    options.state = "/var/lib/warder";
  } else {
    if (!runtime.empty()) options.socket = runtime + "/warder/mcp.sock";
    if (state.empty() && !home.empty()) state = home + "/.local/state";
    if (!state.empty()) options.state = state + "/warder";
  }
  for (const char* folder : {policies::kInstalledFolder, "/etc/warder/policies"}) {
    if (may_be_folder(folder)) options.policies.push_back(folder);
  }
  return options;
}

Options read_options(const ConfigurationDocument& document, const Invocation& invocation, Notes& notes) {
  Options options = default_options(invocation);
  OptionsReader(document, invocation, options, notes).read();
  take_flags(invocation.flags, options);
  add_cluster_policies(options);
  find_programs(invocation, options);
  // The daemon serves without a catalog, so a missing folder is no reason to refuse the rest.
  std::error_code missing;
  if (!options.catalog.empty() && !fs::is_directory(options.catalog, missing))
    notes.warnings.push_back(fmt::format("{}: catalog: {}: not a folder; no tool definitions are read",
                                         document.file_of("catalog"), options.catalog));
  return options;
}

}  // namespace configuration

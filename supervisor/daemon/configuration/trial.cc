#include "supervisor/daemon/configuration/trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "supervisor/base/loopback.h"
#include "supervisor/base/only_loopback.h"
#include "supervisor/base/tcp_address.h"
#include "supervisor/base/user_lookup.h"
#include "supervisor/daemon/configuration/unit_sandbox.h"
#include "supervisor/daemon_identity.h"

namespace configuration {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kFirstOrdinaryPort = 1024;
constexpr char kHttpSocket[] =
    "leave out http.listen; then: systemctl enable warder-http.socket, and systemctl restart warder: clients stay "
    "connected, and 127.0.0.1:9470 is served";
constexpr char kMetricsSocket[] =
    "leave out metrics: warder-metrics.socket serves /run/warder/metrics.sock; for TCP, "
    "/usr/share/doc/warder/examples/monitoring has a socket unit";

// File systems with folders of the kernel.
bool is_virtual(const std::string& folder) {
  struct statfs status {};
  if (::statfs(folder.c_str(), &status) != 0) return false;
  const auto type = static_cast<unsigned long>(status.f_type);
  return type == PROC_SUPER_MAGIC || type == SYSFS_MAGIC || type == CGROUP_SUPER_MAGIC || type == CGROUP2_SUPER_MAGIC;
}

tl::unexpected<Error> fail_read_only(const std::string& existing, const std::string& folder) {
  return fail(
      Code::invalid, existing + " is read-only for the service",
      fmt::format("make the folder, owned by root; then: systemctl edit warder.service, [Service], ReadWritePaths={}",
                  folder));
}

// What keeps the unit from writing to the folder, and how that changes.
Result<> check_path_rule(const UnitSandbox& sandbox, const std::string& folder, const std::string& existing) {
  const PathRule* const rule = rule_for(sandbox.paths, folder);
  if (!rule || rule->access == PathRule::Access::read_write) return {};
  if (rule->access == PathRule::Access::hidden)
    return fail(Code::invalid,
                fmt::format("{} is hidden from the service, because {} of its unit hides {}", folder, rule->setting,
                            rule->path),
                "name another folder; or: systemctl edit warder.service, and change that setting");
  if (!is_rule_of(*rule, folder)) return fail_read_only(existing, folder);
  return fail(Code::invalid, existing + " is read-only for the service",
              rule->setting == "ReadOnlyPaths="
                  ? fmt::format("systemctl edit warder.service, and take {} out of ReadOnlyPaths=", rule->path)
                  : fmt::format("name a folder below it; {} of the unit closes {}", rule->setting, rule->path));
}

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  return address;
}

bool is_served_path(const std::string& path) {
  const sockaddr_un address = unix_address(path);
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  return socket && (::connect(socket.get(), where, sizeof address) == 0 || errno == EAGAIN);
}

uint16_t port_of(const TcpAddress& address) {
  return ntohs(address.address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address.address).sin6_port
                                                     : reinterpret_cast<const sockaddr_in&>(address.address).sin_port);
}

// 0.0.0.0 and [::], which take the port at every address.
bool is_any(const TcpAddress& address) {
  if (address.address.ss_family == AF_INET6)
    return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(address.address).sin6_addr);
  return reinterpret_cast<const sockaddr_in&>(address.address).sin_addr.s_addr == htonl(INADDR_ANY);
}

bool is_same_host(const TcpAddress& a, const TcpAddress& b) {
  return a.size == b.size && std::memcmp(&a.address, &b.address, a.size) == 0;
}

struct NamedAddress {
  std::string key;  // "http.listen[0]"
  TcpAddress address;
};

class Trial {
 public:
  Trial(LoadedConfiguration& loaded, const Invocation& invocation, const StartView& view)
      : loaded_(loaded), options_(loaded.options), flags_(invocation.flags), invocation_(invocation), view_(view) {}

  void run() {
    try_ids();
    try_user();
    try_state();
    try_socket();
    try_addresses();
    try_metrics_path();
    try_cluster();
    warn_of_unused_keys();
  }

 private:
  bool starts_as_root() const { return invocation_.by_root; }
  // Whether this process has the rights that the start has.
  bool is_starter() const { return !starts_as_root() || ::geteuid() == 0; }
  bool is_named(const char* key) const { return loaded_.document.merged().contains(key); }

  void problem(const std::string& key, const Error& error) {
    loaded_.notes.problems.push_back(text_of_start(loaded_.document, flags_, key, error));
  }
  void shortfall(const std::string& key, const Error& error) {
    loaded_.notes.shortfalls.push_back({key, text_of_start(loaded_.document, flags_, key, error)});
  }
  static Error wrong(std::string subject, std::string remedy) {
    return {Code::invalid, 0, std::move(subject), std::move(remedy), {}};
  }

  // The ids must exist in this process's user namespace, user_namespaces(7).
  void try_ids() {
    if (!starts_as_root() || !is_starter()) return;
    const jail::IdRange ids = options_.ids.value_or(jail::IdRange{});
    for (const char* file : {"/proc/self/uid_map", "/proc/self/gid_map"}) {
      std::ifstream map(file);
      bool is_mapped = !map;
      uint64_t inside = 0, outside = 0, count = 0;
      while (map >> inside >> outside >> count)
        is_mapped |= inside <= ids.first && uint64_t{ids.first} + ids.count <= inside + count;
      if (is_mapped) continue;
      problem("id_range", wrong(fmt::format("the ids {} to {} do not exist in this user namespace ({})", ids.first,
                                            ids.daemon(), file),
                                "choose ids of that file"));
      options_.ids.reset();
      return;
    }
  }

  // Another user than that of the last start could not open the records. Where the user does not exist, its id is the
  // last one of the jails' range.
  bool owns_records(uid_t uid) {
    struct stat journal {};
    if (::stat((options_.state + "/journal/journal.db").c_str(), &journal) != 0 || journal.st_uid == uid) return true;
    problem(is_named("id_range") && !is_named("user") ? "id_range" : "user",
            wrong(fmt::format("the daemon would be user {}, and the records in {} belong to user {}", uid,
                              options_.state, journal.st_uid),
                  "name that user, or stop the service and give the user's files to the other one"));
    options_.ids.reset();
    return false;
  }

  void try_user() {
    if (!starts_as_root()) return;
    const std::string user = options_.user;
    const auto found = find_system_user(user);
    if (!found) {
      problem("user", Error(found.error()).within(user));
    } else if (!*found && is_named("user")) {
      problem("user", wrong(user + ": this machine does not have this user", "correct the name, or make the user"));
    } else {
      const auto identity = identity_under_root(user, options_.ids.value_or(jail::IdRange{}));
      if (identity && owns_records(identity->uid)) return;
      if (!identity) problem("user", identity.error());
    }
    options_.user = Options{}.user;
  }

  // Whether the start can write into the folder, which it makes if it is missing.
  Result<> check_writable(const std::string& folder) const {
    std::string at = folder;
    struct stat status {};
    while (::stat(at.c_str(), &status) != 0) {
      if (errno != ENOENT && errno != ENOTDIR) {
        if (errno == EACCES && !is_starter()) return {};
        return fail_errno(errno, at, Code::invalid);
      }
      at = fs::path(at).parent_path();
    }
    if (!S_ISDIR(status.st_mode)) return fail(Code::invalid, at + " is not a folder", "name another folder");
    if (is_virtual(at)) return fail(Code::invalid, at + " is a file system of the kernel", "name another folder");
    CHECKED(check_path_rule(view_.sandbox, folder, at));
    struct statvfs mount {};
    if (::statvfs(at.c_str(), &mount) == 0 && (mount.f_flag & ST_RDONLY) != 0) return fail_read_only(at, folder);
    if (is_starter() && ::faccessat(AT_FDCWD, at.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
      return fail_errno(errno, at + " cannot be written", Code::invalid);
    return {};
  }

  void try_state() {
    if (!flags_.state.empty() && view_.is_start) return;
    if (options_.state.empty()) return;  // no HOME: the start says so
    const auto writable = check_writable(options_.state);
    if (writable) return;
    problem("state", Error(writable.error()).within(options_.state));
    if (flags_.state.empty()) options_.state = default_options(invocation_).state;
  }

  // A socket's file: its folder exists or can be made, and no file of another kind has its name.
  Result<> check_path(const std::string& path) const {
    CHECKED(check_writable(fs::path(path).parent_path()));
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || S_ISSOCK(status.st_mode)) return {};
    return fail(Code::invalid,
                fmt::format("{} is a {}", path, S_ISDIR(status.st_mode) ? "folder" : "file of another kind"),
                "name another path");
  }

  bool is_held(const std::string& name) const { return view_.held_unknown || view_.listening.opened.contains(name); }

  void try_socket() {
    if (view_.listening.mcp_passed || options_.socket.empty() || is_held(options_.socket)) return;
    if (!flags_.socket.empty() && view_.is_start) return;
    if (!is_named("socket") && flags_.socket.empty() && !view_.is_start) return;  // the service's own: systemd makes it
    const auto usable = check_path(options_.socket);
    if (usable) return;
    problem("socket", Error(usable.error()).within(options_.socket));
    if (flags_.socket.empty()) options_.socket = default_options(invocation_).socket;
  }

  // The TCP addresses of the configuration that a start listens on.
  std::vector<NamedAddress> addresses() const {
    std::vector<NamedAddress> all;
    const auto add = [&](std::string key, const std::string& text) {
      auto address = parse_tcp_address(text);
      if (address) all.push_back({std::move(key), *std::move(address)});
    };
    if (!view_.listening.http_passed) {
      for (size_t i = 0; i < options_.http.listen.size(); i++)
        add(fmt::format("http.listen[{}]", i), options_.http.listen[i]);
    }
    if (!view_.listening.metrics_passed && is_tcp_address(options_.metrics)) add("metrics", options_.metrics);
    return all;
  }

  void try_addresses() {
    const std::vector<NamedAddress> all = addresses();
    const bool has_no_network =
        view_.sandbox.private_network || (std::getenv("INVOCATION_ID") != nullptr && only_loopback());
    std::set<std::string> twice;
    for (size_t i = 0; i < all.size(); i++) {
      for (size_t j = 0; j < i && !twice.contains(all[i].key); j++) {
        const TcpAddress &address = all[i].address, &other = all[j].address;
        if (port_of(address) != port_of(other) || !(is_same_host(address, other) || is_any(address) || is_any(other)))
          continue;
        problem(all[i].key,
                wrong(fmt::format("{}: {} has this port already ({})", address.text, all[j].key, other.text),
                      "choose another port, or leave out one of the two"));
        twice.insert(all[i].key);
      }
      if (twice.contains(all[i].key)) continue;
      if (has_no_network) {
        shortfall(all[i].key, wrong(all[i].address.text + " would be in the network of the unit, which no "
                                                          "client reaches: the unit has PrivateNetwork=yes",
                                    all[i].key == "metrics" ? kMetricsSocket : kHttpSocket));
      } else {
        try_address(all[i]);
      }
    }
    if (!twice.empty()) drop_twice(twice);
  }

  // The other addresses hold.
  void drop_twice(const std::set<std::string>& twice) {
    if (twice.contains("metrics")) options_.metrics.clear();
    std::vector<std::string> once;
    for (size_t i = 0; i < options_.http.listen.size(); i++)
      if (!twice.contains(fmt::format("http.listen[{}]", i))) once.push_back(options_.http.listen[i]);
    options_.http.listen = std::move(once);
  }

  void try_address(const NamedAddress& named) {
    if (is_held(named.address.text)) return;
    if (!is_starter() && port_of(named.address) < kFirstOrdinaryPort) return;
    const auto bound = bind_to(named.address);
    if (!bound) shortfall(named.key, bound.error());
  }

  void try_metrics_path() {
    const std::string& path = options_.metrics;
    if (view_.listening.metrics_passed || path.empty() || is_tcp_address(path)) return;
    if (path == options_.socket || path == options_.cluster.listen) {
      problem("metrics", wrong(path + " is the path of another socket", "name a path of its own"));
      return options_.metrics.clear();
    }
    if (is_held(path)) return;
    auto usable = check_path(path);
    if (usable && is_served_path(path))
      usable = fail(Code::unavailable, "another server listens on " + path, "stop that server, or choose another path");
    if (!usable) shortfall("metrics", usable.error());
  }

  void try_cluster() {
    const ClusterOptions& cluster = options_.cluster;
    if (cluster.listen.empty()) return;
    if (cluster.listen == options_.socket) {
      problem("cluster.listen",
              wrong(cluster.listen + " is the path of the socket for clients", "name a path of its own"));
      options_.cluster = {};
      return;
    }
    if (!view_.listening.node_passed && !is_held(cluster.listen)) {
      auto usable = check_path(cluster.listen);
      if (!usable) shortfall("cluster.listen", usable.error());
    }
    const Json& named = loaded_.document.merged()["cluster"];
    if (!starts_as_root() || !named.contains("user") || cluster.user.empty()) return;
    const auto user = find_system_user(cluster.user);
    if (user && *user) return;
    shortfall(
        "cluster.user",
        wrong(cluster.user + ": this machine does not have this user, so only root brings requests of other nodes",
              "install warder-cluster, or name its user"));
  }

  void warn_of_unused_keys() {
    const auto warn = [&](const char* key, const char* socket) {
      loaded_.notes.warnings.push_back(fmt::format("{}: {}: not used, because systemd passes a socket for it: {}",
                                                   loaded_.document.file_of(key), key, socket));
    };
    if (view_.listening.metrics_passed && is_named("metrics")) warn("metrics", "warder-metrics.socket");
    if (view_.listening.http_passed && !options_.http.listen.empty()) warn("http.listen", "warder-http.socket");
  }

  LoadedConfiguration& loaded_;
  Options& options_;
  const Flags& flags_;
  const Invocation& invocation_;
  const StartView& view_;
};

}  // namespace

std::string text_of_start(const ConfigurationDocument& document, const Flags& flags, const std::string& key,
                          const Error& error) {
  const bool is_flag = (key == "state" && !flags.state.empty()) || (key == "socket" && !flags.socket.empty()) ||
                       (key == "metrics" && !flags.metrics.empty()) ||
                       (key.starts_with("http.listen") && !flags.http.empty());
  std::string where = document.file_of(key.substr(0, key.find('['))) + ": " + key;
  if (is_flag) where = "--" + key.substr(0, key.find('.'));
  return where + ": " + error.what + (error.hint.empty() ? "" : " (" + error.hint + ")");
}

void try_start(LoadedConfiguration& loaded, const Invocation& invocation, const StartView& view) {
  Trial(loaded, invocation, view).run();
}

}  // namespace configuration

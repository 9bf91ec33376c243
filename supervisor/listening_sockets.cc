#include "supervisor/listening_sockets.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "supervisor/base/log.h"
#include "supervisor/base/loopback.h"
#include "supervisor/base/tcp_address.h"
#include "supervisor/base/user_lookup.h"
#include "supervisor/daemon/configuration/trial.h"
#include "supervisor/protocol/mcp/listener.h"

namespace {

// SocketMaker: makes the sockets of one start. Every user may connect to the socket for clients of a daemon that root
// started (mode 0666): the peer's credentials (SO_PEERCRED) and the policies decide about its requests.
class SocketMaker {
 public:
  explicit SocketMaker(Prepared& prepared)
      : prepared_(prepared), options_(prepared.options), identity_(prepared.identity), passed_(prepared.passed) {}

  Result<> make_all() {
    refuse_public_sockets();  // of systemd
    if (!prepared_.listening.metrics_passed && !options_.metrics.empty())
      add("metrics", options_.metrics, make_metrics_socket(), passed_.metrics);
    if (!prepared_.listening.http_passed) {
      for (size_t i = 0; i < options_.http.listen.size(); i++)
        add(fmt::format("http.listen[{}]", i), options_.http.listen[i],
            make_tcp_socket(fmt::format("http.listen[{}]", i), options_.http.listen[i]), passed_.http);
    }
    if (!prepared_.listening.node_passed && !options_.cluster.listen.empty())
      add("cluster.listen", options_.cluster.listen, make_node_socket(), passed_.node);
    if (prepared_.listening.mcp_passed) return {};
    CHECKED(make_folder_of(options_.socket, "give another path: --socket PATH"));
    TRY(Fd socket, mcp::listen_at(options_.socket, identity_.root ? 0666 : 0600));
    passed_.sockets.push_back(std::move(socket));
    prepared_.listening.opened.insert(options_.socket);
    return {};
  }

 private:
  void add(const std::string& key, const std::string& name, Result<std::optional<Fd>> created,
           std::vector<Fd>& sockets) {
    if (!created) {
      auto& in_force = prepared_.configuration;
      in_force.notes.shortfalls.push_back(
          {key, configuration::text_of_start(in_force.document, in_force.invocation.flags, key, created.error())});
      log_error("configuration: {}", in_force.notes.shortfalls.back().text);
    } else if (*created) {
      sockets.push_back(**std::move(created));
      prepared_.listening.opened.insert(name);
    }
  }

  // The trial has said already why the socket cannot be made.
  bool falls_short(std::string_view key) const {
    return configuration::has_key(prepared_.configuration.notes.shortfalls, key);
  }

  static Result<> make_folder_of(const std::string& socket, const char* remedy) {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(socket).parent_path(), error);
    if (error) return fail(Code::invalid, fmt::format("socket {}: {}", socket, error.message()), remedy);
    return {};
  }

  Result<std::optional<Fd>> make_tcp_socket(const std::string& key, const std::string& text) const {
    if (falls_short(key)) return std::nullopt;
    TRY(const TcpAddress address, parse_tcp_address(text));
    TRY(Fd socket, listen_on(address));
    return socket;
  }

  Result<std::optional<Fd>> make_metrics_socket() const {
    if (falls_short("metrics")) return std::nullopt;
    if (is_tcp_address(options_.metrics)) {
      TRY(const LoopbackAddress address, parse_loopback(options_.metrics));
      TRY(Fd socket, listen_on(address));
      return socket;
    }
    CHECKED(make_folder_of(options_.metrics, "give another path: metrics"));
    TRY(Fd socket, mcp::listen_at(options_.metrics, identity_.root ? 0660 : 0600));
    if (identity_.root && ::lchown(options_.metrics.c_str(), identity_.uid, identity_.gid) < 0)
      return fail_errno(errno, fmt::format("give {} to the daemon's group", options_.metrics));
    return socket;
  }

  // The socket for warder-node, which only its user may open.
  Result<std::optional<Fd>> make_node_socket() const {
    const ClusterOptions& cluster = options_.cluster;
    if (falls_short("cluster.listen")) return std::nullopt;
    constexpr char kRemedy[] =
        "give another path; with systemd: stop warder.service and warder.socket, then start warder-cluster.socket and "
        "warder.service";
    CHECKED(make_folder_of(cluster.listen, kRemedy));
    auto socket = mcp::listen_at(cluster.listen, 0600);
    if (!socket) {
      socket.error().hint = kRemedy;
      return tl::unexpected<Error>(std::move(socket).error());
    }
    TRY(const auto user, user_of_node(cluster));
    if (identity_.root && user && ::lchown(cluster.listen.c_str(), *user, identity_.gid) < 0)
      return fail_errno(errno, fmt::format("give {} to the user of warder-node", cluster.listen));
    return *std::move(socket);
  }

  // A socket unit may name an address that the configuration does not allow.
  void refuse_public_sockets() {
    std::erase_if(passed_.http, [this](const Fd& socket) {
      const bool is_refused = !options_.http.is_public && !is_loopback_socket(socket.get());
      if (is_refused)
        log_error(
            "HTTP is not served on {}: other machines could reach it; write \"http\": {{\"public\": true}} into the "
            "configuration if they may",
            bound_address(socket.get()));
      return is_refused;
    });
  }

  Prepared& prepared_;
  const Options& options_;
  const DaemonIdentity& identity_;
  ServiceManager::Passed& passed_;
};

}  // namespace

configuration::HeldSockets held_by(const ServiceManager::Passed& passed) {
  return {.mcp_passed = !passed.sockets.empty(),
          .http_passed = !passed.http.empty(),
          .metrics_passed = !passed.metrics.empty(),
          .node_passed = !passed.node.empty(),
          .opened = {}};
}

Result<> open_sockets(Prepared& prepared) { return SocketMaker(prepared).make_all(); }

Result<std::optional<uid_t>> user_of_node(const ClusterOptions& cluster) {
  if (cluster.user.empty()) return std::nullopt;
  TRY(const auto user, find_system_user(cluster.user));
  return user ? std::optional(user->uid) : std::nullopt;
}

// warderd: makes the parts that need privileges, forks the jailer, drops the privileges, and serves.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "jail/jailer.h"
#include "jail/template.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/daemon/daemon.h"
#include "supervisor/daemon/open_files.h"

namespace {

constexpr int kExitUsage = 64;  // sysexits.h EX_USAGE

// Renames the folder "bridge" of an earlier version to "upstream". It holds the upstream servers' definitions and
// files.
Result<> keep_upstream_folder(const std::string& state) {
  const std::string old_name = state + "/bridge";
  const std::string name = state + "/upstream";
  if (::access(old_name.c_str(), F_OK) < 0 || ::access(name.c_str(), F_OK) == 0) return {};
  if (::rename(old_name.c_str(), name.c_str()) < 0)
    return fail_errno(errno, fmt::format("rename {} to {}", old_name, name));
  return {};
}

// Makes the state folder. Its folder template/ belongs to root, so that the daemon cannot change the files that jails
// see. The other folders belong to the daemon.
Result<> make_state(const Options& options, const DaemonIdentity& identity) {
  std::error_code error;
  std::filesystem::create_directories(options.state, error);
  if (error)
    return fail(Code::invalid, fmt::format("state folder {}: {}", options.state, error.message()),
                "give a folder that the daemon can create: --state DIR");
  if (::chmod(options.state.c_str(), 0711) < 0 && errno != EPERM) return fail_errno(errno, options.state);
  CHECKED(keep_upstream_folder(options.state));
  for (const char* name : {"tenants", "journal", "self-test", "upstream"}) {
    std::string folder = options.state + "/" + name;
    std::filesystem::create_directories(folder, error);
    if (error)
      return fail(Code::invalid, fmt::format("state folder {}: {}", folder, error.message()),
                  "check the owner of the folder, or give another folder: --state DIR");
    // The mode is set before the owner: root without CAP_FOWNER may only change the mode of files that it owns.
    struct stat made {};
    if (::stat(folder.c_str(), &made) < 0 || ((made.st_mode & 07777) != 0700 && ::chmod(folder.c_str(), 0700) < 0))
      return fail_errno(errno, folder);
    if (identity.root && ::chown(folder.c_str(), identity.uid, identity.gid) < 0)
      return fail_errno(errno, fmt::format("give {} to the daemon", folder));
  }
  return {};
}

// The folder of stubs for upstream servers' tools. It is the only part of the template that the daemon writes.
Result<Fd> give_servers_folder(const std::string& folder, const DaemonIdentity& identity) {
  if (identity.root && ::chown(folder.c_str(), identity.uid, identity.gid) < 0)
    return fail_errno(errno, fmt::format("give {} to the daemon", folder));
  return open_directory(folder);
}

// Removes the stubs of an earlier daemon. Done as the daemon's user, because root without CAP_DAC_OVERRIDE may not.
Result<> clear_servers_folder(const std::string& folder, const DaemonIdentity& identity) {
  std::error_code error;
  if (!identity.root || !std::filesystem::is_directory(folder, error)) return {};
  if (::seteuid(identity.uid) < 0) return fail_errno(errno, "seteuid");
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::error_code other;  // ignored: make_template() reports files that could not be removed
    std::filesystem::remove_all(entry.path(), other);
  }
  if (::seteuid(0) < 0) return fail_errno(errno, "seteuid");
  return {};
}

// Locks the state folder. Two daemons with one state folder would count a workspace's files twice, and each would
// replace the other's jail template.
Result<Fd> lock_state(const Options& options) {
  Fd folder(::open(options.state.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return fail_errno(errno, fmt::format("open {}", options.state));
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) return folder;
  if (errno != EWOULDBLOCK) return fail_errno(errno, fmt::format("lock {}", options.state));
  return fail(Code::unavailable, fmt::format("another warderd uses the state folder {}", options.state),
              "stop that daemon, or give another folder: --state DIR");
}

// Every user may connect to a daemon that root started (mode 0666). The peer's credentials (SO_PEERCRED) and the
// policies decide about its requests.
Result<ServiceManager::Passed> make_sockets(const Options& options, const DaemonIdentity& identity) {
  TRY(ServiceManager::Passed passed, ServiceManager::take_descriptors());
  if (passed.metrics.empty() && !options.metrics.empty()) {
    TRY(Fd socket, mcp::listen_at(options.metrics, identity.root ? 0660 : 0600));
    if (identity.root && ::lchown(options.metrics.c_str(), identity.uid, identity.gid) < 0)
      return fail_errno(errno, fmt::format("give {} to the daemon's group", options.metrics));
    passed.metrics.push_back(std::move(socket));
  }
  if (passed.metrics.empty() && options.metrics_address) {
    TRY(Fd socket, listen_on(*options.metrics_address));
    passed.metrics.push_back(std::move(socket));
  }
  if (!passed.sockets.empty()) return passed;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(options.socket).parent_path(), error);
  if (error)
    return fail(Code::invalid, fmt::format("socket {}: {}", options.socket, error.message()),
                "give another path: --socket PATH");
  TRY(Fd socket, mcp::listen_at(options.socket, identity.root ? 0666 : 0600));
  passed.sockets.push_back(std::move(socket));
  return passed;
}

// Whether `folder` contains the template, or is a part of the template. True if a path cannot be resolved.
bool holds_template(const std::string& folder, const Options& options) {
  std::error_code error;
  const auto shown = std::filesystem::canonical(folder, error);
  const auto templates = std::filesystem::canonical(options.state + "/template", error);
  const auto [rest, rest_of_template] = std::mismatch(shown.begin(), shown.end(), templates.begin(), templates.end());
  return error || rest == shown.end() || rest_of_template == templates.end();
}

// Gives the jailer the folders that it may show to jails. It gets no other folder later.
Result<> tell_folders(const Options& options, jail::JailerConfig& jailer) {
  for (const char* name : {"tenants", "upstream"}) {
    TRY(Fd folder, open_directory(options.state + "/" + name));
    jailer.workspace_parents.push_back(std::move(folder));
  }
  TRY(Fd self_test, open_directory(options.state + "/self-test"));
  jailer.single_folders.push_back(std::move(self_test));
  for (const auto& server : options.servers) {
    if (server.folder.empty() || server.place != upstream::ServerConfig::Place::jail) continue;
    auto folder = open_directory(server.folder);
    if (folder && !holds_template(server.folder, options)) {
      jailer.single_folders.push_back(*std::move(folder));
    } else {
      log_warning("upstream server {}: jails cannot receive its folder {}: {}", server.name, server.folder,
                  folder ? "it contains Warder's own files" : folder.error().what);
    }
  }
  return {};
}

Result<> adopt_cgroups(Prepared& prepared) {
  std::optional<jail::CgroupTree::Owner> owner;
  if (prepared.identity.root) owner = jail::CgroupTree::Owner{prepared.identity.uid, prepared.identity.gid};
  auto tree = jail::CgroupTree::adopt(owner);
  if (tree) {
    prepared.cgroups = *std::move(tree);
  } else {
    prepared.no_cgroups_why = tree.error().what;
  }
  return {};
}

Result<Prepared> prepare(Options options) {
  jail::IdRange ids = options.ids.value_or(jail::IdRange{});
  TRY(DaemonIdentity identity, choose_identity(options.user, ids));
  TRY(policies::Store store, policies::Store::load(options.policies, policies::mode_of(options.policies)));
  for (const auto& warning : store.warnings()) log_warning("{}", warning);
  TRY(const std::string few_files, raise_open_files(store));
  if (!few_files.empty()) log_warning("{}", few_files);
  Prepared prepared{.options = options, .identity = identity, .ids = ids, .policies = std::move(store)};
  CHECKED(make_state(options, identity));
  TRY(prepared.state_lock, lock_state(options));
  CHECKED(adopt_cgroups(prepared));
  TRY(prepared.passed, make_sockets(options, identity));
  if (!identity.root) CHECKED(enter_own_namespaces(identity));
  // After the new mount namespace: a mount can only be attached from the namespace that it was opened in.
  TRY(prepared.state, open_directory(options.state));
  TRY(prepared.self_test, open_directory(options.state + "/self-test"));
  CHECKED(clear_servers_folder(options.state + "/template/servers", identity));
  TRY(prepared.upstream, open_directory(options.state + "/upstream"));
  jail::JailerConfig jailer;
  TRY(jailer.template_dir, jail::make_template(options.state + "/template", options.guest, options.skills));
  TRY(prepared.servers, give_servers_folder(options.state + "/template/servers", identity));
  TRY(jailer.init, jail::add_init(options.state + "/template", options.jail_init));
  jailer.privileged = identity.root;
  jailer.ids = ids;
  jailer.daemon_uid = identity.uid;
  jailer.daemon_gid = identity.gid;
  CHECKED(tell_folders(options, jailer));
  if (prepared.cgroups) jailer.jails_cgroup = Fd(::fcntl(prepared.cgroups->jails(), F_DUPFD_CLOEXEC, 3));
  TRY(prepared.jailer, jail::fork_jailer(std::move(jailer)));
  // After the fork, because the jailer does not need the key. Before privileges are dropped, because the key's file
  // belongs to root and the daemon's user cannot read it.
  const char* credentials = ::getenv("CREDENTIALS_DIRECTORY");
  TRY(prepared.key, tenants::MasterKey::load(prepared.state.get(), credentials ? credentials : ""));
  if (auto& traces = prepared.options.traces) CHECKED(traces::load_headers(*traces, credentials ? credentials : ""));
  CHECKED(drop_privileges(identity));
  return prepared;
}

void report(const Error& error) {
  std::fprintf(stderr, "warderd: %s%s%s\n", error.what.c_str(), error.hint.empty() ? "" : "\n         ",
               error.hint.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  auto options = parse_options(argc, argv);
  if (!options) {
    report(options.error());
    return kExitUsage;
  }
  if (!options->has_value()) return 0;
  set_log_level((*options)->log_level);
  auto prepared = prepare(**std::move(options));
  if (!prepared) {
    report(prepared.error());
    return prepared.error().code == Code::invalid ? kExitUsage : 1;
  }
  Daemon daemon(*std::move(prepared));
  return daemon.run();
}

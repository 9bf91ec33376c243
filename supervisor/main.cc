// warderd: makes the parts that need privileges, starts the jailer, drops the privileges, and serves.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "jail/jailer_client/jailer_start.h"
#include "jail/template.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/command_line.h"
#include "supervisor/daemon/absent_annexes.h"
#include "supervisor/daemon/configuration/check.h"
#include "supervisor/daemon/configuration/last_good.h"
#include "supervisor/daemon/configuration/reload_exchange.h"
#include "supervisor/daemon/configuration/reloaded_copy.h"
#include "supervisor/daemon/configuration/report.h"
#include "supervisor/daemon/daemon.h"
#include "supervisor/daemon/open_files.h"
#include "supervisor/listening_sockets.h"
#include "supervisor/start.h"

namespace {

constexpr int kExitUsage = 64;                    // sysexits.h EX_USAGE
constexpr std::chrono::seconds kReloadLimit{80};  // less than TimeoutStartSec=, which also bounds ExecReload=

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

// The folder of package layers belongs to root, as the template does, and `warder layer build` writes it. It is made
// here so that jails find it, whenever the first layer is built.
Result<> make_layers_folder(const std::string& state) {
  const std::string folder = state + "/layers";
  if (::mkdir(folder.c_str(), 0755) < 0) return errno == EEXIST ? Result<>() : fail_errno(errno, folder);
  if (::chmod(folder.c_str(), 0755) < 0) return fail_errno(errno, folder);  // whatever the umask is
  return {};
}

// Makes the state folder. Its folders template/ and layers/ belong to root, so that the daemon cannot change the files
// that jails see. The other folders belong to the daemon.
Result<> make_state(const Options& options, const DaemonIdentity& identity) {
  std::error_code error;
  std::filesystem::create_directories(options.state, error);
  if (error)
    return fail(Code::invalid, fmt::format("state folder {}: {}", options.state, error.message()),
                "give a folder that the daemon can create: --state DIR");
  if (::chmod(options.state.c_str(), 0711) < 0 && errno != EPERM) return fail_errno(errno, options.state);
  CHECKED(keep_upstream_folder(options.state));
  CHECKED(make_layers_folder(options.state));
  // The policies of a cluster, in cluster/, are no secret, and root without capabilities reads them at the next start.
  for (const char* name : {"tenants", "journal", "self-test", "upstream", "reload", "searches", "cluster"}) {
    const mode_t mode = std::string_view(name) == "cluster" ? 0755 : 0700;
    std::string folder = options.state + "/" + name;
    std::filesystem::create_directories(folder, error);
    if (error)
      return fail(Code::invalid, fmt::format("state folder {}: {}", folder, error.message()),
                  "check the owner of the folder, or give another folder: --state DIR");
    // The mode is set before the owner: root without CAP_FOWNER may only change the mode of files that it owns.
    struct stat produced {};
    if (::stat(folder.c_str(), &produced) < 0 ||
        ((produced.st_mode & 07777) != mode && ::chmod(folder.c_str(), mode) < 0))
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
// Errors are ignored: make_template() removes the rest and reports files that stay. The user may not even list the
// folder after a start that failed before the template was complete.
Result<> clear_servers_folder(const std::string& folder, const DaemonIdentity& identity) {
  std::error_code error;
  if (!identity.root || !std::filesystem::is_directory(folder, error)) return {};
  if (::seteuid(identity.uid) < 0) return fail_errno(errno, "seteuid");
  const auto names = read_names(FolderReader::open(folder));
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    std::error_code other;
    std::filesystem::remove_all(folder + "/" + name, other);
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

// Whether `folder` contains the template, or is a part of the template. True if a path cannot be resolved.
bool holds_template(const std::string& folder, const Options& options) {
  std::error_code error;
  const auto visible = std::filesystem::canonical(folder, error);
  const auto templates = std::filesystem::canonical(options.state + "/template", error);
  const auto [rest, rest_of_template] =
      std::mismatch(visible.begin(), visible.end(), templates.begin(), templates.end());
  return error || rest == visible.end() || rest_of_template == templates.end();
}

// Gives the jailer the folders that it may show to jails. It gets no other folder later. Returns the servers' folders
// among them.
Result<std::set<std::string>> report_folders(const Options& options, jail::JailerConfig& jailer) {
  for (const char* name : {"tenants", "upstream"}) {
    TRY(Fd folder, open_directory(options.state + "/" + name));
    jailer.workspace_parents.push_back(std::move(folder));
  }
  TRY(Fd self_test, open_directory(options.state + "/self-test"));
  jailer.single_folders.push_back(std::move(self_test));
  std::set<std::string> input;
  for (const auto& server : options.servers) {
    if (server.folder.empty() || server.location != upstream::ServerConfig::ServerHost::jail) continue;
    auto folder = open_directory(server.folder);
    if (folder && !holds_template(server.folder, options)) {
      jailer.single_folders.push_back(*std::move(folder));
      input.insert(server.folder);
    } else {
      log_warning("upstream server {}: jails cannot receive its folder {}: {}", server.name, server.folder,
                  folder ? "it contains Warder's own files" : folder.error().what);
    }
  }
  return input;
}

// Root stores the copy, before it drops its privileges: see last_good.h. A copy that cannot be stored is no reason not
// to serve.
void save_last_good_copy(const Prepared& prepared) {
  if (prepared.configuration.degraded()) return;
  const auto saved = [&]() -> Result<> {
    TRY(const auto copy, configuration::copy_of(prepared.configuration.document, prepared.options.policies));
    return configuration::keep_last_good(prepared.options.state, copy);
  }();
  if (!saved) log_error("the last good copy of the configuration was not stored: {}", saved.error().what);
}

// Spans are a part that the daemon can do without.
void load_trace_headers(Prepared& prepared, const char* credentials) {
  if (!prepared.options.traces) return;
  const auto loaded = spans::load_headers(*prepared.options.traces, credentials ? credentials : "");
  if (loaded) return;
  prepared.options.traces.reset();
  prepared.configuration.notes.warnings.push_back(
      fmt::format("traces: {}; no spans are exported", loaded.error().what));
  log_error("configuration: {}", prepared.configuration.notes.warnings.back());
}

// A token that cannot be read lets nobody in, and is no reason not to serve the others. After a reload without a
// mistake, the rules of these tokens are set again: supervisor/daemon/reload.cc.
void load_tokens(Prepared& prepared, const char* credentials) {
  auto& notes = prepared.configuration.notes;
  auto loaded = credentials::load_token_credential(credentials ? credentials : "");
  if (!loaded) {
    notes.warnings.push_back(loaded.error().what + "; its tokens let nobody in");
    log_error("configuration: {}", notes.warnings.back());
    return;
  }
  if (loaded->empty()) return;
  prepared.credential_tokens = *std::move(loaded);
  if (prepared.configuration.source == configuration::ConfigurationInForce::Source::none) return;
  const auto of_tokens = configuration::add_token_rules(prepared.policies, prepared.tokens());
  for (const auto& line : of_tokens.problems) log_warning("configuration: {}", line);
  for (const auto& line : of_tokens.warnings) log_warning("configuration: {}", line);
}

// Before privileges are dropped: a checkout may lie in root's own home, where the daemon's user cannot read it.
void load_shared_skills(Prepared& prepared) {
  if (prepared.options.skills.empty()) return;
  if (auto loaded = skills::Shared::load(prepared.options.skills)) {
    prepared.skills = *std::move(loaded);
  } else {
    log_error("serving without shared skills: {}", loaded.error().what);
  }
  for (const std::string& problem : prepared.skills.problems()) log_warning("{}", problem);
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

Result<Prepared> prepare(const configuration::Invocation& invocation) {
  TRY(ServiceManager::Passed passed, ServiceManager::take_descriptors());
  TRY(ChosenConfiguration chosen, choose_configuration(invocation, held_by(passed)));
  TRY(const std::string few_files, raise_open_files(chosen.policies));
  if (!few_files.empty()) log_warning("{}", few_files);
  Prepared prepared{.options = std::move(chosen.options),
                    .identity = chosen.identity,
                    .ids = {},
                    .configuration = std::move(chosen.in_force),
                    .policies = std::move(chosen.policies)};
  const Options& options = prepared.options;
  const DaemonIdentity& identity = prepared.identity;
  const jail::IdRange ids = prepared.ids = options.ids.value_or(jail::IdRange{});
  CHECKED(make_state(options, identity));
  TRY(prepared.state_lock, lock_state(options));
  save_last_good_copy(prepared);
  CHECKED(adopt_cgroups(prepared));
  prepared.listening = held_by(passed);
  prepared.passed = std::move(passed);
  CHECKED(open_sockets(prepared));
  prepared.node_users = {0, identity.uid};
  TRY(const auto node_user, user_of_node(options.cluster));
  if (node_user) prepared.node_users.insert(*node_user);
  if (!identity.root) CHECKED(enter_own_namespaces(identity));
  if (identity.root) CHECKED(restrict_netlink(NetlinkAccess::route));
  // After the new mount namespace: a mount can only be attached from the namespace that it was opened in.
  TRY(prepared.state, open_directory(options.state));
  TRY(prepared.self_test, open_directory(options.state + "/self-test"));
  CHECKED(clear_servers_folder(options.state + "/template/servers", identity));
  TRY(prepared.upstream, open_directory(options.state + "/upstream"));
  jail::JailerConfig jailer;
  TRY(jailer.template_dir, jail::make_template(options.state + "/template", options.guest, options.skills));
  TRY(prepared.servers, give_servers_folder(options.state + "/template/servers", identity));
  TRY(jailer.program, jail::open_jailer(options.jailer));
  TRY(jailer.init, jail::add_init(options.state + "/template", options.jail_init));
  jailer.privileged = identity.root;
  jailer.ids = ids;
  jailer.daemon_uid = identity.uid;
  jailer.daemon_gid = identity.gid;
  TRY(prepared.server_folders, report_folders(options, jailer));
  if (prepared.cgroups) jailer.jails_cgroup = Fd(::fcntl(prepared.cgroups->jails(), F_DUPFD_CLOEXEC, 3));
  TRY(prepared.jailer, jail::start_jailer(std::move(jailer)));
  // After the start of the jailer, which does not need the key. Before privileges are dropped, because the key's file
  // belongs to root and the daemon's user cannot read it.
  const char* credentials = ::getenv("CREDENTIALS_DIRECTORY");
  TRY(prepared.key, tenants::MasterKey::load(prepared.state.get(), credentials ? credentials : ""));
  load_trace_headers(prepared, credentials);
  load_tokens(prepared, credentials);
  load_shared_skills(prepared);
  CHECKED(drop_privileges(identity));
  return prepared;
}

int report(const Error& error) {
  std::fprintf(stderr, "warderd: %s%s%s\n", error.what.c_str(), error.hint.empty() ? "" : "\n         ",
               error.hint.c_str());
  return error.code == Code::invalid ? kExitUsage : 1;
}

// Exit status: 0 if a start would serve all that these files name, 1 if not.
int print_check(const configuration::Invocation& invocation) {
  auto loaded = configuration::check(invocation);
  note_absent_annexes(loaded);
  const auto text = configuration::report_of(loaded);
  std::fputs(text.bad.c_str(), stderr);
  std::fputs(text.good.c_str(), stdout);
  return loaded.complete() ? 0 : 1;
}

// Exit status: 0 after a good reload. This process reads the files, too: it stores the last good copy, which the daemon
// may not write. A daemon that was started with other flags is reloaded, and its copy stays as it was.
int reload(const configuration::Invocation& invocation) {
  const Options options = configuration::load(invocation).options;
  const auto copy = configuration::ReloadedCopy::read(invocation);
  const auto answer = configuration::ask_for_reload(options.state, options.socket, kReloadLimit);
  if (!answer) return report(answer.error());
  for (const auto& line : answer->lines) std::fprintf(stderr, "warderd: %s\n", line.c_str());
  if (!answer->good) return 1;
  const auto saved = copy.keep(answer->files);
  if (saved) return 0;
  const int status = report(Error(saved.error()).within("the last good copy of the configuration was not stored"));
  return saved.error().code == Code::invalid ? 0 : status;
}

}  // namespace

int main(int argc, char** argv) {
  auto line = parse_command_line(argc, argv);
  if (!line) return report(line.error());
  switch (line->action) {
    case CommandLine::Action::nothing:
      return 0;
    case CommandLine::Action::check:
      return print_check(line->invocation);
    case CommandLine::Action::reload:
      return reload(line->invocation);
    case CommandLine::Action::serve:
      break;
  }
  auto prepared = prepare(line->invocation);
  if (!prepared) return report(prepared.error());
  int status = 0;
  {
    Daemon daemon(*std::move(prepared));
    status = daemon.run();
  }
  if (WorkerThread::any_left_alone()) ::_exit(status);  // it may still use static objects
  return status;
}

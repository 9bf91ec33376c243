#include "supervisor/programs/cli/cluster/cluster_folder.h"

#include <fmt/format.h>
#include <sodium.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_file.h"
#include "supervisor/base/log.h"
#include "supervisor/cluster/trust/nats_config.h"
#include "supervisor/cluster/trust/nkey.h"
#include "supervisor/cluster/trust/private_file.h"
#include "supervisor/cluster/trust/signed_text.h"
#include "supervisor/programs/cli/indented_json.h"

namespace admin {
namespace {

constexpr size_t kMaxTrustFile = 300 << 10, kMaxNodeFile = 64 << 10;  // bytes
constexpr size_t kMaxServers = 16, kMaxLabels = 32;

std::string folder_flag(const ParsedCommand& command) {
  std::string folder = std::filesystem::absolute(command.value("folder", "/etc/warder/cluster")).lexically_normal();
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  return folder;
}

Result<> expect_own_folder(int folder, const std::string& path) {
  struct stat info {};
  if (::fstat(folder, &info) < 0) return fail_errno(errno, "fstat " + path);
  if ((info.st_uid != ::geteuid() && info.st_uid != 0) || (info.st_mode & 022) != 0)
    return fail(Code::denied, path + ": another user can write this folder, so its keys and records cannot be trusted",
                fmt::format("chown root:root {0}; chmod 755 {0}; then check its contents", path));
  return {};
}

// "tls://host:4222"; without TLS only to this machine.
Result<> check_server(const std::string& url) {
  const auto wrong = [&url] {
    return fail(Code::invalid, fmt::format("--server: '{}' is not tls://HOST:PORT", printable(url, 100)),
                "for example tls://nats1.example:4222; nats:// is for 127.0.0.1, [::1] and localhost only");
  };
  const size_t scheme_end = url.find("://");
  if (scheme_end == url.npos || url.size() > 300) return wrong();
  const std::string scheme = url.substr(0, scheme_end), address = url.substr(scheme_end + 3);
  const size_t colon = address.rfind(':');
  if (colon == address.npos || colon == 0) return wrong();
  const std::string host = address.substr(0, colon), port = address.substr(colon + 1);
  const bool good_port = !port.empty() && port.size() <= 5 && std::all_of(port.begin(), port.end(), is_digit) &&
                         std::stoi(port) >= 1 && std::stoi(port) <= 65535;
  const bool good_host =
      host.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.:[]") ==
      std::string::npos;
  const bool local = host == "127.0.0.1" || host == "[::1]" || host == "localhost";
  if (!good_port || !good_host || (scheme != "tls" && !(scheme == "nats" && local))) return wrong();
  return {};
}

Result<Json> read_servers(const ParsedCommand& command) {
  std::vector<std::string> servers = command.values("server");
  if (servers.empty()) servers.emplace_back("tls://localhost:4222");
  if (servers.size() > kMaxServers)
    return fail(Code::invalid, fmt::format("--server: more than {}", kMaxServers), "a client needs two or three");
  for (const auto& url : servers) CHECKED(check_server(url));
  return Json(servers);
}

Result<Json> read_labels(const ParsedCommand& command) {
  Json labels = Json::object();
  for (const auto& label : command.values("label")) {
    const size_t equals = label.find('=');
    const std::string name = label.substr(0, equals), value = equals == label.npos ? "" : label.substr(equals + 1);
    const bool printable_value = std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (!cluster::is_cluster_word(name) || value.empty() || value.size() > 64 || !printable_value)
      return fail(Code::invalid, fmt::format("--label: '{}' is not NAME=VALUE", printable(label, 100)),
                  "for example zone=a; the name: 1 to 32 of a-z, 0-9 and '-', the value: 1 to 64 characters");
    labels[name] = value;
  }
  if (labels.size() > kMaxLabels) return fail(Code::invalid, fmt::format("--label: more than {}", kMaxLabels));
  return labels;
}

}  // namespace

Result<ClusterFolder> ClusterFolder::open_to_change(const ParsedCommand& command) {
  const std::string path = folder_flag(command);
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    Error failed = fail_errno(error.value(), "make the folder " + path, Code::denied).value();
    failed.hint = ::geteuid() == 0 ? "" : "call as root, or give --folder DIR";
    return tl::unexpected<Error>(std::move(failed));
  }
  TRY(ClusterFolder folder, open_to_read(command));
  if (::flock(folder.lock_.get(), LOCK_EX) < 0) return fail_errno(errno, "lock " + path);
  return folder;
}

Result<ClusterFolder> ClusterFolder::open_to_read(const ParsedCommand& command) {
  ClusterFolder folder;
  folder.folder_ = folder_flag(command);
  folder.authority_ = command.has("authority")
                          ? std::filesystem::absolute(command.value("authority", "")).lexically_normal().string()
                          : folder.file("authority.key");
  auto opened = open_without_links(folder.folder_, O_RDONLY | O_DIRECTORY);
  if (!opened && opened.error().code == Code::not_found)
    return fail(Code::not_found, folder.folder_ + ": the folder does not exist",
                "make a cluster or join one: warder cluster init, warder cluster join");
  if (!opened) return tl::unexpected<Error>(std::move(opened).error());
  folder.lock_ = *std::move(opened);
  CHECKED(expect_own_folder(folder.lock_.get(), folder.folder_));
  return folder;
}

bool ClusterFolder::has(const std::string& name) const {
  struct stat info {};
  return ::lstat(file(name).c_str(), &info) == 0;
}

Result<> ClusterFolder::expect_missing(const std::vector<std::string>& names) const {
  for (const auto& name : names)
    if (has(name))
      return fail(Code::invalid, file(name) + " exists already",
                  "nothing was changed; move it away first, if it is not needed");
  struct stat info {};
  if (std::find(names.begin(), names.end(), "authority.key") != names.end() && ::lstat(authority_.c_str(), &info) == 0)
    return fail(Code::invalid, authority_ + " exists already", "nothing was changed; give another --authority FILE");
  return {};
}

Result<cluster::TrustRecord> ClusterFolder::read_trust() const {
  const std::string path = file("trust.record");
  auto text = cluster::read_trusted_file(path, kMaxTrustFile);
  if (!text && text.error().code == Code::not_found)
    return fail(Code::not_found, path + ": there is no trust record",
                "warder cluster init makes it; on other nodes, copy it from the machine of the authority");
  if (!text) return tl::unexpected<Error>(std::move(text).error());
  auto record = cluster::read_trust_anchor(*text);
  if (!record) return tl::unexpected<Error>(std::move(record).error().within(path));
  return record;
}

Result<NodeNames> ClusterFolder::read_names() const {
  const std::string path = file("node.json");
  auto text = cluster::read_trusted_file(path, kMaxNodeFile);
  if (!text && text.error().code == Code::not_found)
    return fail(Code::not_found, path + ": this machine is no node",
                "warder cluster init or warder cluster join makes it");
  if (!text) return tl::unexpected<Error>(std::move(text).error());
  auto json = parse_json_file(*text);
  if (!json) return tl::unexpected<Error>(std::move(json).error().within(path));
  Fields in(*json, path);
  NodeNames names;
  TRY(names.node, in.string("node", 32));
  TRY(names.cluster, in.string("cluster", 32));
  if (!cluster::is_cluster_word(names.node) || !cluster::is_cluster_word(names.cluster))
    return fail(Code::invalid, path + ": node, cluster: not 1 to 32 of a-z, 0-9 and '-'");
  return names;
}

Result<cluster::PrivateKey> ClusterFolder::load_authority(const cluster::TrustRecord& record) const {
  auto key = cluster::load_authority_key(authority_, record);
  if (key || key.error().code != Code::not_found) return key;
  return fail(Code::not_found, authority_ + ": the authority's key is not on this machine",
              "call on the machine that has it, or give --authority FILE");
}

Result<> ClusterFolder::write_new(const std::string& path, std::string_view text, mode_t mode) {
  CHECKED(cluster::write_whole_file(path, text, mode, Existing::refuse));
  written_.push_back(path);
  return {};
}

void ClusterFolder::undo() {
  for (const auto& path : written_) ::unlink(path.c_str());
  written_.clear();
}

Result<> ClusterFolder::write_trust(const cluster::TrustRecord& record, const cluster::PrivateKey& authority) const {
  TRY(const std::string text, cluster::sign_trust(record, authority));
  CHECKED(cluster::write_whole_file(file("trust.record"), text, 0644, Existing::replace));
  return cluster::write_whole_file(file(kNatsNodesFile), cluster::nats_users(record), 0644, Existing::replace);
}

NodeKeys NodeKeys::make() {
  NodeKeys keys;
  keys.nats_seed = cluster::new_nkey_seed();
  keys.nats_public = cluster::nkey_public_key(keys.nats_seed).value();
  return keys;
}

NodeKeys::~NodeKeys() { sodium_memzero(nats_seed.data(), nats_seed.size()); }

Result<> write_node_keys(ClusterFolder& folder, const NodeKeys& keys, const std::string& suffix) {
  std::string secret = keys.key.secret_text();
  auto written = folder.write_new(folder.file("node.key" + suffix), secret, 0600);
  sodium_memzero(secret.data(), secret.size());
  CHECKED(written);
  return folder.write_new(folder.file("nats.seed" + suffix), keys.nats_seed, 0600);
}

Result<NodeKeys> read_node_keys(const ClusterFolder& folder, const std::string& suffix) {
  NodeKeys keys;
  TRY(keys.key, cluster::PrivateKey::load(folder.file("node.key" + suffix)));
  TRY(keys.nats_seed, cluster::read_nkey_seed(folder.file("nats.seed" + suffix)));
  TRY(keys.nats_public, cluster::nkey_public_key(keys.nats_seed));
  return keys;
}

Result<std::string> node_configuration(const ClusterFolder& folder, const NodeNames& names,
                                       const ParsedCommand& command) {
  TRY(const Json servers, read_servers(command));
  TRY(const Json labels, read_labels(command));
  constexpr size_t kMaxReplicas = 3;
  const size_t replicas = servers.size() < kMaxReplicas ? 1 : kMaxReplicas;
  const Json configuration = {{"node", names.node},
                              {"replicas", replicas},
                              {"cluster", names.cluster},
                              {"labels", labels},
                              {"servers", servers},
                              {"ca", folder.file("tls/ca.pem")},
                              {"node_key", folder.file("node.key")},
                              {"nats_seed", folder.file("nats.seed")},
                              {"trust", folder.file("trust.record")}};
  return indented_json(configuration);
}

Result<std::string> name_flag(const ParsedCommand& command, const char* flag) {
  const std::string name = command.value(flag, "");
  if (cluster::is_cluster_word(name)) return name;
  return fail(Code::invalid,
              command.has(flag) ? fmt::format("--{}: '{}' is not 1 to 32 of a-z, 0-9 and '-', not beginning with '-'",
                                              flag, printable(name, 64))
                                : fmt::format("--{} is missing", flag),
              fmt::format("for example --{} {}", flag, std::string_view(flag) == "node" ? "n1" : "main"));
}

}  // namespace admin

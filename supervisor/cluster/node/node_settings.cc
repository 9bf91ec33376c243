#include "supervisor/cluster/node/node_settings.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json_file.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/path.h"
#include "supervisor/cluster/link/node_messages.h"
#include "supervisor/cluster/link/view_messages.h"

namespace cluster {
namespace {

constexpr size_t kMaxBytes = 64 << 10;
constexpr size_t kMaxServers = 16;

Result<NodeLabels> read_labels(const Json* object) {
  NodeLabels labels;
  if (!object) return labels;
  if (!object->is_object() || object->size() > kMaxLabels)
    return fail(Code::invalid, "labels: not an object of at most 32");
  for (const auto& [key, value] : object->items()) {
    if (!value.is_string() || !is_label_text(key) || !is_label_text(value.get_ref<const std::string&>()))
      return fail(Code::invalid, "labels." + key + ": not a text of at most 64 printable ASCII characters");
    labels[key] = value.get<std::string>();
  }
  return labels;
}

// A secret that systemd passes to this service (LoadCredential= of its unit) has the name of its file.
std::string passed_secret(const std::string& file) {
  const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
  if (!folder) return file;
  const std::string passed = std::filesystem::path(folder) / std::filesystem::path(file).filename();
  return ::access(passed.c_str(), F_OK) == 0 ? passed : file;
}

Result<NodeSettings> read_settings(const Json& document) {
  Fields in(document, "");
  NodeSettings settings;
  TRY(settings.node, in.string("node", kMaxNodeName));
  if (!is_node_name(settings.node)) return fail(Code::invalid, "node: not 1 to 32 of a-z, 0-9 and '-'");
  TRY(settings.cluster, in.string("cluster", kMaxNodeName));
  TRY(settings.labels, read_labels(in.find("labels")));
  TRY(const int64_t slots, in.integer_or("slots", 0, 4096, settings.slots));
  settings.slots = static_cast<uint32_t>(slots);
  TRY(const int64_t replicas, in.integer_or("replicas", 1, 5, settings.replicas));
  settings.replicas = static_cast<int>(replicas);
  TRY(const int64_t divisor, in.integer_or("test_lease_divisor", 1, 10, settings.lease_divisor));
  settings.lease_divisor = static_cast<int>(divisor);
  TRY(settings.servers, in.strings_or("servers", {}));
  if (settings.servers.empty() || settings.servers.size() > kMaxServers)
    return fail(Code::invalid, "servers: name 1 to 16 servers of NATS, as tls://HOST:4222");
  TRY(settings.authorities, in.string_or("ca", ""));
  TRY(settings.node_key, in.string("node_key"));
  TRY(settings.nats_seed, in.string("nats_seed"));
  TRY(settings.trust, in.string("trust"));
  TRY(settings.state, in.string_or("state", settings.state));
  TRY(settings.socket, in.string_or("socket", settings.socket));
  TRY(settings.warderd, in.string_or("warderd", settings.warderd));
  CHECKED(in.done());
  settings.node_key = passed_secret(settings.node_key);
  settings.nats_seed = passed_secret(settings.nats_seed);
  return settings;
}

}  // namespace

Result<NodeSettings> read_node_settings(const std::string& file) {
  const Fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!opened) return fail_errno(errno, "open '" + file + "'", Code::invalid);
  auto text = read_complete(opened.get(), kMaxBytes);
  if (!text) return tl::unexpected<Error>(std::move(text).error().within(file));
  auto document = parse_json_file(*text);
  if (!document) return tl::unexpected<Error>(std::move(document).error().within(file));
  auto settings = read_settings(*document);
  if (!settings) return tl::unexpected<Error>(std::move(settings).error().within(file));
  return settings;
}

}  // namespace cluster

// Version, Era and RequestMeta: the versions and eras of MCP, and the `_meta` of a request.
//
// One connection may carry requests of both eras. A request with _meta["io.modelcontextprotocol/protocolVersion"] is
// modern (2026-07-28 and later): it is complete in itself and depends on no earlier message. Any other request is
// legacy, in the version that `initialize` agreed on. Source: the MCP specification, basic/ and basic/lifecycle of each
// version.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "supervisor/base/json/json_value.h"
#include "supervisor/protocol/mcp/jsonrpc.h"

namespace mcp {

enum class Version { v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28 };
enum class Era { legacy, modern };

constexpr Version kNewestLegacy = Version::v2025_11_25;
constexpr Version kNewestModern = Version::v2026_07_28;

constexpr Era era_of(Version version) { return version >= Version::v2026_07_28 ? Era::modern : Era::legacy; }
std::string_view version_name(Version version);
std::optional<Version> version_named(std::string_view name);
// The version for the answer to `initialize`: the requested one, or kNewestLegacy, as the official servers do.
Version negotiate(std::string_view requested);

// What changed on the wire, by the version that brought it.
constexpr bool has_batches(Version v) { return v == Version::v2025_03_26; }
constexpr bool has_annotations(Version v) { return v >= Version::v2025_03_26; }
constexpr bool has_audio(Version v) { return v >= Version::v2025_03_26; }
constexpr bool has_progress_message(Version v) { return v >= Version::v2025_03_26; }
constexpr bool has_structured_content(Version v) { return v >= Version::v2025_06_18; }
constexpr bool has_elicitation(Version v) { return v >= Version::v2025_06_18; }
constexpr bool has_elicitation_modes(Version v) { return v >= Version::v2025_11_25; }
constexpr bool has_resource_links(Version v) { return v >= Version::v2025_06_18; }
constexpr bool has_titles(Version v) { return v >= Version::v2025_06_18; }
constexpr bool has_core_tasks(Version v) { return v == Version::v2025_11_25; }
constexpr bool has_extensions(Version v) { return v >= Version::v2025_11_25; }
constexpr bool has_result_type(Version v) { return era_of(v) == Era::modern; }

namespace meta_key {
constexpr std::string_view kProtocolVersion = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view kClientCapabilities = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view kClientInfo = "io.modelcontextprotocol/clientInfo";
constexpr std::string_view kServerInfo = "io.modelcontextprotocol/serverInfo";
constexpr std::string_view kSubscriptionId = "io.modelcontextprotocol/subscriptionId";
constexpr std::string_view kRelatedTask = "io.modelcontextprotocol/related-task";  // 2025-11-25
constexpr std::string_view kLogLevel = "io.modelcontextprotocol/logLevel";
// Warder's own key, in the _meta of a result and the data of an error: no part of the request ran, and why.
// "draining": the next daemon will take the request. "refused": no request of this connection runs. "moved": between
// nodes of a cluster: another node has the workspace.
constexpr std::string_view kNotRun = "org.warder/not-run";
}  // namespace meta_key

// Severities of notifications/message, from RFC 5424; a larger number is worse.
enum class Severity { debug, info, notice, warning, error, critical, alert, emergency };
std::optional<Severity> severity_named(std::string_view name);
std::string_view severity_name(Severity severity);

// The params._meta of one request.
struct RequestMeta {
  std::optional<Version> modern;              // nullopt: a legacy request
  Json client_capabilities = Json::object();  // modern only
  Json client_info;                           // modern only; may be null
  std::optional<RequestId> progress_token;
  std::optional<Severity> log_level;  // modern only
  Json all = Json::object();
};
// Errors: invalid_params for a modern request that lacks a required key, unsupported_protocol_version.
tl::expected<RequestMeta, RpcError> read_meta(const Json& params);

RpcError unsupported_version(std::string_view requested);

// ttlMs and cacheScope of a result that modern clients may cache.
struct Caching {
  enum class Scope { all_users, requester };
  int64_t ttl_ms = 0;
  Scope scope = Scope::requester;
};

// The _meta of a result: key and JSON text. The values are text so that they can be made in advance, before a request
// waits for them.
using ResultMeta = std::map<std::string, std::string>;

// Whether a result is the answer, first asks the client for input, or names a task that will have the answer.
enum class Completeness { complete, input_required, task };

// Completes the members of a result: resultType, caching, and _meta with the server's name, where the version has them.
// `server_info` is JSON text.
void finish_result(std::string& members, Version version, std::string_view server_info, const ResultMeta& meta = {},
                   std::optional<Caching> caching = {}, Completeness completeness = Completeness::complete);

}  // namespace mcp

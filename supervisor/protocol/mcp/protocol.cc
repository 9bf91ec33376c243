#include "supervisor/protocol/mcp/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/value_bytes.h"
#include "supervisor/base/log.h"

namespace mcp {

namespace {

constexpr std::array<std::string_view, 5> kVersions = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25",
                                                       "2026-07-28"};
constexpr std::array<std::string_view, 8> kSeverities = {"debug", "info",     "notice", "warning",
                                                         "error", "critical", "alert",  "emergency"};

template <class Enum, size_t N>
std::optional<Enum> find_name(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) return {};
  return static_cast<Enum>(it - names.begin());
}

RpcError missing_key(std::string_view key, std::string_view type) {
  return {ErrorCode::invalid_params, fmt::format("Invalid params: _meta[\"{}\"] must be {}", key, type), {}};
}

}  // namespace

std::string_view version_name(Version version) { return kVersions[static_cast<size_t>(version)]; }
std::optional<Version> version_named(std::string_view name) { return find_name<Version>(kVersions, name); }

Version negotiate(std::string_view requested) {
  const auto existing = version_named(requested);
  return existing && era_of(*existing) == Era::legacy ? *existing : kNewestLegacy;
}

std::optional<Severity> severity_named(std::string_view name) { return find_name<Severity>(kSeverities, name); }
std::string_view severity_name(Severity severity) { return kSeverities[static_cast<size_t>(severity)]; }

RpcError unsupported_version(std::string_view requested) {
  Json data = {{"supported", Json::array({version_name(kNewestModern)})}, {"requested", printable(requested, 64)}};
  return {ErrorCode::unsupported_protocol_version, "Unsupported protocol version", std::move(data)};
}

tl::expected<RequestMeta, RpcError> read_meta(const Json& params) {
  RequestMeta meta;
  const auto it = params.find("_meta");
  if (it == params.end()) return meta;
  if (!it->is_object()) {
    return tl::unexpected(RpcError{ErrorCode::invalid_params, "Invalid params: _meta must be an object", {}});
  }
  if (is_large(*it)) {
    const auto text = fmt::format("Invalid params: _meta has more than {} KiB", kSmallText >> 10);
    return tl::unexpected(RpcError{ErrorCode::invalid_params, text, {}});
  }
  meta.all = *it;
  if (auto token = it->find("progressToken"); token != it->end() && !token->is_null()) {
    meta.progress_token = RequestId::from(*token);
    if (!meta.progress_token) return tl::unexpected(missing_key("progressToken", "a string or an integer"));
  }

  const auto version = it->find(meta_key::kProtocolVersion);
  const auto capabilities = it->find(meta_key::kClientCapabilities);
  if (version == it->end() && capabilities == it->end()) return meta;  // legacy

  if (version == it->end() || !version->is_string()) {
    return tl::unexpected(missing_key(meta_key::kProtocolVersion, "a string"));
  }
  const auto& name = version->get_ref<const std::string&>();
  meta.modern = version_named(name);
  if (!meta.modern || era_of(*meta.modern) != Era::modern) return tl::unexpected(unsupported_version(name));
  if (capabilities == it->end() || !capabilities->is_object()) {
    return tl::unexpected(missing_key(meta_key::kClientCapabilities, "an object"));
  }
  meta.client_capabilities = *capabilities;
  if (auto info = it->find(meta_key::kClientInfo); info != it->end()) meta.client_info = *info;
  if (auto level = it->find(meta_key::kLogLevel); level != it->end()) {
    if (level->is_string()) meta.log_level = severity_named(level->get_ref<const std::string&>());
    if (!meta.log_level) return tl::unexpected(missing_key(meta_key::kLogLevel, "a log level such as \"info\""));
  }
  return meta;
}

void finish_result(std::string& members, Version version, std::string_view server_info, const ResultMeta& meta,
                   std::optional<Caching> caching, Completeness completeness) {
  if (has_result_type(version)) {
    append_key(members, "resultType");
    constexpr std::string_view kTypes[] = {R"("complete")", R"("input_required")", R"("task")"};
    members += kTypes[static_cast<size_t>(completeness)];
    if (caching) {
      append_key(members, "ttlMs");
      members += std::to_string(caching->ttl_ms);
      append_key(members, "cacheScope");
      members += caching->scope == Caching::Scope::all_users ? R"("public")" : R"("private")";
    }
  }
  if (meta.empty() && !has_result_type(version)) return;

  append_key(members, "_meta");
  std::string inside;
  if (has_result_type(version)) {
    append_key(inside, meta_key::kServerInfo);
    inside += server_info;
  }
  for (const auto& [key, value] : meta) {
    append_key(inside, key);
    inside += value;
  }
  members += '{';
  members += inside;
  members += '}';
}

}  // namespace mcp

#include "supervisor/protocol/mcp/answers.h"

#include <fmt/format.h>

#include <algorithm>

namespace mcp {

RpcError rpc_error(const Error& error) {
  const bool callers_fault = error.code == Code::invalid || error.code == Code::not_found;
  Json data = {{"code", code_name(error.code)}};
  if (!error.rule.empty()) data["rule"] = error.rule;
  if (!error.hint.empty()) data["remedy"] = error.hint;
  return {callers_fault ? ErrorCode::invalid_params : ErrorCode::internal_error, error.what, std::move(data)};
}

RpcError bad_cursor() { return {ErrorCode::invalid_params, "Invalid params: unknown cursor", {}}; }

tl::expected<std::string, RpcError> string_in(const Json& object, const char* key, const char* shown_as) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_string()) {
    return refuse(ErrorCode::invalid_params, fmt::format("Invalid params: {} must be a string", shown_as));
  }
  return it->get<std::string>();
}

tl::expected<std::string, RpcError> cursor_in(const Json& params) {
  const auto it = params.find("cursor");
  if (it == params.end() || it->is_null()) return std::string();
  if (!it->is_string()) return tl::unexpected(bad_cursor());
  return it->get<std::string>();
}

tl::expected<Json, RpcError> arguments_in(Json& params) {
  const auto it = params.find("arguments");
  if (it == params.end() || it->is_null()) return Json::object();
  if (!it->is_object()) return refuse(ErrorCode::invalid_params, "Invalid params: arguments must be an object");
  return std::move(*it);
}

Caching stricter(Caching a, Caching b) {
  const bool anybody = a.scope == Caching::Scope::all_users && b.scope == Caching::Scope::all_users;
  return {std::min(a.ttl_ms, b.ttl_ms), anybody ? Caching::Scope::all_users : Caching::Scope::requester};
}

}  // namespace mcp

#include "supervisor/cluster/link/far_answer.h"

#include <fmt/format.h>

#include <utility>

#include "supervisor/base/json/json.h"
#include "supervisor/protocol/mcp/content.h"
#include "supervisor/protocol/mcp/written_result.h"

namespace cluster {
namespace {

// What a client may cache of the result.
std::optional<mcp::Caching> caching_of(const Json& result) {
  const auto ttl = result.find("ttlMs"), scope = result.find("cacheScope");
  if (ttl == result.end() || !ttl->is_number_unsigned() || scope == result.end()) return {};
  return mcp::Caching{ttl->get<int64_t>(),
                      *scope == "public" ? mcp::Caching::Scope::all_users : mcp::Caching::Scope::requester};
}

mcp::ResultMeta meta_of(const Json& result, const ResultForm& form) {
  mcp::ResultMeta meta;
  if (const auto it = result.find("_meta"); it != result.end() && it->is_object())
    for (const auto& [key, value] : it->items())
      if (key != mcp::meta_key::kServerInfo && key != mcp::meta_key::kNotRun) meta[key] = dump_json(value);
  meta[kNodeKey] = dump_json(form.node);
  return meta;
}

constexpr std::string_view kMoved = "moved";  // a value of mcp::meta_key::kNotRun

std::string tool_members(const mcp::ToolResult& result, const ResultForm& form) {
  std::string members;
  mcp::append_tool_result(members, result, form.version);
  mcp::finish_result(members, form.version, form.server, result.meta);
  return members;
}

bool is_false(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && *found == false;
}

}  // namespace

mcp::ErrorCode far_error_code(int64_t code, const Json& data, const ResultForm& form) {
  const auto sent = static_cast<mcp::ErrorCode>(code);
  const bool names_resource = form.method == mcp::Method::resources_read && data.is_object() && data.contains("uri");
  const bool is_legacy = mcp::era_of(form.version) != mcp::Era::modern;
  return names_resource && is_legacy && sent == mcp::ErrorCode::invalid_params ? mcp::ErrorCode::resource_not_found
                                                                               : sent;
}

bool denies_run(const Json& answer) {
  if (!answer.is_object()) return false;
  const auto meta = answer.find("_meta");
  if (answer.contains(mcp::meta_key::kNotRun) || is_false(answer, "may_have_run")) return true;
  if (meta != answer.end() && meta->is_object() && meta->contains(mcp::meta_key::kNotRun)) return true;
  const auto content = answer.find("content");
  if (content == answer.end() || !content->is_array() || content->empty()) return false;
  const Json& first = content->front();
  const auto text = first.is_object() ? first.find("text") : first.end();
  if (!first.is_object() || text == first.end() || !text->is_string()) return false;
  const auto body = parse_json(text->get_ref<const std::string&>());
  return body && is_false(*body, "may_have_run");
}

bool says_moved(const Json& answer) {
  const auto is_mark = [](const Json& object) {
    if (!object.is_object()) return false;
    const auto mark = object.find(mcp::meta_key::kNotRun);
    return mark != object.end() && *mark == kMoved;
  };
  if (!answer.is_object()) return false;
  const auto meta = answer.find("_meta");
  return is_mark(answer) || (meta != answer.end() && is_mark(*meta));
}

mcp::Answer write_far_result(const Json& result, const ResultForm& form) {
  if (form.method == mcp::Method::tools_call) {
    auto read = mcp::read_result(result);
    if (!read)
      return mcp::refuse(mcp::ErrorCode::internal_error,
                         fmt::format("node {} sent a result that this node cannot read", form.node));
    read->meta = meta_of(result, form);
    return tool_members(*read, form);
  }
  std::string members;
  for (const auto& [key, value] : result.items()) {
    if (key == "_meta" || key == "resultType" || key == "ttlMs" || key == "cacheScope") continue;
    mcp::append_key(members, key);
    members += dump_json(value);
  }
  mcp::finish_result(members, form.version, form.server, meta_of(result, form), caching_of(result));
  return members;
}

mcp::Answer write_far_failure(const FarFailure& failure, const ResultForm& form) {
  const std::string why = failure.node.empty() ? failure.why : fmt::format("node {}: {}", failure.node, failure.why);
  Json data = {{"code", failure.code}, {"may_have_run", failure.may_have_run}, {"remedy", failure.remedy}};
  if (!failure.node.empty()) data["node"] = failure.node;
  if (failure.has_moved && form.method != mcp::Method::tools_call) data[mcp::meta_key::kNotRun] = kMoved;
  if (form.method != mcp::Method::tools_call) return mcp::refuse(mcp::ErrorCode::internal_error, why, std::move(data));
  data["success"] = false;
  data["error"] = why;
  mcp::ToolResult result = mcp::ToolResult::data(std::move(data));
  result.is_error = true;
  if (failure.has_moved) result.meta[std::string(mcp::meta_key::kNotRun)] = dump_json(kMoved);
  return tool_members(result, form);
}

}  // namespace cluster

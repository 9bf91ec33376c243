#include "supervisor/protocol/mcp/completions.h"

#include "supervisor/base/json/json.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/protocol/mcp/response_filter.h"

namespace mcp {

namespace {

constexpr size_t kMaxCompletions = 100;  // the specification's limit

tl::expected<CompletionRequest, RpcError> read_request(const Json& params) {
  static const Json empty = Json::object();
  auto object_in = [](const Json& from, const char* key) -> const Json& {
    const auto it = from.find(key);
    return it != from.end() && it->is_object() ? *it : empty;
  };
  const Json& reference = object_in(params, "ref");
  const Json& argument = object_in(params, "argument");
  auto type = string_in(reference, "type", "ref.type");
  if (!type) return tl::unexpected(std::move(type).error());
  if (*type != "ref/prompt" && *type != "ref/resource") {
    return refuse(ErrorCode::invalid_params, "Invalid params: ref.type must be ref/prompt or ref/resource");
  }
  auto target = string_in(reference, *type == "ref/prompt" ? "name" : "uri", "ref's name or uri");
  if (!target) return tl::unexpected(std::move(target).error());
  auto name = string_in(argument, "name", "argument.name");
  if (!name) return tl::unexpected(std::move(name).error());
  auto value = string_in(argument, "value", "argument.value");
  if (!value) return tl::unexpected(std::move(value).error());
  CompletionRequest request;
  request.kind = *type == "ref/prompt" ? CompletionRequest::Kind::prompt : CompletionRequest::Kind::resource;
  request.reference = *std::move(target);
  request.argument = *std::move(name);
  request.value = *std::move(value);
  request.resolved = object_in(object_in(params, "context"), "arguments");
  return request;
}

}  // namespace

Task<Answer> Completions::complete(RequestContext& context, Json params, const std::string& identity) {
  auto request = read_request(params);
  if (!request) co_return tl::unexpected(std::move(request).error());
  auto match = co_await ask(context, *request);
  if (!match) co_return tl::unexpected(rpc_error(match.error()));
  auto hidden = co_await redact_answer(context.response_filter, *match);
  if (!hidden) co_return tl::unexpected(rpc_error(hidden.error()));
  const bool has_more = match->values.size() > kMaxCompletions || match->total.value_or(0) > match->values.size();
  if (match->values.size() > kMaxCompletions) match->values.resize(kMaxCompletions);
  Json completion = {{"values", match->values}};
  if (match->total) completion["total"] = *match->total;
  completion["hasMore"] = has_more;
  std::string members;
  append_key(members, "completion");
  members += dump_json(completion);
  finish_result(members, context.version, identity);
  co_return members;
}

Task<Result<Completion>> Completions::ask(RequestContext& context, const CompletionRequest& request) {
  for (const CompletionHandler& handler : handlers_) {
    auto match = co_await handler(context, request);
    if (match || match.error().code != Code::not_found) co_return match;
  }
  co_return fail(Code::not_found, "Invalid params: this reference or argument is not known");
}

}  // namespace mcp

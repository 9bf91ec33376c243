#include "supervisor/protocol/mcp/prompts.h"

#include <fmt/format.h>

#include <charconv>
#include <set>
#include <stdexcept>

#include "supervisor/base/json/json.h"
#include "supervisor/base/log.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/protocol/mcp/definitions.h"
#include "supervisor/protocol/mcp/response_filter.h"

namespace mcp {

namespace {

constexpr size_t kPage = 100;

// Reads the cursor, which is the number of prompts before the page.
tl::expected<size_t, RpcError> begin_of(const Json& params) {
  auto cursor = cursor_in(params);
  if (!cursor) return tl::unexpected(std::move(cursor).error());
  size_t begin = 0;
  if (cursor->empty()) return begin;
  auto [end, error] = std::from_chars(cursor->data(), cursor->data() + cursor->size(), begin);
  if (error != std::errc() || end != cursor->data() + cursor->size() || begin == 0 || begin % kPage != 0)
    return tl::unexpected(bad_cursor());
  return begin;
}

void append_message(std::string& out, const PromptMessage& message, Version version) {
  out +=
      message.role == PromptMessage::Role::user ? R"({"role":"user","content":)" : R"({"role":"assistant","content":)";
  append_block(out, message.content, version);
  out += '}';
}

}  // namespace

Result<> check_arguments(const Prompt& prompt, const Json& arguments) {
  for (const PromptArgument& argument : prompt.arguments) {
    if (argument.need == PromptArgument::Need::required && !arguments.contains(argument.name))
      return fail(Code::invalid, fmt::format("Invalid params: argument '{}' is missing", argument.name));
  }
  return {};
}

void Prompts::add(Prompt prompt, PromptHandler handler) {
  for (const Fixed& existing : fixed_) {
    if (existing.prompt.name == prompt.name)
      throw std::invalid_argument("prompt '" + prompt.name + "' is registered twice");
  }
  fixed_.push_back({std::move(prompt), std::move(handler)});
}

Task<Answer> Prompts::list(RequestContext& context, Json params, const std::string& identity, Caching caching) {
  auto begin = begin_of(params);
  if (!begin) co_return tl::unexpected(std::move(begin).error());
  std::vector<Prompt> all;
  std::set<std::string> names;
  for (const Fixed& fixed : fixed_) {
    names.insert(fixed.prompt.name);
    all.push_back(fixed.prompt);
  }
  for (const PromptProvider& provider : providers_) {
    auto provided = co_await provider.list(context);
    if (!provided) co_return tl::unexpected(rpc_error(provided.error()));
    for (Prompt& prompt : *provided) {
      if (names.insert(prompt.name).second) all.push_back(std::move(prompt));
    }
    caching = stricter(caching, provider.caching);
  }
  if (*begin > 0 && *begin >= all.size()) co_return tl::unexpected(bad_cursor());
  const bool more = all.size() > *begin + kPage;
  const size_t end = more ? *begin + kPage : all.size();
  all.erase(all.begin() + static_cast<ptrdiff_t>(end), all.end());
  all.erase(all.begin(), all.begin() + static_cast<ptrdiff_t>(*begin));
  auto hidden = co_await redact_answer(context.response_filter, all);
  if (!hidden) co_return tl::unexpected(rpc_error(hidden.error()));
  std::string members;
  append_list(members, "prompts", all, context.version, append_prompt);
  if (more) {
    append_key(members, "nextCursor");
    append_json_string(members, std::to_string(end));
  }
  finish_result(members, context.version, identity, {}, caching);
  co_return members;
}

Task<Answer> Prompts::get(RequestContext& context, Json params, const std::string& identity) {
  auto name = string_in(params, "name", "name");
  if (!name) co_return tl::unexpected(std::move(name).error());
  auto arguments = arguments_in(params);
  if (!arguments) co_return tl::unexpected(std::move(arguments).error());
  for (const auto& [key, value] : arguments->items()) {
    if (!value.is_string()) {
      co_return refuse(ErrorCode::invalid_params,
                       fmt::format("Invalid params: argument '{}' must be a string", printable(key, 64)));
    }
  }
  auto result = co_await fill_in(context, *name, *arguments);
  if (!result) co_return tl::unexpected(rpc_error(result.error()));
  auto hidden = co_await redact_answer(context.response_filter, *result);
  if (!hidden) co_return tl::unexpected(rpc_error(hidden.error()));
  std::string members;
  if (!result->description.empty()) {
    append_key(members, "description");
    append_json_string(members, result->description);
  }
  append_list(members, "messages", result->messages, context.version, append_message);
  finish_result(members, context.version, identity);
  co_return members;
}

Task<Result<PromptResult>> Prompts::fill_in(RequestContext& context, const std::string& name, const Json& arguments) {
  for (const Fixed& fixed : fixed_) {
    if (fixed.prompt.name != name) continue;
    CO_CHECKED(check_arguments(fixed.prompt, arguments));
    auto result = co_await fixed.handler(context, arguments);
    co_return result;
  }
  for (const PromptProvider& provider : providers_) {
    auto result = co_await provider.get(context, name, arguments);
    if (result || result.error().code != Code::not_found) co_return result;
  }
  co_return fail(Code::not_found, fmt::format("Unknown prompt: {}", printable(name, 128)));
}

}  // namespace mcp

#include "supervisor/protocol/mcp/resources.h"

#include <charconv>
#include <optional>

#include "supervisor/base/json/json.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/protocol/mcp/definitions.h"
#include "supervisor/protocol/mcp/response_filter.h"

namespace mcp {

namespace {

constexpr size_t kFullPage = 100;  // resources on a page; then no further provider is asked

// The place where a page begins; as a cursor "<index of the provider>:<the provider's own cursor>".
struct CursorPlace {
  size_t provider = 0;
  std::string cursor;
  std::string text() const { return std::to_string(provider) + ":" + cursor; }
};

std::optional<CursorPlace> parse_place(const std::string& text, size_t providers) {
  CursorPlace position;
  if (text.empty()) return position;
  const size_t colon = text.find(':');
  if (colon == text.npos) return {};
  auto [end, error] = std::from_chars(text.data(), text.data() + colon, position.provider);
  if (error != std::errc() || end != text.data() + colon || position.provider >= providers) return {};
  position.cursor = text.substr(colon + 1);
  return position;
}

}  // namespace

Task<Answer> Resources::list(RequestContext& context, Json params, const std::string& identity) {
  auto cursor = cursor_in(params);
  if (!cursor) co_return tl::unexpected(std::move(cursor).error());
  auto position = parse_place(*cursor, providers_.size());
  if (!position) co_return tl::unexpected(bad_cursor());
  Caching caching = providers_[position->provider].caching;
  ResourcePage resource_page;
  std::vector<Resource>& resources = resource_page.resources;
  while (position->provider < providers_.size() && resources.size() < kFullPage) {
    const ResourceProvider& provider = providers_[position->provider];
    caching = stricter(caching, provider.caching);
    auto page = co_await provider.list(context, position->cursor);
    if (!page) co_return tl::unexpected(rpc_error(page.error()));
    for (Resource& resource : page->resources) resources.push_back(std::move(resource));
    position->cursor = page->next_cursor;
    if (!position->cursor.empty()) break;
    position->provider++;
  }
  if (position->provider < providers_.size()) resource_page.next_cursor = position->text();
  auto hidden = co_await redact_answer(context.response_filter, resource_page);
  if (!hidden) co_return tl::unexpected(rpc_error(hidden.error()));
  std::string members;
  append_list(members, "resources", resources, context.version, append_resource);
  if (!resource_page.next_cursor.empty()) {
    append_key(members, "nextCursor");
    append_json_string(members, resource_page.next_cursor);
  }
  finish_result(members, context.version, identity, {}, caching);
  co_return members;
}

const ResourceProvider* Resources::provider_of(std::string_view uri) const {
  for (const ResourceProvider& provider : providers_) {
    if (provider.prefixes.empty()) return &provider;
    for (const std::string& prefix : provider.prefixes) {
      if (uri.starts_with(prefix)) return &provider;
    }
  }
  return nullptr;
}

Task<Answer> Resources::read(RequestContext& context, Json params, const std::string& identity) {
  auto uri = string_in(params, "uri", "uri");
  if (!uri) co_return tl::unexpected(std::move(uri).error());
  const ResourceProvider* provider = provider_of(*uri);
  std::vector<ResourceContents> contents;
  if (provider != nullptr) {
    auto match = co_await provider->read(context, *uri);
    if (!match && match.error().code != Code::not_found) co_return tl::unexpected(rpc_error(match.error()));
    if (match) contents = *std::move(match);
  }
  if (contents.empty()) {
    const bool modern = context.era() == Era::modern;
    co_return refuse(modern ? ErrorCode::invalid_params : ErrorCode::resource_not_found, "Resource not found",
                     {{"uri", *uri}});
  }
  size_t bytes = 0;
  for (const ResourceContents& content : contents) bytes += content.data.size();
  context.note_answer_size(bytes * copies_of_answer(context.response_filter));
  auto hidden = co_await redact_answer(context.response_filter, contents);
  if (!hidden) co_return tl::unexpected(rpc_error(hidden.error()));
  std::string members;
  append_list(members, "contents", contents, context.version,
              [](std::string& out, const ResourceContents& resource_contents, Version) {
                append_contents(out, resource_contents);
              });
  finish_result(members, context.version, identity, {}, provider->caching);
  co_return members;
}

std::string Resources::template_members(Version version, const std::string& identity) const {
  std::vector<ResourceTemplate> templates;
  Caching caching = providers_.front().caching;
  for (const ResourceProvider& provider : providers_) {
    templates.insert(templates.end(), provider.templates.begin(), provider.templates.end());
    caching = stricter(caching, provider.caching);
  }
  std::string members;
  append_list(members, "resourceTemplates", templates, version, append_template);
  finish_result(members, version, identity, {}, caching);
  return members;
}

}  // namespace mcp

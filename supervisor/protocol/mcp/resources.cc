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
  CursorPlace place;
  if (text.empty()) return place;
  const size_t colon = text.find(':');
  if (colon == text.npos) return {};
  auto [end, error] = std::from_chars(text.data(), text.data() + colon, place.provider);
  if (error != std::errc() || end != text.data() + colon || place.provider >= providers) return {};
  place.cursor = text.substr(colon + 1);
  return place;
}

}  // namespace

Task<Answer> Resources::list(RequestContext& context, Json params, const std::string& identity) {
  auto cursor = cursor_in(params);
  if (!cursor) co_return tl::unexpected(std::move(cursor).error());
  auto place = parse_place(*cursor, providers_.size());
  if (!place) co_return tl::unexpected(bad_cursor());
  Caching caching = providers_[place->provider].caching;
  ResourcePage whole;
  std::vector<Resource>& resources = whole.resources;
  while (place->provider < providers_.size() && resources.size() < kFullPage) {
    const ResourceProvider& provider = providers_[place->provider];
    caching = stricter(caching, provider.caching);
    auto page = co_await provider.list(context, place->cursor);
    if (!page) co_return tl::unexpected(rpc_error(page.error()));
    for (Resource& resource : page->resources) resources.push_back(std::move(resource));
    place->cursor = page->next_cursor;
    if (!place->cursor.empty()) break;
    place->provider++;
  }
  if (place->provider < providers_.size()) whole.next_cursor = place->text();
  auto hidden = co_await redact_answer(context.response_filter, whole);
  if (!hidden) co_return tl::unexpected(rpc_error(hidden.error()));
  std::string members;
  append_list(members, "resources", resources, context.version, append_resource);
  if (!whole.next_cursor.empty()) {
    append_key(members, "nextCursor");
    append_json_string(members, whole.next_cursor);
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
    auto found = co_await provider->read(context, *uri);
    if (!found && found.error().code != Code::not_found) co_return tl::unexpected(rpc_error(found.error()));
    if (found) contents = *std::move(found);
  }
  if (contents.empty()) {
    const bool modern = context.era() == Era::modern;
    co_return refuse(modern ? ErrorCode::invalid_params : ErrorCode::resource_not_found, "Resource not found",
                     {{"uri", *uri}});
  }
  size_t bytes = 0;
  for (const ResourceContents& one : contents) bytes += one.data.size();
  context.made(bytes * copies_of_answer(context.response_filter));
  auto hidden = co_await redact_answer(context.response_filter, contents);
  if (!hidden) co_return tl::unexpected(rpc_error(hidden.error()));
  std::string members;
  append_list(members, "contents", contents, context.version,
              [](std::string& out, const ResourceContents& one, Version) { append_contents(out, one); });
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

#include "supervisor/tools/skills/skill_resources.h"

#include <fmt/format.h>

#include <algorithm>

#include "skills/front_matter.h"
#include "skills/name.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/log.h"
#include "supervisor/base/media_type.h"
#include "supervisor/tenants/resource_uris.h"
#include "supervisor/tools/workspace/workspace_tools.h"

namespace tools {
namespace {

constexpr char kExtension[] = "io.modelcontextprotocol/skills";
constexpr char kHead[] = "SKILL.md";
constexpr size_t kSkillsPerPage = 100;
constexpr int64_t kTtlMs = 60'000;  // milliseconds; subscribed clients are notified of changes sooner
constexpr mcp::Caching kCaching{kTtlMs, mcp::Caching::Scope::requester};

// The extension's results have these keys in every version of the protocol.
void add_caching(Json& result) {
  result["ttlMs"] = kTtlMs;
  result["cacheScope"] = "private";
}

Json entry_of(const skills::Skill& skill) {
  Json resources = Json::array();
  for (const skills::SkillFile& file : skill.files) {
    Json item = {{"uri", skills::uri_of(skill.slug, file.path)}, {"digest", file.digest}, {"size", file.size}};
    resources.push_back(std::move(item));
  }
  return {{"uri", skills::uri_of(skill.slug, kHead)},
          {"frontmatter", skill.front_matter},
          {"resources", std::move(resources)}};
}

// Page: one page of skills, in the order of their slugs. The cursor is the last slug of the page before.
struct Page {
  std::vector<skills::SkillMatch> skills;
  std::string next_cursor;
};
Result<Page> page_of(const skills::Library& library, const std::string& cursor) {
  if (!cursor.empty() && !skills::is_slug(cursor)) return fail(Code::invalid, "Invalid params: unknown cursor");
  Page page;
  page.skills = library.all();
  std::erase_if(page.skills, [&](const skills::SkillMatch& item) { return item.skill->slug <= cursor; });
  if (page.skills.size() > kSkillsPerPage) {
    page.skills.resize(kSkillsPerPage, page.skills.front());
    page.next_cursor = page.skills.back().skill->slug;
  }
  return page;
}

Result<std::string> text_param(const Json& params, const char* key) {
  auto it = params.find(key);
  if (it == params.end() || it->is_null()) return std::string();
  if (!it->is_string()) return fail(Code::invalid, fmt::format("Invalid params: {} must be a string", key));
  return it->get<std::string>();
}

Task<Result<skills::Library>> library_of(skill_stores::TenantSkills& skills,
                                         const Result<tenants::Requester>& requester) {
  if (!requester) co_return tl::unexpected<Error>(requester.error());
  auto library = co_await skills.library(requester->tenant);
  co_return library;
}

SkillAnswer list_entries(skill_stores::TenantSkills& skills, Result<tenants::Requester> requester, Json params) {
  CO_TRY(std::string cursor, text_param(params, "cursor"));
  CO_TRY(skills::Library library, co_await library_of(skills, requester));
  CO_TRY(Page page, page_of(library, cursor));
  Json result = {{"skills", Json::array()}};
  for (const skills::SkillMatch& skill : page.skills) result["skills"].push_back(entry_of(*skill.skill));
  if (!page.next_cursor.empty()) result["nextCursor"] = page.next_cursor;
  add_caching(result);
  co_return result;
}

auto no_such(std::string_view subject, std::string_view uri) {
  return fail(Code::not_found, fmt::format("{}: {}", subject, printable(uri, 256)), "skills/list lists all skills");
}

std::optional<skills::SkillMatch> find_at(const skills::Library& library, const std::optional<skills::SkillUri>& uri) {
  return uri ? library.find(uri->slug) : std::nullopt;
}

SkillAnswer get_entry(skill_stores::TenantSkills& skills, Result<tenants::Requester> requester, Json params) {
  CO_TRY(std::string uri, text_param(params, "uri"));
  CO_TRY(skills::Library library, co_await library_of(skills, requester));
  const auto position = skills::parse_uri(uri);
  const auto found = find_at(library, position);
  if (!found || position->path != kHead) co_return no_such("No skill has this URI", uri);
  Json result = {{"skill", entry_of(*found->skill)}};
  add_caching(result);
  co_return result;
}

SkillAnswer read_skill_folder(skill_stores::TenantSkills& skills, Result<tenants::Requester> requester, Json params) {
  CO_TRY(std::string uri, text_param(params, "uri"));
  CO_TRY(std::string cursor, text_param(params, "cursor"));
  CO_TRY(skills::Library library, co_await library_of(skills, requester));
  if (uri.starts_with(tenants::kWorkspaceScheme)) {  // one method for skills and workspaces
    auto folder = co_await read_workspace_folder(*requester->tenant, std::move(uri), std::move(cursor));
    co_return folder;
  }
  const auto position = skills::parse_uri(uri);
  const auto found = find_at(library, position);
  const auto names = found ? skills::children(*found->skill, position->path) : std::nullopt;
  if (!names) co_return no_such("No folder has this URI", uri);
  if (!cursor.empty()) co_return fail(Code::invalid, "Invalid params: unknown cursor");  // all names are in one page
  Json result = {{"resources", Json::array()}};
  for (const std::string& name : *names) {
    const bool folder = name.ends_with('/');
    const std::string plain = folder ? name.substr(0, name.size() - 1) : name;
    const std::string path = position->path.empty() ? plain : position->path + "/" + plain;
    Json item = {{"uri", skills::uri_of(position->slug, path)}, {"name", plain}};
    item["mimeType"] = folder ? std::string(kFolderType) : std::string(mime_type(path, "text"));
    if (!folder) item["size"] = found->skill->find_file(path)->size;
    result["resources"].push_back(std::move(item));
  }
  add_caching(result);
  co_return result;
}

Task<Result<mcp::ResourcePage>> list_skill_files(skill_stores::TenantSkills& skills,
                                                 Result<tenants::Requester> requester, std::string cursor) {
  CO_TRY(skills::Library library, co_await library_of(skills, requester));
  CO_TRY(Page match, page_of(library, cursor));
  mcp::ResourcePage page;
  page.next_cursor = std::move(match.next_cursor);
  for (const skills::SkillMatch& skill : match.skills) {
    mcp::Resource resource;
    resource.uri = skills::uri_of(skill.skill->slug, kHead);
    resource.name = skill.skill->slug;
    resource.description = skill.skill->front_matter.value("description", "");
    resource.mime_type = "text/markdown";
    resource.size = skill.skill->files.front().size;
    page.resources.push_back(std::move(resource));
  }
  co_return page;
}

Task<Result<std::vector<mcp::ResourceContents>>> read_skill_file(skill_stores::TenantSkills& skills,
                                                                 Result<tenants::Requester> requester,
                                                                 std::string uri) {
  CO_TRY(skills::Library library, co_await library_of(skills, requester));
  const auto position = skills::parse_uri(uri);
  const auto found = find_at(library, position);
  if (!found) co_return no_such("No skill has this URI", uri);
  CO_TRY(std::string bytes, library.read(*found, position->path));
  std::string type(mime_type(uri, bytes));
  co_return mcp::file_contents(std::move(uri), std::move(type), std::move(bytes));
}

// The text of a prompt: the text of SKILL.md, then the user's task.
Result<std::string> prompt_text(const skills::Library& library, const skills::SkillMatch& match,
                                const Json& arguments) {
  TRY(std::string head, library.read(match, kHead));
  TRY(skills::FrontMatter parsed, skills::parse_front_matter(head));
  std::string text(parsed.body);
  if (auto task = arguments.find("task"); task != arguments.end())
    text += fmt::format("\nUse this skill, in execute_code, for the following: {}\n", task->get<std::string>());
  return text;
}

Task<Result<std::vector<mcp::Prompt>>> list_prompts(skill_stores::TenantSkills& skills,
                                                    Result<tenants::Requester> requester) {
  CO_TRY(skills::Library library, co_await library_of(skills, requester));
  std::vector<mcp::Prompt> prompts;
  for (const skills::SkillMatch& item : library.all()) {
    mcp::Prompt prompt;
    prompt.name = item.skill->name;
    prompt.description = item.skill->front_matter.value("description", "");
    mcp::PromptArgument task;
    task.name = "task";
    task.description = "The purpose";
    prompt.arguments.push_back(std::move(task));
    prompts.push_back(std::move(prompt));
  }
  co_return prompts;
}

Task<Result<mcp::PromptResult>> get_prompt(skill_stores::TenantSkills& skills, Result<tenants::Requester> requester,
                                           std::string name, Json arguments) {
  CO_TRY(skills::Library library, co_await library_of(skills, requester));
  const auto it = library.find(name);
  if (!it || it->skill->name != name) co_return fail(Code::not_found, "no skill has this name");
  CO_TRY(std::string text, prompt_text(library, *it, arguments));
  mcp::PromptResult result;
  result.description = it->skill->front_matter.value("description", "");
  mcp::PromptMessage message;
  message.content = mcp::Text{std::move(text)};
  result.messages.push_back(std::move(message));
  co_return result;
}

}  // namespace

void add_skill_resources(mcp::Server& server, skill_stores::TenantSkills& skills, Work& work,
                         const tenants::RequesterOf& requester_of) {
  server.add_extension(kExtension, {{"directoryRead", true}});
  auto add = [&](const char* method, auto* answer) {
    server.add_method(method, [&skills, requester_of, answer](mcp::RequestContext& context, Json params) {
      return answer(skills, requester_of(context), std::move(params));
    });
  };
  add("skills/list", list_entries);
  add("skills/get", get_entry);
  add("resources/directory/read", read_skill_folder);

  mcp::ResourceProvider provider;
  provider.changes = mcp::ResourceProvider::Changes::reported;
  provider.prefixes = {"skill://"};
  provider.caching = kCaching;
  provider.list = [&skills, requester_of](mcp::RequestContext& context, std::string cursor) {
    return list_skill_files(skills, requester_of(context), std::move(cursor));
  };
  provider.read = [&skills, requester_of](mcp::RequestContext& context, std::string uri) {
    return read_skill_file(skills, requester_of(context), std::move(uri));
  };
  mcp::ResourceTemplate file;
  file.uri_template = kSkillTemplate;
  file.name = "skill file";
  file.description = "A file of a skill";
  provider.templates = {file};
  server.add_resources(std::move(provider));
  server.add_completion(skill_completion(skills, work, requester_of));

  mcp::PromptProvider prompts;
  prompts.caching = kCaching;
  prompts.list = [&skills, requester_of](mcp::RequestContext& context) {
    return list_prompts(skills, requester_of(context));
  };
  prompts.get = [&skills, requester_of](mcp::RequestContext& context, std::string name, Json arguments) {
    return get_prompt(skills, requester_of(context), std::move(name), std::move(arguments));
  };
  server.add_prompts(std::move(prompts));
}

}  // namespace tools

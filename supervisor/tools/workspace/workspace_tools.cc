#include "supervisor/tools/workspace/workspace_tools.h"

#include <charconv>

#include "policies/policy_parts.h"
#include "policies/staging_rules.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/media_type.h"
#include "supervisor/base/percent.h"
#include "supervisor/executions/runs/background.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/tenants/resource_uris.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tools/execution/execution_account.h"
#include "supervisor/tools/execution/execution_code.h"
#include "supervisor/tools/workspace/resource_changes.h"
#include "supervisor/tools/workspace/workspace_paths.h"

namespace tools {
namespace {

constexpr size_t kMaxResourceBytes = 4 << 20;  // resources/read has no ranges
constexpr size_t kEntriesPerPage = 100;
constexpr size_t kMaxPaged = 10'000;

using FileWork = Task<Result<Json>>(tenants::Tenant&, Json);

// Where programs cannot change the workspace, or only through a person, the tools of the agent cannot either.
Result<> check_writable(const policies::Policy& policy) {
  const policies::StagingRules& rules = policies::staging_of(policy);
  using policies::WorkspaceMode;
  if (rules.mode == WorkspaceMode::direct) return {};
  if (rules.mode == WorkspaceMode::staged && rules.commit == policies::CommitBy::agent) return {};
  const bool is_staged = rules.mode == WorkspaceMode::staged;
  return fail(
      Code::denied,
      "policy '" + policies::name_of(policy) + "' lets no tool change the workspace" + (is_staged ? " directly" : ""),
      is_staged ? "change the files in a program of execute_code; its changes become a proposal"
                : "keep data in the answer, or ask the administrator to change workspace.mode",
      "workspace.mode");
}

// Work that writes or removes `filename`. It also notifies the subscribed clients.
Task<Result<Json>> report_when_done(ResourceChanges& changes, const tenants::Requester& requester, FileWork* work,
                                    Json arguments) {
  CO_CHECKED(check_writable(*requester.policy));
  tenants::Tenant& tenant = *requester.tenant;
  std::string changed;  // found before the call: afterwards the name may mean another file
  if (auto path = workspace_path(tenant, arguments.value("filename", ""))) changed = path->text();
  auto writing = co_await tenant.workspace().begin_writing();
  auto answer = co_await work(tenant, std::move(arguments));
  co_await tenant.workspace().end_writing(std::move(writing));
  if (answer) changes.notify(tenant, changed);
  co_return answer;
}

Task<Result<mcp::ResourcePage>> list_of(Result<tenants::Requester> requester, std::string cursor) {
  if (!requester) co_return tl::unexpected<Error>(std::move(requester).error());
  auto page = co_await list_resources(*requester->tenant, std::move(cursor));
  co_return page;
}

Task<Result<std::vector<mcp::ResourceContents>>> read_of(Result<tenants::Requester> requester,
                                                         journal::Journal& journal, runs::ExecutionStores stores,
                                                         const executions::RecentCode& recent, std::string uri) {
  if (!requester) co_return tl::unexpected<Error>(std::move(requester).error());
  if (auto execution = tenants::execution_of_part(uri, tenants::kReceiptPart)) {
    CO_TRY(std::string text, co_await journal.receipt(requester->tenant->name(), *std::move(execution)));
    co_return mcp::json_contents(std::move(uri), std::move(text));
  }
  if (auto execution = tenants::execution_of_part(uri, tenants::kStatsPart)) {
    CO_TRY(std::string text, co_await read_account(journal, requester->tenant->name(), *std::move(execution)));
    co_return mcp::json_contents(std::move(uri), std::move(text));
  }
  if (auto execution = tenants::execution_of_part(uri, tenants::kResultPart)) {
    CO_TRY(runs::ExecutionResult result, co_await runs::find_result(stores, *requester->tenant, *std::move(execution)));
    if (result.state != runs::ExecutionResult::State::stored)
      co_return mcp::json_contents(std::move(uri), std::move(result.text));
  }
  if (auto execution = tenants::execution_of_part(uri, tenants::kCodePart)) {
    CO_TRY(std::string text, read_code(recent, requester->tenant->name(), *execution));
    co_return mcp::json_contents(std::move(uri), std::move(text));
  }
  auto contents = co_await read_resource(*requester->tenant, std::move(uri));
  co_return contents;
}

// For jailed code, which reads the files of its workspace itself: kept output and results, by range.
Task<Result<jail::CallReply>> read_kept(FileReading reading, const tenants::Requester& requester, Json arguments) {
  const Json named = arguments.value("filename", Json());
  if (!named.is_string() || !named.get_ref<const std::string&>().starts_with(tenants::kExecutionScheme))
    co_return fail(Code::invalid, "read_workspace_file: a program reads kept output, exec:///<execution_id>/stdout");
  if (!arguments.contains("offset")) arguments["offset"] = 0;
  CO_TRY(const mcp::ToolResult read, co_await read_workspace_file(reading, requester, std::move(arguments)));
  const auto* text = read.content.empty() ? nullptr : std::get_if<mcp::Text>(&read.content.front());
  if (!text) co_return fail(Code::internal, "the answer has no text");
  CO_TRY(Json answer, parse_json(text->text));
  co_return jail::CallReply(std::move(answer), text->text.size());
}

// A cursor is the number of files before its page.
Result<size_t> parse_cursor(const std::string& cursor) {
  size_t begin = 0;
  auto [end, error] = std::from_chars(cursor.data(), cursor.data() + cursor.size(), begin);
  bool good = cursor.empty() || (error == std::errc() && end == cursor.data() + cursor.size() && begin < kMaxPaged);
  if (!good) return fail(Code::invalid, "this cursor is not from this server", "list from the start, without a cursor");
  return begin;
}

Result<std::string> bytes_of_range(Result<tenants::FileRange> range) {
  if (!range) return tl::unexpected<Error>(std::move(range).error());
  if (range->more())
    return fail(Code::invalid,
                "the file has " + std::to_string(range->size) + " bytes, a resource may have " +
                    std::to_string(kMaxResourceBytes),
                "read it in parts with read_workspace_file");
  return std::move(range->bytes);
}

// A line says how many bytes of the middle are not stored.
Result<std::string> whole_kept(const tenants::SavedStream& stream) {
  const auto gap = stream.gap();
  if (!gap || stream.size() - gap->bytes > kMaxResourceBytes) return bytes_of_range(stream.read(0, kMaxResourceBytes));
  TRY(const tenants::FileRange head, stream.read(0, kMaxResourceBytes));
  TRY(const tenants::FileRange tail, stream.read(gap->offset, kMaxResourceBytes));
  return head.bytes + "\n[... " + std::to_string(gap->bytes) + " bytes left out ...]\n" + tail.bytes;
}

Result<std::string> read_uri(tenants::Tenant& tenant, const std::string& uri) {
  const NamedWork named_work(LoopWork::workspace, &tenant.name());
  TRY(auto saved, tenants::parse_saved_output(uri));
  if (saved) {
    TRY(const tenants::SavedStream stream, tenant.executions().open_stream(saved->execution, saved->stream));
    return whole_kept(stream);
  }
  if (uri.starts_with(tenants::kSessionScheme))
    return tenant.sessions().read(uri.substr(tenants::kSessionScheme.size()));
  if (!uri.starts_with(tenants::kWorkspaceScheme))
    return fail(Code::not_found, "this resource does not exist",
                "resources are workspace:///path, exec:///<execution_id>/stdout|stderr|stats|result|code|receipt and "
                "session:///<session_id>");
  TRY(std::string name, decode_percent(std::string_view(uri).substr(tenants::kWorkspaceScheme.size())));
  TRY(RelativePath path, RelativePath::parse(name));
  return bytes_of_range(tenant.workspace().read(path, 0, kMaxResourceBytes));
}

}  // namespace

void add_workspace_tools(const OperationRegistry& registry, ResourceChanges& changes, runs::ExecutionStores stores,
                         journal::Journal& journal, ResourceDeleter* workflows) {
  auto that_changes = [&changes](FileWork* work) {
    return [&changes, work](const tenants::Requester& requester, Json arguments) {
      return report_when_done(changes, requester, work, std::move(arguments));
    };
  };
  auto read = [stores, &journal, &server = registry.server()](mcp::RequestContext& context,
                                                              const tenants::Requester& requester, Json arguments) {
    return read_workspace_file({context.loop, stores, &journal, server.work()}, requester, std::move(arguments));
  };
  auto read_for_code = [stores, &journal, &server = registry.server()](calls::GuestCaller& caller, Json arguments) {
    return read_kept({caller.client.loop, stores, &journal, server.work()}, caller, std::move(arguments));
  };
  auto list = [](const tenants::Requester& requester, Json arguments) {
    return list_workspace_files(*requester.tenant, std::move(arguments));
  };
  registry.add(agent_operation(write_workspace_file_definition(), that_changes(write_workspace_file)));
  registry.add({read_workspace_file_definition(), read, read_for_code});
  registry.add(agent_operation(list_workspace_files_definition(), list));
  auto remove = [stores, workflows, delete_file = that_changes(delete_workspace_file)](
                    const tenants::Requester& requester, Json arguments) {
    const std::string named = arguments.value("filename", "");
    if (auto execution = runs::execution_of_uri(named)) {
      if (runs::check_chosen_id(*execution)) {
        tasks::TaskOwner owner{requester.tenant->name(), requester.principal.name()};
        return runs::cancel_named(stores, std::move(owner), *std::move(execution));
      }
      return ready(runs::delete_execution(stores.background, stores.executions, requester.tenant->name(), *execution));
    }
    if (named.starts_with("workflow:///")) {
      if (workflows) return workflows->remove(requester, named);
      return ready(Result<Json>(fail(Code::not_found, "there are no workflows: this Warder was built without them")));
    }
    return delete_file(requester, std::move(arguments));
  };
  registry.add(agent_operation(delete_workspace_file_definition(), remove));
}

Task<Result<mcp::ResourcePage>> list_resources(tenants::Tenant& tenant, std::string cursor) {
  CO_TRY(size_t begin, parse_cursor(cursor));
  tenants::ListOptions options;
  options.limit = begin + kEntriesPerPage;
  CO_TRY(tenants::Listing listing, co_await tenant.workspace().list(RelativePath(), options));
  mcp::ResourcePage page;
  if (begin == 0) {  // session logs come first, because there may be many files
    CO_TRY(std::vector<std::string> sessions, tenant.sessions().list());
    for (const std::string& id : sessions) {
      mcp::Resource log;
      log.uri = std::string(tenants::kSessionScheme) + id;
      log.name = "session " + id;
      log.mime_type = "application/json";
      page.resources.push_back(std::move(log));
    }
  }
  for (size_t i = begin; i < listing.entries.size(); i++) {
    const tenants::Entry& entry = listing.entries[i];
    if (entry.kind != tenants::FileKind::file || valid_utf8(entry.path) != entry.path) continue;  // no URI can name it
    mcp::Resource resource;
    resource.uri = std::string(tenants::kWorkspaceScheme) + encode_percent(entry.path);
    resource.name = entry.path;
    resource.size = entry.size;
    page.resources.push_back(std::move(resource));
  }
  size_t end = begin + kEntriesPerPage;
  if (listing.more && listing.entries.size() == end && end < kMaxPaged) page.next_cursor = std::to_string(end);
  co_return page;
}

Task<Result<Json>> read_workspace_folder(tenants::Tenant& tenant, std::string uri, std::string cursor) {
  CO_TRY(size_t begin, parse_cursor(cursor));
  CO_TRY(std::string name, decode_percent(std::string_view(uri).substr(tenants::kWorkspaceScheme.size())));
  while (name.ends_with('/')) name.pop_back();
  RelativePath folder;
  if (!name.empty()) {
    CO_TRY(folder, RelativePath::parse(name));
  }
  tenants::ListOptions options;
  options.depth = 1;
  options.folders = tenants::ListOptions::Folders::listed;
  options.limit = begin + kEntriesPerPage;
  CO_TRY(tenants::Listing listing, co_await tenant.workspace().list(folder, options));
  Json result = {{"resources", Json::array()}};
  for (size_t i = begin; i < listing.entries.size(); i++) {
    const tenants::Entry& entry = listing.entries[i];
    const bool is_folder = entry.kind == tenants::FileKind::directory;
    if ((!is_folder && entry.kind != tenants::FileKind::file) || valid_utf8(entry.path) != entry.path) continue;
    Json item = {{"uri", std::string(tenants::kWorkspaceScheme) + encode_percent(entry.path)},
                 {"name", entry.path.substr(entry.path.rfind('/') + 1)}};
    if (is_folder) item["mimeType"] = kFolderType;
    if (!is_folder) item["size"] = entry.size;
    result["resources"].push_back(std::move(item));
  }
  const size_t end = begin + kEntriesPerPage;
  if (listing.more && listing.entries.size() == end && end < kMaxPaged) result["nextCursor"] = std::to_string(end);
  result["ttlMs"] = 0;  // milliseconds; a folder may change at any moment
  result["cacheScope"] = "private";
  co_return result;
}

// The folder's listing, as list_workspace_files answers; empty: the URI names no folder.
Task<std::optional<mcp::ResourceContents>> read_folder(tenants::Tenant& tenant, const std::string& uri) {
  if (!uri.starts_with(tenants::kWorkspaceScheme)) co_return std::nullopt;
  auto name = decode_percent(std::string_view(uri).substr(tenants::kWorkspaceScheme.size()));
  if (!name) co_return std::nullopt;
  while (name->ends_with('/')) name->pop_back();
  Json arguments = {{"subpath", name->empty() ? "." : *name}};
  auto listed = co_await list_workspace_files(tenant, std::move(arguments));
  if (!listed) co_return std::nullopt;
  mcp::ResourceContents contents;
  contents.uri = uri;
  contents.mime_type = "application/json";
  contents.data = dump_json(*listed);
  co_return contents;
}

Task<Result<std::vector<mcp::ResourceContents>>> read_resource(tenants::Tenant& tenant, std::string uri) {
  auto read = read_uri(tenant, uri);
  if (!read && read.error().code == Code::invalid) {  // the error of a folder, and of other mistakes
    auto folder = co_await read_folder(tenant, uri);
    if (folder) {
      std::vector<mcp::ResourceContents> contents;
      contents.push_back(*std::move(folder));
      co_return contents;
    }
  }
  CO_TRY(std::string bytes, std::move(read));
  std::string type(uri.starts_with(tenants::kSessionScheme) ? "application/json" : mime_type(uri, bytes));
  co_return mcp::file_contents(std::move(uri), std::move(type), std::move(bytes));
}

mcp::ResourceProvider workspace_resources(const tenants::RequesterOf& requester_of, journal::Journal& journal,
                                          runs::ExecutionStores stores, const executions::RecentCode& recent) {
  mcp::ResourceProvider provider;
  provider.list = [requester_of](mcp::RequestContext& context, std::string cursor) {
    return list_of(requester_of(context), std::move(cursor));
  };
  provider.read = [requester_of, &journal, stores, &recent](mcp::RequestContext& context, std::string uri) {
    return read_of(requester_of(context), journal, stores, recent, std::move(uri));
  };
  mcp::ResourceTemplate file;
  file.uri_template = tenants::kWorkspaceTemplate;
  file.name = "workspace file";
  file.description = "A file of the workspace";
  mcp::ResourceTemplate output;
  output.uri_template = tenants::kOutputTemplate;
  output.name = "kept output";
  output.description =
      "The whole output of an execution; as `stats`, its usage and the data that stayed out of the context; as "
      "`result`, the answer of a background execution; as `receipt`, the protections of its jail";
  provider.changes = mcp::ResourceProvider::Changes::reported;
  provider.prefixes = {std::string(tenants::kWorkspaceScheme), std::string(tenants::kExecutionScheme),
                       std::string(tenants::kSessionScheme)};
  mcp::ResourceTemplate session;
  session.uri_template = tenants::kSessionTemplate;
  session.name = "session log";
  session.description = "The log of a session: tasks, state files, checkpoint";
  session.mime_type = "application/json";
  provider.templates = {file, output, session};
  return provider;
}

}  // namespace tools

#include "supervisor/base/json/json.h"
#include "supervisor/tenants/resource_uris.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tools/workspace/workspace_tools.h"

namespace tools {
namespace {

constexpr size_t kMaxEntriesRead = 5'000;  // of the workspace's entries, looked at
constexpr size_t kMaxPathsOffered = 100;   // the protocol's limit

Task<Result<mcp::Completion>> complete_path(tenants::Tenant& tenant, std::string typed) {
  tenants::ListOptions options;
  options.limit = kMaxEntriesRead;
  CO_TRY(tenants::Listing listing, co_await tenant.workspace().list(RelativePath(), options));
  mcp::Completion completion;
  uint64_t fitting = 0;
  for (const tenants::Entry& entry : listing.entries) {
    if (entry.kind != tenants::FileKind::file || !entry.path.starts_with(typed)) continue;
    if (valid_utf8(entry.path) != entry.path) continue;  // no URI can name it
    if (fitting++ < kMaxPathsOffered) completion.values.push_back(entry.path);
  }
  if (!listing.more) completion.total = fitting;
  co_return completion;
}

Task<Result<mcp::Completion>> complete_workspace(Result<tenants::Requester> requester, mcp::CompletionRequest asked) {
  if (!requester) co_return tl::unexpected<Error>(std::move(requester).error());
  tenants::Tenant& tenant = *requester->tenant;
  if (asked.kind == mcp::CompletionRequest::Kind::resource && asked.reference == tenants::kWorkspaceTemplate &&
      asked.argument == "path") {
    auto found = co_await complete_path(tenant, std::move(asked.value));
    co_return found;
  }
  mcp::Completion completion;
  std::vector<std::string> all = {"stdout", "stderr", "stats", "result", "code", "receipt"};
  if (asked.reference == tenants::kSessionTemplate && asked.argument == "session_id") {
    CO_TRY(all, tenant.sessions().list());
  } else if (asked.reference != tenants::kOutputTemplate ||
             (asked.argument != "stream" && asked.argument != "execution_id")) {
    co_return fail(Code::not_found, "this reference or argument is not known");
  }
  if (asked.argument == "execution_id") all = tenant.executions().newest(kMaxPathsOffered);
  for (std::string& one : all) {
    if (one.starts_with(asked.value)) completion.values.push_back(std::move(one));
  }
  co_return completion;
}

}  // namespace

mcp::CompletionHandler workspace_completion(const tenants::RequesterOf& requester_of) {
  return [requester_of](mcp::RequestContext& context, mcp::CompletionRequest asked) {
    return complete_workspace(requester_of(context), std::move(asked));
  };
}

}  // namespace tools

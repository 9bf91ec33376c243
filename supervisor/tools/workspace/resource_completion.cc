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

Task<Result<mcp::Completion>> complete_workspace(Result<tenants::Requester> requester, mcp::CompletionRequest request) {
  if (!requester) co_return tl::unexpected<Error>(std::move(requester).error());
  tenants::Tenant& tenant = *requester->tenant;
  if (request.kind == mcp::CompletionRequest::Kind::resource && request.reference == tenants::kWorkspaceTemplate &&
      request.argument == "path") {
    auto match = co_await complete_path(tenant, std::move(request.value));
    co_return match;
  }
  mcp::Completion completion;
  std::vector<std::string> all = {"stdout", "stderr", "stats", "result", "code", "receipt"};
  if (request.reference == tenants::kSessionTemplate && request.argument == "session_id") {
    CO_TRY(all, tenant.sessions().list());
  } else if (request.reference != tenants::kOutputTemplate ||
             (request.argument != "stream" && request.argument != "execution_id")) {
    co_return fail(Code::not_found, "this reference or argument is not known");
  }
  if (request.argument == "execution_id") all = tenant.executions().newest(kMaxPathsOffered);
  for (std::string& name : all) {
    if (name.starts_with(request.value)) completion.values.push_back(std::move(name));
  }
  co_return completion;
}

}  // namespace

mcp::CompletionHandler workspace_completion(const tenants::RequesterOf& requester_of) {
  return [requester_of](mcp::RequestContext& context, mcp::CompletionRequest request) {
    return complete_workspace(requester_of(context), std::move(request));
  };
}

}  // namespace tools

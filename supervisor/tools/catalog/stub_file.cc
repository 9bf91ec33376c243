#include "supervisor/base/json/fields.h"
#include "supervisor/tools/catalog/catalog_tools.h"
#include "supervisor/upstream/calls/call_context.h"

namespace tools {
namespace {

Task<Result<Json>> give_file(discovery::StubTree& tree, Work& work, Work::Owner owner, Json arguments) {
  Fields in(arguments, "stub_file");
  CO_TRY(std::string path, in.string("path", 1000));
  CO_CHECKED(in.done());
  CO_TRY(std::string content, co_await tree.file(work, std::move(owner), std::move(path)));
  Json answer;
  answer["content"] = std::move(content);
  co_return answer;
}

}  // namespace

Operation stub_file_operation(discovery::StubTree& tree, Work& work) {
  return code_operation("stub_file", [&tree, &work](const tenants::Requester& requester, Json arguments) {
    return give_file(tree, work, calls::owner_of(requester), std::move(arguments));
  });
}

}  // namespace tools

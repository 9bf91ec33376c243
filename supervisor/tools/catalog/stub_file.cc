#include <fmt/format.h>

#include "supervisor/base/fields.h"
#include "supervisor/tools/catalog/catalog_tools.h"

namespace tools {
namespace {

// The number of files that are being made, by tenant. A large file keeps the thread busy for a while.
using Asked = std::map<std::string, size_t>;
constexpr size_t kMaxAskedAtOnce = 4;  // files of one tenant

Task<Result<Json>> give_file(discovery::StubTree& tree, std::shared_ptr<Asked> asked, std::string tenant,
                             Json arguments) {
  Fields in(arguments, "stub_file");
  CO_TRY(std::string path, in.string("path", 1000));
  CO_CHECKED(in.done());
  struct PlaceAmongCalls {
    std::shared_ptr<Asked> asked;
    Asked::iterator of;
    ~PlaceAmongCalls() {
      if (--of->second == 0) asked->erase(of);
    }
  };
  auto of = asked->try_emplace(std::move(tenant), 0).first;
  if (of->second == kMaxAskedAtOnce)
    co_return fail(Code::exhausted,
                   fmt::format("{} files of /servers are already being generated for this execution", kMaxAskedAtOnce),
                   "read the files one after the other");
  of->second++;
  PlaceAmongCalls place{asked, of};
  CO_TRY(std::string content, co_await tree.file(std::move(path)));
  Json answer;
  answer["content"] = std::move(content);
  co_return answer;
}

}  // namespace

Operation stub_file_operation(discovery::StubTree& tree) {
  return code_operation(
      "stub_file", [&tree, asked = std::make_shared<Asked>()](const tenants::Requester& requester, Json arguments) {
        return give_file(tree, asked, requester.tenant->name(), std::move(arguments));
      });
}

}  // namespace tools

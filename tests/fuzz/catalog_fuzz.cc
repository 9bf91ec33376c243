// Definitions of tools, which other people's servers send: whatever stands in a document is tools or a list of
// problems, and what was read can be searched, told in one line and written as code, within bounds.
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "catalog/catalog.h"
#include "catalog/signature.h"
#include "catalog/stubs.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// A folder without files, for as long as we run.
const std::string& empty_folder() {
  static const std::string folder = [] {
    char name[] = "/tmp/warder-fuzz-XXXXXX";
    require(::mkdtemp(name) != nullptr);
    return std::string(name);
  }();
  static const int removed = std::atexit([] { ::rmdir(empty_folder().c_str()); });
  require(removed == 0);
  return folder;
}

void check(const catalog::Reading& reading) {
  for (const auto& tool : reading.tools) {
    require(catalog::valid_tool_name(tool.name) && tool.name.size() <= catalog::kMaxNameBytes);
    require(tool.server.empty() || catalog::valid_label(tool.server));
    require(catalog::valid_label(tool.category));
    require(tool.description.size() <= catalog::kMaxDescriptionBytes + 8 &&
            valid_utf8(tool.description) == tool.description);
    require(tool.rest.size() <= catalog::kMaxDefinitionBytes && tool.tags.size() <= catalog::kMaxTags);
    require(!catalog::signature(tool.name, Json::parse(tool.rest)).empty());
  }
  for (const auto& problem : reading.problems) require(!problem.empty() && valid_utf8(problem) == problem);
}

void use(const std::shared_ptr<const catalog::Catalog>& created) {
  for (uint32_t number = 0; number < created->size(); number++) {
    catalog::Query query;
    query.text = created->tool(number).name;
    require(!created->search(query).tools.empty());  // every tool is found by its name
    (void)created->tags(number);
  }
  catalog::Query words;
  words.text = "read a file and send it";
  require(created->search(words).tools.size() <= words.limit);
  for (const auto& file : catalog::make_stubs(created)) {
    require(file.path.starts_with("servers/") && file.path.find("..") == std::string::npos);
    require(valid_utf8(file.content) == file.content);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto document = parse_json({reinterpret_cast<const char*>(data), size});
  if (!document) return 0;
  auto reading = catalog::read_definitions(*document, {"server", "category"});
  if (!reading) {
    require(reading.error().code == Code::invalid && !reading.error().what.empty());
    return 0;
  }
  check(*reading);
  if (reading->tools.size() > 50) return 0;  // what each costs is known by then
  auto builder = catalog::CatalogBuilder::begin(empty_folder());
  require(builder.has_value());
  builder->add("fuzz", *std::move(reading));
  while (!builder->step(std::chrono::seconds(1))) {
  }
  use(builder->take());
  return 0;
}

#include "supervisor/upstream/wrapped_result.h"

namespace upstream {
namespace {

constexpr char kKey[] = "result";

bool is_titled(const Json& schema, std::string_view requested) {
  const auto title = schema.find("title");
  return title != schema.end() && title->is_string() && title->get_ref<const std::string&>() == requested;
}

}  // namespace

const Json* wrapped_schema(std::string_view tool, const Json& output_schema) {
  if (!output_schema.is_object()) return nullptr;
  const auto properties = output_schema.find("properties");
  if (properties == output_schema.end() || !properties->is_object() || properties->size() != 1) return nullptr;
  const auto inside = properties->find(kKey);
  if (inside == properties->end() || !inside->is_object()) return nullptr;
  const auto mark = output_schema.find("x-fastmcp-wrap-result");
  if (mark != output_schema.end() && *mark == true) return &*inside;
  const bool is_generated = is_titled(output_schema, std::string(tool) + "Output") && is_titled(*inside, "Result");
  return is_generated ? &*inside : nullptr;
}

Json unwrapped(Json structured, const Json& result, std::string_view tool, const Json* output_schema) {
  if (!structured.is_object() || structured.size() != 1 || !structured.contains(kKey)) return structured;
  bool is_marked = output_schema && wrapped_schema(tool, *output_schema) != nullptr;
  if (const auto meta = result.find("_meta"); meta != result.end() && meta->is_object()) {
    const auto library = meta->find("fastmcp");
    is_marked |= library != meta->end() && library->is_object() && library->value("wrap_result", Json()) == true;
  }
  if (!is_marked) return structured;
  Json inside = std::move(structured[kKey]);
  return inside;
}

}  // namespace upstream

#include "supervisor/tools/execution/shown_limits.h"

#include "policies/policy.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

namespace {

mcp::ToolDefinition execute_code() {
  mcp::ToolDefinition tool;
  tool.name = "execute_code";
  tool.input_schema = Json::parse(R"({"type": "object", "properties": {
    "code": {"type": "string"},
    "timeout_seconds": {"type": "number", "minimum": 0.001, "maximum": 86400, "default": 30},
    "memory_mb": {"type": "number", "minimum": 1, "maximum": 1048576, "default": 500},
    "language": {"type": "string", "enum": ["python", "javascript", "shell"], "default": "python"}}})");
  return tool;
}

policies::Policy policy() {
  policies::Policy p;
  p.limits.standard.wall = std::chrono::milliseconds(2500);
  p.limits.maximum.wall = std::chrono::seconds(300);
  p.limits.standard.memory_bytes = 500ull << 20;
  p.limits.maximum.memory_bytes = 2ull << 30;
  p.languages = {"python", "shell"};
  return p;
}

}  // namespace

TEST_CASE("a list of tools says what the tenant's policy gives", "[tools]") {
  auto tool = execute_code();
  tools::show_limits(tool, tools::shown_limits(policy()));
  CHECK(tool.input_schema["properties"] == Json::parse(R"({
    "code": {"type": "string"},
    "timeout_seconds": {"type": "number", "default": 2.5, "maximum": 300},
    "memory_mb": {"type": "number", "default": 500, "maximum": 2048},
    "language": {"type": "string", "enum": ["python", "shell"], "default": "python"}})"));
}

TEST_CASE("other tools are listed as they are", "[tools]") {
  auto tool = execute_code();
  tool.name = "save_skill";
  const Json before = tool.input_schema;
  tools::show_limits(tool, tools::shown_limits(policy()));
  CHECK(tool.input_schema == before);
}

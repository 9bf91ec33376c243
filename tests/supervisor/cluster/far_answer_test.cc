// Answers of other nodes: which of them deny that a program ran, and what a client gets of them.
#include "supervisor/cluster/link/far_answer.h"

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

using cluster::denies_run, cluster::write_far_result, cluster::ResultForm;

namespace {

Json text_result(const std::string& text) { return {{"content", {{{"type", "text"}, {"text", text}}}}}; }

}  // namespace

TEST_CASE("an answer that denies a run is known by its text, its data and its mark", "[cluster]") {
  CHECK(denies_run(text_result(R"({"success":false,"may_have_run":false})")));
  CHECK(denies_run({{"may_have_run", false}}));
  CHECK(denies_run({{"org.warder/not-run", "draining"}}));
  CHECK(denies_run({{"content", Json::array()}, {"_meta", {{"org.warder/not-run", "draining"}}}}));
  CHECK_FALSE(denies_run(text_result(R"({"success":false,"may_have_run":true})")));
  CHECK_FALSE(denies_run(text_result(R"({"success":true})")));
  CHECK_FALSE(denies_run(text_result("no JSON")));
  for (const Json& other : {Json(), Json(5), Json::array(), Json{{"content", {5}}}, Json{{"content", 5}}})
    CHECK_FALSE(denies_run(other));
}

TEST_CASE("a missing resource has the code of the client's version", "[cluster]") {
  const Json data = {{"uri", "workspace:///none"}};
  const auto code = [&](mcp::Version version, mcp::Method method, const Json& of) {
    return cluster::far_error_code(-32602, of, ResultForm{method, version, "{}", "n1"});
  };
  using enum mcp::ErrorCode;
  CHECK(code(mcp::Version::v2026_07_28, mcp::Method::resources_read, data) == invalid_params);
  CHECK(code(mcp::Version::v2025_11_25, mcp::Method::resources_read, data) == resource_not_found);
  CHECK(code(mcp::Version::v2025_11_25, mcp::Method::resources_read, Json()) == invalid_params);
  CHECK(code(mcp::Version::v2025_11_25, mcp::Method::prompts_get, data) == invalid_params);
}

TEST_CASE("the mark of another daemon about itself does not reach the client; the node's name does", "[cluster]") {
  Json result = text_result("x");
  result["_meta"] = {{"org.warder/not-run", "draining"}, {"org.warder/receipt", {{"a", 1}}}};
  const ResultForm form{mcp::Method::tools_call, mcp::kNewestModern, R"({"name":"here"})", "n2"};
  const auto members = write_far_result(result, form);
  REQUIRE(members);
  const auto read = parse_json("{" + *members + "}");
  REQUIRE(read);
  CHECK_FALSE((*read)["_meta"].contains("org.warder/not-run"));
  CHECK((*read)["_meta"]["org.warder/node"] == "n2");
  CHECK((*read)["_meta"]["org.warder/receipt"]["a"] == 1);
  CHECK_FALSE(write_far_result({{"content", 5}}, form));
}

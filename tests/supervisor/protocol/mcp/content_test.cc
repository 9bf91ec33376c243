#include "supervisor/protocol/mcp/content.h"

#include "tests/catch.h"

using mcp::Version;

namespace {

Json wire(const mcp::ToolResult& result, Version version) {
  std::string members;
  mcp::append_tool_result(members, result, version);
  return Json::parse("{" + members + "}");
}

}  // namespace

TEST_CASE("a tool result carries only what the version knows", "[mcp]") {
  mcp::ToolResult result;
  result.content = {mcp::Text{"hi"}, mcp::Image{"aW1n", "image/png"}, mcp::Audio{"d2F2", "audio/wav"},
                    mcp::ResourceLink{"exec:///1/stdout", "stdout", "", "", "text/plain", 12},
                    mcp::ResourceContents{"test://r", "text/plain", mcp::ResourceContents::Kind::text, "inside"}};
  result.structured = Json::object({{"z", 1}});

  SECTION("everything in the newest") {
    auto w = wire(result, Version::v2026_07_28);
    CHECK(w == Json::parse(R"({"content":[{"type":"text","text":"hi"},
      {"type":"image","data":"aW1n","mimeType":"image/png"},{"type":"audio","data":"d2F2","mimeType":"audio/wav"},
      {"type":"resource_link","uri":"exec:///1/stdout","name":"stdout","mimeType":"text/plain","size":12},
      {"type":"resource","resource":{"uri":"test://r","mimeType":"text/plain","text":"inside"}}],
      "structuredContent":{"z":1}})"));
  }
  SECTION("no links and no structured content in 2025-03-26") {
    auto w = wire(result, Version::v2025_03_26);
    CHECK_FALSE(w.contains("structuredContent"));
    CHECK(w["content"][2]["type"] == "audio");
    CHECK(w["content"][3] == Json{{"type", "text"}, {"text", "stdout: exec:///1/stdout"}});
  }
  SECTION("no audio in 2024-11-05") {
    CHECK(wire(result, Version::v2024_11_05)["content"][2] ==
          Json{{"type", "text"}, {"text", "[audio/wav, 4 bytes as base64]"}});
  }
}

TEST_CASE("structured content that the version cannot carry arrives as text", "[mcp]") {
  mcp::ToolResult result;
  result.structured = Json::array({1, 2});  // an object was demanded before 2026-07-28
  CHECK(wire(result, Version::v2026_07_28)["structuredContent"] == Json::array({1, 2}));
  auto w = wire(result, Version::v2025_11_25);
  CHECK_FALSE(w.contains("structuredContent"));
  CHECK(w["content"][0]["text"] == "[1,2]");
}

TEST_CASE("an error result says what, by which rule and what to do", "[mcp]") {
  auto result = mcp::ToolResult::error(Error{Code::denied, 0, "no", "ask", "limits.x"});
  CHECK(result.is_error);
  auto w = wire(result, Version::v2025_11_25);
  CHECK(w["isError"] == true);
  CHECK(w["structuredContent"].dump() ==
        R"({"success":false,"error":"no","code":"denied","rule":"limits.x","remedy":"ask"})");
  CHECK(Json::parse(w["content"][0]["text"].get<std::string>()) == w["structuredContent"]);
}

TEST_CASE("no text can break the line it travels in", "[mcp]") {
  const std::string hostile = std::string("a\nb\r\0", 5) + "\xff\xed\xa0\x80\xe2\x80\xa8\xe2\x80\xa9\x7f\x1b[31m\"\\";
  std::string members;
  mcp::append_tool_result(members, mcp::ToolResult::text(hostile), Version::v2025_11_25);
  for (unsigned char c : members) REQUIRE((c >= 0x20 && c != 0x7f));
  CHECK(members.find("\xe2\x80\xa8") == members.npos);
  CHECK(members.find("\xe2\x80\xa9") == members.npos);
  CHECK_NOTHROW(Json::parse("{" + members + "}"));
}

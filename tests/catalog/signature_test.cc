#include "catalog/signature.h"

#include "catalog/schema.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

namespace {

std::string sign(const std::string& input, const std::string& output = "") {
  std::string rest = "{";
  if (!input.empty()) rest += R"("inputSchema":)" + input;
  if (!output.empty()) rest += (input.empty() ? "" : ",") + std::string(R"("outputSchema":)") + output;
  rest += "}";
  return catalog::signature("t", Json::parse(rest));
}

std::string parameter(const std::string& schema) {
  const std::string text = sign(R"({"properties":{"a":)" + schema + R"(},"required":["a"]})");
  return text.substr(5, text.size() - 6);
}

}  // namespace

TEST_CASE("a signature has the required parameters first, in their order", "[signature]") {
  CHECK(
      sign(
          R"({"type":"object","properties":{
          "zeta":{"type":"string"},"alpha":{"type":"integer"},"labels":{"type":"array","items":{"type":"string"}},
          "state":{"enum":["open","closed"],"default":"open"},"ratio":{"type":"number","default":0.5}},
          "required":["zeta","alpha"]})",
          R"({"type":"object","properties":{"number":{"type":"integer"},"url":{"type":"string"}},"required":["number"]})") ==
      "t(zeta: str, alpha: int, labels?: list[str], state?: \"open\" | \"closed\" = \"open\", ratio?: float = 0.5)"
      " -> {number: int, url?: str}");
}

TEST_CASE("a schema whose type is none of JSON Schema's still shows its properties", "[signature]") {
  CHECK(sign(R"({"type":"dict","properties":{"city":{"type":"string"},"days":{"type":"int"}},"required":["city"]})") ==
        "t(city: str, days?: Any)");
}

TEST_CASE("no parameters, and unknown parameters, are told apart", "[signature]") {
  CHECK(sign(R"({"type":"object"})") == "t()");
  CHECK(sign("") == "t(...)");
  const Json rest = {{"functions", {"analyze", "report"}}};
  CHECK(catalog::signature("dos_detector", rest) == "dos_detector.{analyze, report}");
}

TEST_CASE("schemas are reduced to what can be read", "[signature]") {
  auto [schema, type] = GENERATE(table<std::string, std::string>({
      {R"({"type":"string"})", "str"},
      {R"({"type":["string","null"]})", "str | None"},
      {R"({"anyOf":[{"type":"integer"},{"type":"string"},{"type":"integer"}]})", "int | str"},
      {R"({"const":"fixed"})", "\"fixed\""},
      {R"({"enum":[1,true,null]})", "1 | True | None"},
      {R"({"type":"array"})", "list"},
      {R"({"type":"array","items":{"type":"array","items":{"type":"number"}}})", "list[list[float]]"},
      {R"({"type":"object"})", "dict"},
      {R"({"properties":{"b":{"type":"boolean"}}})", "{b?: bool}"},
      {R"({"allOf":[{"properties":{"b":{"type":"boolean"}},"required":["b"]},{"properties":{"c":{}}}]})",
       "{b: bool, c?: Any}"},
      {R"({})", "Any"},
      {R"(true)", "Any"},
      {R"(7)", "Any"},
      {R"({"type":7})", "Any"},
      {R"({"type":"what"})", "Any"},
      {R"({"type":[]})", "Any"},
      {R"({"enum":[]})", "Any"},
      {R"({"enum":[{"a":1}]})", "Any"},
      {R"({"anyOf":7,"type":"string"})", "str"},
      {R"({"$ref":"#/nowhere"})", "Any"},
      {R"({"$ref":"http://elsewhere/x.json"})", "Any"},
      {R"({"$ref":7})", "Any"},
      {R"({"$ref":"#bad~pointer"})", "Any"},
      {R"({"type":"object","properties":7,"required":8})", "dict"},
  }));
  CAPTURE(schema);
  CHECK(parameter(schema) == type);
}

TEST_CASE("references are followed within the schema, circles end", "[signature]") {
  CHECK(
      sign(R"({"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"$ref":"#/$defs/y"},"y":{"type":"boolean"}}})") ==
      "t(a?: bool)");
  CHECK(sign(R"({"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"$ref":"#/$defs/x"}}})") == "t(a?: Any)");
  // A tree of itself: as deep as it is of use.
  const auto tree = sign(R"({"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"$ref":"#"}}})");
  CHECK(tree.size() <= catalog::kMaxSignatureBytes);
  const auto type = catalog::read_type(
      Json::parse(R"({"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"$ref":"#"},"d":{"$ref":"#"}}})"));
  CHECK(catalog::type_text(type, catalog::Dialect::javascript, 9).size() < 20'000);
}

TEST_CASE("a signature stays a line, whatever the schema", "[signature]") {
  Json schema = {{"type", "object"}, {"properties", Json::object()}};
  for (int i = 0; i < 300; i++)
    schema["properties"]["parameter_" + std::to_string(i)] = {
        {"enum", Json::array({"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"})}};
  const auto text = sign(schema.dump());
  CHECK(text.size() <= catalog::kMaxSignatureBytes);
  CHECK_THAT(text, Catch::Contains("\"h\" | ...") && Catch::Contains(", +"));
  Json inner = {{"type", "string"}};
  for (int i = 0; i < 60; i++) inner = {{"type", "object"}, {"properties", {{"x", inner}}}};
  CHECK(sign(inner.dump()).size() < 200);
}

TEST_CASE("JavaScript has its own words for the same types", "[signature]") {
  const auto type =
      catalog::read_type(Json::parse(R"({"type":"object","required":["n"],"properties":{"n":{"type":"integer"},
    "l":{"type":"array","items":{"enum":["a","b"]}},"o":{"type":["null","boolean"]}}})"));
  CHECK(catalog::type_text(type, catalog::Dialect::javascript, 3) ==
        R"({n: number, l?: ("a" | "b")[], o?: null | boolean})");
  CHECK(catalog::type_text(type, catalog::Dialect::javascript, 0) == "Object");
}

#include "supervisor/upstream/question.h"

#include "tests/catch.h"
#include "tests/fresh_meter.h"

using upstream::Newlines;
using upstream::read_question;
using upstream::shown_text;

namespace {

Json with_field(const Json& field) {
  return {{"message", "?"}, {"requestedSchema", {{"type", "object"}, {"properties", {{"a", field}}}}}};
}

Result<upstream::Question> question_of(const char* field) {
  return read_question(with_field(Json::parse(field)), FreshMeter());
}

}  // namespace

TEST_CASE("every kind of field that the specification allows is taken as it is", "[questions]") {
  for (
      const char* field : {
          R"({"type":"string","title":"T","description":"D","minLength":1,"maxLength":9,"pattern":"^[a-z]+$","format":"email","default":"ada"})",
          R"({"type":"number","minimum":-1.5,"maximum":2,"default":0.5})",
          R"({"type":"integer","minimum":1})",
          R"({"type":"boolean","default":true})",
          R"({"type":"string","enum":["a","b"],"enumNames":["A","B"],"default":"b"})",
      }) {
    const auto question = question_of(field);
    INFO(field);
    REQUIRE(question);
    CHECK(question->schema["properties"]["a"] == Json::parse(field));
    CHECK_FALSE(question->wants_2025_11_25);
  }
  for (const char* field : {
           R"({"type":"string","oneOf":[{"const":"a","title":"A"}],"default":"a"})",
           R"({"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a","b"]},"default":["a"]})",
           R"({"type":"array","items":{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}})",
       }) {
    const auto question = question_of(field);
    INFO(field);
    REQUIRE(question);
    CHECK(question->schema["properties"]["a"] == Json::parse(field));
    CHECK(question->wants_2025_11_25);
  }
}

TEST_CASE("what a flat form cannot hold is refused", "[questions]") {
  for (const char* field : {
           R"({"type":"object","properties":{}})",
           R"({"type":"array","items":{"type":"object"}})",
           R"({"type":"array","items":{"type":"string"}})",
           R"({"type":"array"})",
           R"({"type":["string","null"]})",
           R"({"type":"null"})",
           R"({})",
           R"(true)",
           R"({"type":"string","$ref":"#/x"})",
           R"({"type":"string","anyOf":[{"type":"string"}]})",
           R"({"type":"string","format":"password"})",
           R"({"type":"string","minLength":-1})",
           R"({"type":"string","maxLength":1000000})",
           R"({"type":"string","pattern":"(?=look)ahead"})",
           R"({"type":"string","enum":[]})",
           R"({"type":"string","enum":["a",1]})",
           R"({"type":"string","enum":["a\u202eb"]})",
           R"({"type":"string","enum":["a"],"enumNames":["A","B"]})",
           R"({"type":"string","oneOf":[{"const":"a"}]})",
           R"({"type":"string","title":["T"]})",
           R"({"type":"integer","minimum":"1"})",
           R"({"type":"boolean","default":"yes"})",
           R"({"type":"string","enum":["a"],"default":"b"})",
       }) {
    const auto question = question_of(field);
    INFO(field);
    REQUIRE_FALSE(question);
    CHECK(question.error().code == Code::invalid);
    CHECK_THAT(question.error().what, Catch::Contains("requestedSchema.properties.a"));
  }
  for (const char* params : {
           R"([])",
           R"({})",
           R"({"message":1,"requestedSchema":{"type":"object","properties":{}}})",
           R"({"message":"?"})",
           R"({"message":"?","mode":"url","url":"https://example.com/","elicitationId":"1"})",
           R"({"message":"?","requestedSchema":{"type":"array"}})",
           R"({"message":"?","requestedSchema":{"type":"object"}})",
           R"({"message":"?","requestedSchema":{"type":"object","properties":{},"required":["b"]}})",
           R"({"message":"?","requestedSchema":{"type":"object","properties":{},"allOf":[]}})",
           R"({"message":"?","requestedSchema":{"type":"object","properties":{},"additionalProperties":{}}})",
           R"({"message":"?","requestedSchema":{"type":"object","properties":{"a\nb":{"type":"string"}}}})",
       }) {
    INFO(params);
    CHECK_FALSE(read_question(Json::parse(params), FreshMeter()));
  }
}

TEST_CASE("a question has so many fields, choices and bytes", "[questions]") {
  Json many = with_field({{"type", "string"}});
  for (size_t i = 1; i < upstream::Question::kMaxFields; i++)
    many["requestedSchema"]["properties"]["f" + std::to_string(i)] = {{"type", "boolean"}};
  CHECK(read_question(many, FreshMeter()));
  many["requestedSchema"]["properties"]["one more"] = {{"type", "boolean"}};
  CHECK_FALSE(read_question(many, FreshMeter()));

  Json choices = {{"type", "string"}, {"enum", std::vector<std::string>(upstream::Question::kMaxChoices, "x")}};
  CHECK(read_question(with_field(choices), FreshMeter()));
  choices["enum"].push_back("x");
  CHECK_FALSE(read_question(with_field(choices), FreshMeter()));

  Json words = with_field({{"type", "string"}});
  words["message"] = std::string(upstream::Question::kMaxMessage, 'x');
  CHECK(read_question(words, FreshMeter()));
  words["message"] = std::string(upstream::Question::kMaxMessage + 1, 'x');
  CHECK_FALSE(read_question(words, FreshMeter()));
}

TEST_CASE("an answer holds what the form asked for and nothing else", "[questions]") {
  Json params = with_field({{"type", "string"}, {"enum", {"small", "large"}}});
  params["requestedSchema"]["properties"]["count"] = {{"type", "integer"}, {"minimum", 1}};
  params["requestedSchema"]["required"] = Json::array({"a"});
  // What libraries add says nothing about an answer.
  params["requestedSchema"]["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  params["requestedSchema"]["additionalProperties"] = true;
  const auto question = read_question(params, FreshMeter());
  REQUIRE(question);
  CHECK_FALSE(question->schema.contains("additionalProperties"));
  CHECK(question->fits({{"a", "small"}}, FreshMeter()));
  CHECK(question->fits({{"a", "large"}, {"count", 3}}, FreshMeter()));
  for (const Json& content : std::vector<Json>{Json::object(),
                                               {{"a", "huge"}},
                                               {{"a", "small"}, {"count", 0}},
                                               {{"a", "small"}, {"count", "3"}},
                                               {{"a", "small"}, {"b", 1}},
                                               "small",
                                               Json::array({"small"}),
                                               nullptr}) {
    INFO(content);
    CHECK_FALSE(question->fits(content, FreshMeter()));
  }
  const auto open = question_of(R"({"type":"string"})");
  REQUIRE(open);
  CHECK(open->fits({{"a", std::string(60'000, 'x')}}, FreshMeter()));
  CHECK_FALSE(open->fits({{"a", std::string(70'000, 'x')}}, FreshMeter()));
}

TEST_CASE("a person is shown no character that deceives the eye", "[questions]") {
  const std::string mark = "\xEF\xBF\xBD";
  CHECK(shown_text("Grüße, 漢字 😀", 100, Newlines::replace) == "Grüße, 漢字 😀");
  CHECK(shown_text("a\nb\x1b[2J\x7f", 100, Newlines::keep) == "a\nb" + mark + "[2J" + mark);
  CHECK(shown_text("a\nb", 100, Newlines::replace) == "a" + mark + "b");
  for (const char* hidden :
       {"\u202e", "\u2066", "\u200b", "\u200f", "\u2028", "\ufeff", "\u061c", "\u0085", "\U000e0041"})
    CHECK(shown_text(std::string("a") + hidden + "b", 100, Newlines::keep) == "a" + mark + "b");
  CHECK(shown_text("\xff", 100, Newlines::keep) == mark);
  CHECK(shown_text("äää", 5, Newlines::keep) == "ää...");
}

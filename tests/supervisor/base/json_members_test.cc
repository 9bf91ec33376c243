// Members of JSON that another program wrote: a missing member and one of another type read alike.
#include "supervisor/base/json/json_members.h"

#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

namespace {

const Json kObject = {
    {"text", "a"},  {"empty", ""},     {"number", 7},   {"negative", -7},           {"half", 0.5},
    {"flag", true}, {"null", nullptr}, {"list", {"a"}}, {"inner", {{"text", "b"}}}, {"largest", UINT64_MAX}};

}  // namespace

TEST_CASE("a member is found, also if it is null", "[json]") {
  REQUIRE(find_member(kObject, "null"));
  CHECK(find_member(kObject, "null")->is_null());
  CHECK(find_member(kObject, "text") == &kObject["text"]);
  CHECK_FALSE(find_member(kObject, "Text"));
  CHECK(member(kObject, "inner")["text"] == "b");
  CHECK(member(kObject, "missing").is_null());
}

TEST_CASE("only a text reads as a text", "[json]") {
  CHECK(text_member(kObject, "text") == "a");
  CHECK(text_member(kObject, std::string_view("text!").substr(0, 4)) == "a");
  for (const char* key : {"empty", "number", "flag", "null", "list", "inner", "missing", ""}) {
    INFO(key);
    CHECK(text_member(kObject, key).empty());
  }
}

TEST_CASE("only a whole number from 0 on reads as a number", "[json]") {
  CHECK(number_member(kObject, "number") == 7);
  CHECK(number_member(kObject, "largest") == UINT64_MAX);
  for (const char* key : {"negative", "half", "text", "flag", "null", "list", "missing"}) {
    INFO(key);
    CHECK(number_member(kObject, key) == 0);
  }
}

TEST_CASE("a value that is no object has no members", "[json]") {
  for (const Json& value : {Json(), Json(7), Json("text"), Json::array({"text"}), Json(true)}) {
    INFO(value.dump());
    CHECK_FALSE(find_member(value, "text"));
    CHECK(member(value, "text").is_null());
    CHECK(text_member(value, "text").empty());
    CHECK(number_member(value, "text") == 0);
  }
}

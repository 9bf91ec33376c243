// The verdict of a compile check: it comes from a jail, so it is not trusted.
#include "supervisor/executions/skill_stores/compile_check.h"

#include "jail/execution/execution.h"
#include "jail/execution/outcome.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

using Catch::Contains;
using skill_stores::read_verdict;

namespace {

jail::Report ended_with(Json value) {
  jail::Report report;
  report.outcome = jail::Outcome::ok;
  report.value = std::move(value);
  return report;
}

Error refusal(const jail::Report& report) {
  const auto verdict = read_verdict(report);
  REQUIRE_FALSE(verdict);
  CHECK(verdict.error().code == Code::invalid);
  return verdict.error();
}

}  // namespace

TEST_CASE("code that compiles has an empty verdict", "[skill_stores]") {
  CHECK(read_verdict(ended_with(Json::object())));
}

TEST_CASE("the error has the compiler's line, message and text", "[skill_stores]") {
  const Error error = refusal(ended_with({{"line", 3}, {"message", "invalid syntax"}, {"text", "def f(:"}}));
  CHECK(error.what == "the skill does not compile: line 3: invalid syntax");
  CHECK(error.hint == "see: def f(:");
  CHECK(error.rule == "skills.compile");
}

TEST_CASE("members of another type are left out", "[skill_stores]") {
  const Error error = refusal(ended_with({{"line", "3"}, {"message", "bad"}, {"text", 7}}));
  CHECK(error.what == "the skill does not compile: bad");
  CHECK(error.hint.empty());
  CHECK(refusal(ended_with({{"line", -1}, {"message", "bad"}})).what == "the skill does not compile: bad");
}

TEST_CASE("a long or unprintable message is shortened and shown safely", "[skill_stores]") {
  const Error error = refusal(ended_with({{"message", "\x1b[31m" + std::string(100'000, 'x')}}));
  CHECK(error.what.size() < 1000);
  CHECK(error.what.find('\x1b') == std::string::npos);
}

TEST_CASE("a jail that ended without a verdict refuses the skill", "[skill_stores]") {
  jail::Report none = ended_with({});
  none.value.reset();
  CHECK_THAT(refusal(none).what, Contains("the skill cannot be compiled"));
  CHECK_THAT(refusal(ended_with(Json::array())).what, Contains("the skill cannot be compiled"));
  jail::Report killed = ended_with(Json::object());
  killed.outcome = jail::Outcome::memory;
  killed.message = "it used more than 512 MB";
  const Error error = refusal(killed);
  CHECK_THAT(error.what, Contains("it used more than 512 MB"));
  CHECK_THAT(error.hint, Contains("smaller"));
}

#include "policies/pii/beginnings.h"

#include <re2/re2.h>

#include "policies/pii/shapes.h"
#include "tests/catch.h"

TEST_CASE("a shape's beginning is cut where it begins to count", "[pii]") {
  const auto [shape, beginning] = GENERATE(table<std::string, std::string>({
      {"", ""},
      {"ghp_[A-Za-z0-9]{36,}", "ghp_[A-Za-z0-9]{8}"},
      {"a{12}b", "a{8}"},
      {"a{11}b", "a{11}b"},
      {"a{2,}b", "a{2,}b"},
      {"a{1,60}b", "a{1,}b"},
      {"a{14,19}b|c", "a{8}|c"},
      {"(?:a{40}|b)c", "(?:a{8}|b)"},
      {"x(?:_a{40})?c", "x"},
      {"x(?:_a{40})+c", "x(?:_a{8})"},
      {"x(?:_a{40}){2}c|d", "x(?:_a{8})|d"},
      {"x(?:_a{40}){0,2}c", "x"},
      {"(?i:to?ken)*[\\w{}|]{20}\\.", "(?i:to?ken)*[\\w{}|]{8}"},
      {"[\\]x]{30}y", "[\\]x]{8}"},
      {"\\x2e{30}y", "\\x2e{8}"},
      {"\\b(?:a|(?:b|c{20}))+d?", "\\b(?:a|(?:b|c{8}))"},
  }));
  CHECK(policies::beginning_of(shape) == beginning);
}

TEST_CASE("the beginning of every shape is an expression, too", "[pii]") {
  for (const auto& shapes : {policies::pii_shapes(), policies::announced_shapes(), policies::secret_shapes(),
                             policies::announced_secret_shapes()}) {
    for (const auto& shape : shapes) {
      const std::string beginning = policies::beginning_of(shape.expression);
      const RE2 expression(beginning, RE2::Latin1);
      INFO(beginning);
      CHECK(expression.ok());
      CHECK_FALSE(RE2::FullMatch("", expression));
    }
  }
}

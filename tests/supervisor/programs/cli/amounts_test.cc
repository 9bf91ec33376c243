#include "supervisor/programs/cli/amounts.h"

#include "tests/catch.h"

using cli::kMemoryAmount;
using cli::parse_amount;

TEST_CASE("numbers in the range are read", "[amounts]") {
  CHECK(*parse_amount("256", kMemoryAmount) == 256);
  CHECK(*parse_amount("1.5", kMemoryAmount) == 1.5);
  CHECK(*parse_amount("1e3", kMemoryAmount) == 1000);
}

TEST_CASE("other words are refused with the range and an example", "[amounts]") {
  const std::string text = GENERATE("", "abc", "12MB", "0", "-5", "0x10", "inf", "nan", "1e300", "1 2", "9999999999");
  CAPTURE(text);
  const auto read = parse_amount(text, kMemoryAmount);
  REQUIRE(!read);
  CHECK(read.error().what == "'" + text + "' is not a number of MB from 1 to 1048576");
  CHECK(read.error().hint == "for example: --memory 256");
}

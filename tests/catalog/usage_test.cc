// What learning gains and must not cost, measured with a made-up office: fixed figures, no times. `learning-bench`
// prints them.
#include "tests/catalog/usage.h"

#include "tests/catch.h"

using usage::Memory;

TEST_CASE("after use every kind of search finds at least what it found before", "[learning]") {
  const usage::Office office;
  const auto before = office.recall(Memory::none, 0);
  for (size_t uses : {size_t{1}, size_t{10}, size_t{100}}) {
    const auto after = office.recall(Memory::ours, uses);
    CAPTURE(uses, before.single, after.single, before.several, after.several, before.plain, after.plain);
    CHECK(after.single >= before.single);
    CHECK(after.several >= before.several);
    CHECK(after.plain >= before.plain - 1);
    CHECK(after.unused >= before.unused - 1);
  }
}

TEST_CASE("ten uses of each tool teach more than its definition says", "[learning]") {
  const usage::Office office;
  const auto ours = office.recall(Memory::ours, 10), naive = office.recall(Memory::naive, 10);
  CHECK(ours.single >= 95);
  CHECK(ours.several >= 90);
  CHECK(ours.several > naive.several);
}

TEST_CASE("a search for several things finds each of them by the words of its definition", "[learning]") {
  CHECK(usage::Office().recall(Memory::none, 0).plain >= 97);
}

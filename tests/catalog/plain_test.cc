// Plain sentences as people say them, over 20 tools (finding/plain.json): none gets an empty answer, and nearly all
// have their tool among the first five. The held-out ones were written before anything was tuned and are only counted.
#include "tests/catalog/finding.h"

#include "tests/catch.h"

using finding::Half;

TEST_CASE("plain sentences find their tool among twenty", "[finding]") {
  for (Half half : {Half::tuned, Half::held_out}) {
    const auto plain = finding::plain(half);
    REQUIRE(plain.tools->size() == 20);
    REQUIRE(plain.wishes.size() == 18);
    size_t first = 0, among_five = 0;
    std::string missed;
    for (const auto& request : plain.wishes) {
      const auto found = plain.tools->search({.text = request.text});
      INFO(request.text);
      CHECK(found.total > 0);
      const auto it = std::find_if(found.tools.begin(), found.tools.end(), [&](uint32_t tool) {
        return request.tools.contains(std::string(plain.tools->tool(tool).name));
      });
      if (it == found.tools.begin()) first++;
      if (it != found.tools.end()) among_five++;
      if (it != found.tools.begin())
        missed += (it == found.tools.end() ? "\nnot found: " : "\nnot first: ") + request.text;
    }
    INFO(first << " first, " << among_five << " among five" << missed);
    CHECK(among_five >= (half == Half::tuned ? 17 : 14));
    CHECK(first >= (half == Half::tuned ? 14 : 10));
  }
}

// What hostile messages may cost in memory: never more than was counted before they were built.
#include <malloc.h>

#include "supervisor/base/json/value_bytes.h"

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

// Of AddressSanitizer's library, whose header g++ does not have; absent without it.
extern "C" size_t __sanitizer_get_current_allocated_bytes() __attribute__((weak));

namespace {

size_t allocated() {
  if (__sanitizer_get_current_allocated_bytes) return __sanitizer_get_current_allocated_bytes();
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

std::string repeated(const std::string& begin, const std::string& name, size_t count, const std::string& end) {
  std::string text = begin;
  for (size_t i = 0; i < count; i++) text += name;
  return text + end;
}

std::string keys(size_t count, size_t length) {
  std::string text = "{";
  for (size_t i = 0; i < count; i++) text += '"' + std::to_string(i) + std::string(length, 'k') + "\":0,";
  return text + "\"end\":0}";
}

}  // namespace

TEST_CASE("values take no more memory than is counted before they are built", "[json]") {
  const auto [name, text] = GENERATE(table<std::string, std::string>({
      {"numbers", repeated("[", "1,", 300'000, "1]")},
      {"numbers just after a vector has grown", repeated("[", "1,", 262'145, "1]")},
      {"empty arrays", repeated("[", "[],", 200'000, "0]")},
      {"arrays of one", repeated("[", "[1],", 200'000, "0]")},
      {"arrays of five", repeated("[", "[1,2,3,4,5],", 100'000, "0]")},
      {"empty objects", repeated("[", "{},", 200'000, "0]")},
      {"objects of one", repeated("[", R"({"a":1},)", 200'000, "0]")},
      {"one object with many keys", keys(100'000, 1)},
      {"one object with long keys", keys(20'000, 50)},
      {"empty strings", repeated("[", R"("",)", 200'000, "0]")},
      {"short strings", repeated("[", R"("fifteen letters",)", 100'000, "0]")},
      {"strings beyond what fits inline", repeated("[", R"("sixteen letters.",)", 100'000, "0]")},
      {"escapes", repeated("[", R"("\u0041\u0041",)", 100'000, "0]")},
      {"nests", repeated("[", std::string(60, '[') + std::string(60, ']') + ",", 5'000, "0]")},
      {"one long string", "\"" + std::string(4'000'000, 'x') + "\""},
  }));
  CAPTURE(name);
  const size_t counted = value_bytes(text);
  const size_t before = allocated();
  auto value = parse_json(text);
  REQUIRE(value);
  const size_t took = allocated() - before;
  INFO(name << ": " << text.size() << " bytes of text, " << took << " of memory, " << counted << " counted");
  CHECK(took <= counted);
  CHECK(counted <= 4 * took + 1'000);  // nor much too strict
}

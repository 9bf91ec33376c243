#include "supervisor/base/line_splitter.h"

#include <cstring>
#include <string>
#include <vector>

#include "supervisor/base/text_lines.h"
#include "tests/catch.h"

namespace {

// Feeds `bytes` in pieces of `piece`; a line that was too long reads as "<too long>".
std::vector<std::string> split(LineSplitter& lines, std::string_view bytes, size_t piece) {
  std::vector<std::string> out;
  auto add = [&](const LineSplitter::Item& item) {
    out.push_back(item.kind == LineSplitter::Kind::too_long ? "<too long>" : std::string(item.text));
  };
  while (!bytes.empty()) {
    auto space = lines.space();
    const size_t n = std::min({piece, space.size(), bytes.size()});
    std::memcpy(space.data(), bytes.data(), n);
    lines.commit(n);
    bytes.remove_prefix(n);
    while (auto item = lines.next()) add(*item);
  }
  if (auto item = lines.rest()) add(*item);
  return out;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a byte stream becomes the same lines however it is cut", "[lines]") {
  const size_t piece = GENERATE(1u, 2u, 3u, 7u, 4096u);
  CAPTURE(piece);
  auto [bytes, expected] = GENERATE(table<std::string, Lines>({
      {"", {}},
      {"a\n", {"a"}},
      {"a\r\nb\n", {"a", "b"}},
      {"\n\r\n  \n\t\r\na\n\n", {"a"}},
      {"a\nb", {"a", "b"}},
      {"12345678\n", {"12345678"}},
      {"12345678\r\n", {"12345678"}},
      {"123456789\nok\n", {"<too long>", "ok"}},
      {"123456789", {"<too long>"}},
      {std::string(1000, 'x') + "\nok\n" + std::string(100, 'y') + "\nok\n", {"<too long>", "ok", "<too long>", "ok"}},
      {std::string("a\0b\n", 4), {std::string("a\0b", 3)}},
  }));
  LineSplitter lines(8);
  CHECK(split(lines, bytes, piece) == expected);
}

TEST_CASE("a line of the largest size is whole, and its memory is given back", "[lines]") {
  const size_t max = 1 << 20;
  LineSplitter lines(max);
  const std::string large(max, 'x');
  CHECK(split(lines, large + "\n", 65536) == Lines{large});
  (void)lines.space();
  CHECK(lines.capacity() <= 64 << 10);
}

TEST_CASE("an endless line costs no memory beyond the longest allowed one, and is told when it ends", "[lines]") {
  LineSplitter lines(100'000);
  const std::string piece(4096, 'x');
  size_t reports = 0;
  for (int i = 0; i < 1000; i++) {
    auto space = lines.space();
    const size_t n = std::min(space.size(), piece.size());
    std::memcpy(space.data(), piece.data(), n);
    lines.commit(n);
    while (lines.next()) reports++;
  }
  CHECK(reports == 0);
  CHECK(lines.capacity() <= 100'003);
  lines.space()[0] = '\n';
  lines.commit(1);
  const auto ended = lines.next();
  REQUIRE(ended);
  CHECK(ended->kind == LineSplitter::Kind::too_long);
  CHECK_FALSE(ended->found);
  CHECK_FALSE(lines.next());
}

TEST_CASE("a line that is too long is reported with its id, wherever in it that stands", "[lines]") {
  const size_t piece = GENERATE(1u, 7u, 65536u);
  const std::string filling(1000, 'x');
  const auto [before, behind] = GENERATE_COPY(table<std::string, std::string>({
      {R"({"jsonrpc":"2.0","id":5,"method":"ping","params":{"id":1,"a":")", R"("}})"},
      {R"({"method":"ping","params":{"id":1,"a":")", R"("},"jsonrpc":"2.0","id":5})"},
  }));
  CAPTURE(piece, before);
  std::vector<std::string> ids;
  LineSplitter lines(100);
  std::string bytes = before + filling + behind + "\nshort\n" + before + filling + behind;
  auto note = [&](const LineSplitter::Item& item) {
    ids.push_back(item.kind == LineSplitter::Kind::line ? std::string(item.text)
                  : item.found                          ? item.found->raw_id
                                                        : "none");
  };
  for (size_t at = 0; at < bytes.size();) {
    auto space = lines.space();
    const size_t n = std::min({piece, space.size(), bytes.size() - at});
    std::memcpy(space.data(), bytes.data() + at, n);
    lines.commit(n);
    at += n;
    while (auto item = lines.next()) note(*item);
  }
  if (auto last = lines.rest()) note(*last);
  CHECK(ids == std::vector<std::string>{"5", "short", "5"});
}

TEST_CASE("the lines of a text are taken one by one, and the last needs no newline", "[lines]") {
  auto [text, all, full] = GENERATE(table<std::string, Lines, Lines>({
      {"", {}, {}},
      {"\n", {""}, {}},
      {"a", {"a"}, {"a"}},
      {"a\n\nb\n", {"a", "", "b"}, {"a", "b"}},
      {"\r\na", {"\r", "a"}, {"\r", "a"}},
  }));
  CHECK(lines_in(text, EmptyLines::included) == all);
  CHECK(lines_in(text, EmptyLines::left_out) == full);
}

// The form of the records of staging folders.
#include "supervisor/tenants/proposals/record_lines.h"

#include "supervisor/tenants/proposals/commit_journal.h"
#include "supervisor/tenants/proposals/proposal_record.h"
#include "tests/supervisor/tenants/proposals/staged_scene.h"

using namespace proposals;

TEST_CASE("a record gives its fields back, of any bytes", "[records]") {
  std::string all;
  for (int i = 0; i < 256; i++) all += static_cast<char>(i);
  RecordWriter to;
  to.line("one").text(all).number(UINT64_MAX).signed_number(INT64_MIN);
  to.line("two").text("").text("%").text("a b\n");
  const std::string text = std::move(to).finished().value();
  auto lines = parse_record(text);
  REQUIRE(lines);
  REQUIRE(lines->size() == 2);
  CHECK((*lines)[0].kind() == "one");
  CHECK((*lines)[0].text() == all);
  CHECK((*lines)[0].number() == UINT64_MAX);
  CHECK((*lines)[0].signed_number() == INT64_MIN);
  CHECK((*lines)[0].done());
  CHECK((*lines)[1].kind() == "two");
  CHECK((*lines)[1].text().empty());
  CHECK((*lines)[1].text() == "%");
  CHECK((*lines)[1].text() == "a b\n");
  CHECK((*lines)[1].done());
}

TEST_CASE("a record with any other byte, or without its end, is refused", "[records]") {
  RecordWriter to;
  to.line("kind").text("some text").number(7);
  const std::string text = std::move(to).finished().value();
  REQUIRE(parse_record(text));
  for (size_t i = 0; i < text.size(); i++) {
    CHECK_FALSE(parse_record(std::string_view(text).substr(0, i)));
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    CHECK_FALSE(parse_record(changed));
  }
  CHECK_FALSE(parse_record(text + text));
  CHECK_FALSE(parse_record(text + "\n"));
}

TEST_CASE("fields that are missing, too many or of another kind are refused", "[records]") {
  const auto read = [](std::string_view line) {
    RecordLine fields(line, 1);
    (void)fields.text();
    (void)fields.number(10);
    return fields.done().has_value();
  };
  CHECK(read("a 1"));
  for (const char* wrong : {"", "a", "a 11", "a 1 2", "a -1", "a 1x", "a  1", "%4 1", "%zz 1", "%4G 1", "a\t 1", "a "})
    CHECK_FALSE(read(wrong));
}

TEST_CASE("paths in records cannot lead out", "[records][hostile]") {
  CHECK(is_relative("a/b"));
  CHECK(is_relative("..a/b.."));
  for (const char* wrong : {"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/./b"})
    CHECK_FALSE(is_relative(wrong));
  CHECK_FALSE(is_relative(std::string("a\0b", 3)));
  CHECK_FALSE(is_relative(std::string(300, 'a')));
  for (const char* wrong : {"", "p", "p123", "q0123456789abcdef", "p0123456789abcdeF", "p0123456789abcdef0", "../p1"})
    CHECK_FALSE(is_proposal_id(wrong));
  CHECK(is_proposal_id("p0123456789abcdef"));
}

TEST_CASE("a journal gives its rows back", "[records]") {
  CommitJournal journal;
  journal.number = 3;
  journal.state = JournalState::back;
  JournalRow row;
  row.kind = StepKind::replace;
  row.path = "a b\n\xFF";
  row.staged = "u/" + row.path;
  row.fresh = {12, 13};
  row.base = {14, -15};
  row.fresh_mode = 0640;
  row.base_mode = 07777;
  row.was_folder = true;
  row.after.kind = tenants::FileKind::link;
  row.after.digest = std::string(32, '\0');
  journal.rows = {row};
  journal.parents = {{"", {1, 2}, 0755, -5, 6, true}};
  const std::string text = journal_text(journal).value();
  const auto read = parse_journal(text, 3);
  REQUIRE(read);
  CHECK(journal_text(*read).value() == text);
  CHECK(read->rows[0].path == row.path);
  CHECK(read->state == JournalState::back);
  CHECK_FALSE(parse_journal(text, 4));
}

#include "supervisor/tenants/executions.h"

#include "tests/supervisor/tenants/scene.h"

namespace fs = std::filesystem;
using namespace tenants;

namespace {

struct Kept {
  TempDirectory temp;
  Executions executions;
  explicit Kept(KeepLimits limits = {}) : executions(reopen(limits)) {}
  Executions reopen(KeepLimits limits) {
    return Executions::open(open_directory(temp.path().string()).value(), limits).value();
  }
  void run(const std::string& id, std::string_view out = "out", std::string_view err = "err") {
    auto recording = executions.begin(id);
    REQUIRE(recording);
    REQUIRE(recording->append(Stream::out, out));
    REQUIRE(recording->append(Stream::err, err));
  }
  bool has(const std::string& id) { return executions.read(id, Stream::out, 0, 1).has_value(); }
};

}  // namespace

TEST_CASE("output is kept in full and read by range, also while it runs", "[executions]") {
  Kept stored;
  auto recording = stored.executions.begin("e1");
  REQUIRE(recording);
  REQUIRE(recording->append(Stream::out, "hello "));
  REQUIRE(recording->append(Stream::out, "world"));
  REQUIRE(recording->append(Stream::err, "\xFF\0bytes"));
  auto range = stored.executions.read("e1", Stream::out, 4, 4);
  REQUIRE(range);
  CHECK(range->bytes == "o wo");
  CHECK(range->size == 11);
  CHECK(range->more());
  CHECK(recording->size(Stream::out) == 11);
  auto beyond = stored.executions.read("e1", Stream::out, 100, 4);
  REQUIRE(beyond);
  CHECK(beyond->bytes.empty());
  CHECK_FALSE(beyond->more());
}

TEST_CASE("ids are checked wherever they come in", "[executions]") {
  Kept stored;
  auto id = GENERATE(values<std::string>({"", "..", ".", "../x", "a/b", "/etc", "A", "-a", "_a", "a.b", "a b", "a\n",
                                          std::string("a\0", 2), std::string(65, 'a'), "\xC3\xA9"}));
  CAPTURE(id);
  CHECK(stored.executions.begin(id).error().code == Code::invalid);
  CHECK(stored.executions.read(id, Stream::out, 0, 1).error().code == Code::invalid);
  CHECK(fs::is_empty(stored.temp.path()));
}

TEST_CASE("an id is used once", "[executions]") {
  Kept stored;
  stored.run("e1");
  auto it = stored.executions.begin("e1");
  REQUIRE_FALSE(it);
  CHECK(it.error().code == Code::invalid);
  CHECK(stored.has("e1"));
}

TEST_CASE("the oldest go first, by count", "[executions]") {
  Kept stored({3, 1 << 20});
  for (int i = 0; i < 5; i++) stored.run("e" + std::to_string(i));
  CHECK(stored.executions.saved() == 3);
  CHECK_FALSE(stored.has("e0"));
  CHECK_FALSE(stored.has("e1"));
  CHECK(stored.has("e2"));
  CHECK_FALSE(fs::exists(stored.temp.path() / "e0"));
  auto removed = stored.executions.read("e0", Stream::out, 0, 1);
  REQUIRE_FALSE(removed);
  CHECK(removed.error().code == Code::not_found);
}

TEST_CASE("the oldest go first, by bytes, and the newest stays whatever its size", "[executions]") {
  Kept stored({100, 100});
  stored.run("e1", std::string(40, 'x'), "");
  stored.run("e2", std::string(40, 'x'), "");
  stored.run("e3", std::string(20, 'x'), "");
  CHECK(stored.executions.saved() == 3);  // an exact fit
  stored.run("e4", "x", "");
  CHECK_FALSE(stored.has("e1"));
  CHECK(stored.has("e2"));
  stored.run("e5", std::string(500, 'x'), "");
  CHECK(stored.executions.saved() == 1);
  CHECK(stored.has("e5"));
}

TEST_CASE("what still runs is never removed", "[executions]") {
  Kept stored({2, 1 << 20});
  auto running = stored.executions.begin("running");
  REQUIRE(running);
  for (int i = 0; i < 4; i++) stored.run("e" + std::to_string(i));
  CHECK(stored.has("running"));
  CHECK(stored.executions.saved() == 2);
  REQUIRE(running->append(Stream::out, "still writing"));
}

TEST_CASE("what was kept is found again by the next daemon, in order", "[executions]") {
  Kept stored;
  stored.run("b");
  fs::last_write_time(stored.temp.path() / "b", fs::file_time_type::clock::now() - std::chrono::hours(2));
  stored.run("a");
  fs::create_directories(stored.temp.path() / "Not An Id");
  Scene::put(stored.temp.path() / "file", "x");
  fs::create_symlink("/etc", stored.temp.path() / "link");
  Executions executions = stored.reopen({});
  CHECK(executions.saved() == 2);
  CHECK(executions.saved_bytes() == 12);
  CHECK(executions.read("a", Stream::err, 0, 10)->bytes == "err");
  executions.set_limits({1, 1 << 20});
  CHECK_FALSE(executions.read("b", Stream::out, 0, 1));
  CHECK(executions.read("a", Stream::out, 0, 1));
}

TEST_CASE("of a long output the head and the tail are kept, within the limit", "[executions]") {
  constexpr uint64_t kLimit = 4000;
  Kept retained;
  const size_t part = GENERATE(1, 7, 999, 1000, 2500, 10'000);
  std::string text;
  for (int n = 0; text.size() < 30'000; n++) text += std::to_string(n) + "\n";
  {
    auto recording = retained.executions.begin("e1", kLimit);
    REQUIRE(recording);
    for (size_t at = 0; at < text.size(); at += part) {
      REQUIRE(recording->append(Stream::out, std::string_view(text).substr(at, part)));
      uint64_t stored = 0;
      for (const auto& file : fs::directory_iterator(retained.temp.path() / "e1")) stored += file.file_size();
      REQUIRE(stored <= kLimit);
      REQUIRE(recording->size(Stream::out) - recording->left_out(Stream::out) == stored);
    }
  }
  for (const bool is_reopened : {false, true}) {
    Executions retry = retained.reopen({});
    const Executions& executions = is_reopened ? retry : retained.executions;
    const auto head = executions.read("e1", Stream::out, 0, 100'000).value();
    REQUIRE(head.gap);
    CHECK(head.bytes == text.substr(0, kLimit / 2));
    CHECK(head.size == text.size());
    CHECK(head.gap->offset == kLimit / 2);
    const auto tail = executions.read("e1", Stream::out, kLimit / 2 + 10, 100'000).value();
    CHECK(tail.offset == head.gap->offset + head.gap->bytes);
    CHECK(tail.bytes == text.substr(tail.offset));
    CHECK(tail.bytes.size() >= kLimit / 4);
    CHECK_FALSE(tail.more());
    CHECK(executions.saved_bytes() <= kLimit);
  }
}

TEST_CASE("output that fits exactly is kept whole", "[executions]") {
  Kept stored;
  auto recording = stored.executions.begin("e1", 4000);
  REQUIRE(recording->append(Stream::out, std::string(4000, 'x')));
  const auto range = stored.executions.read("e1", Stream::out, 0, 5000).value();
  CHECK(range.bytes.size() == 4000);
  CHECK_FALSE(range.gap);
}

TEST_CASE("names that are no parts are not read", "[executions]") {
  Kept stored;
  stored.run("e1");
  for (const char* name : {"stdout.x", "stdout.0", "stdout.5x", "stdout.-5", "stdoutx", "stdout."})
    Scene::put(stored.temp.path() / "e1" / name, "no");
  CHECK(stored.executions.read("e1", Stream::out, 0, 100)->bytes == "out");
}

TEST_CASE("a value is kept beside the output", "[executions]") {
  Kept stored;
  {
    auto recording = stored.executions.begin("e1");
    REQUIRE(recording->append(Stream::value, "[1,"));
    REQUIRE(recording->append(Stream::value, "2]"));
  }
  stored.run("e2");
  CHECK(stored.executions.read("e1", Stream::value, 0, 100)->bytes == "[1,2]");
  CHECK(stored.executions.read("e1", Stream::out, 0, 100)->bytes.empty());
  CHECK(stored.executions.read("e2", Stream::value, 0, 100).error().code == Code::not_found);
}

TEST_CASE("stream names are three", "[executions]") {
  CHECK(parse_stream("stdout").value() == Stream::out);
  CHECK(parse_stream("stderr").value() == Stream::err);
  CHECK(parse_stream("value").value() == Stream::value);
  CHECK(parse_stream("stdin").error().code == Code::not_found);
}

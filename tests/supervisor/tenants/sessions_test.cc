// Session logs: the document that clients know, from lines that are only appended.
#include "supervisor/tenants/sessions.h"

#include "supervisor/base/json/json_value.h"
#include "tests/supervisor/tenants/scene.h"

using namespace tenants;

namespace {

struct Sessions : Scene {
  std::filesystem::path folder = temp.path() / "sessions";
  std::optional<SessionLogs> logs;

  Sessions() {
    std::filesystem::create_directories(folder);
    logs.emplace(open_directory(folder.string()).value(), "user_12345");
  }
  Json document(const char* id) {
    auto text = logs->read(id);
    REQUIRE(text);
    return Json::parse(*text);
  }
};

SessionTask task(const std::string& id, const std::string& code) {
  return {id, "Calculate", code, "8.0", "said\n", "2026-11-21T10:00:15Z", {"/workspace/state/" + id + ".json"}};
}

}  // namespace

TEST_CASE("a session's log reads as the document that its clients know", "[tenants]") {
  Sessions s;
  REQUIRE(s.logs->begin("session_001", "2026-11-21T10:00:00Z"));
  REQUIRE(s.logs->add("session_001", task("task_001", "result = 5 + 3")));
  REQUIRE(s.logs->checkpoint("session_001", {1, "task_001", "half way", "2026-11-21T10:10:00Z"}));
  REQUIRE(s.logs->add("session_001", task("task_002", "1/0")));
  REQUIRE(s.logs->checkpoint("session_001", {2, "task_002", "nearly", "2026-11-21T10:25:00Z"}));
  CHECK(s.document("session_001")["ended_at"].is_null());
  REQUIRE(s.logs->end("session_001", "2026-11-21T10:30:00Z"));
  CHECK(s.document("session_001") == Json::parse(R"({
    "session_id": "session_001", "customer_uid": "user_12345", "description": "",
    "started_at": "2026-11-21T10:00:00Z", "ended_at": "2026-11-21T10:30:00Z",
    "tasks": [
      {"task_id": "task_001", "description": "Calculate", "code": "result = 5 + 3", "result": "8.0", "output": "said\n",
       "timestamp": "2026-11-21T10:00:15Z"},
      {"task_id": "task_002", "description": "Calculate", "code": "1/0", "result": "8.0", "output": "said\n",
       "timestamp": "2026-11-21T10:00:15Z"}],
    "state_files": ["/workspace/state/task_001.json", "/workspace/state/task_002.json"],
    "checkpoint": {"step": 2, "last_task": "task_002", "context": "nearly", "timestamp": "2026-11-21T10:25:00Z"}})"));
  REQUIRE(s.logs->begin("session_001", "2026-11-21T11:00:00Z"));  // resumed
  CHECK(s.document("session_001")["started_at"] == "2026-11-21T10:00:00Z");
  CHECK(s.document("session_001")["ended_at"].is_null());
}

TEST_CASE("a session's description is the last that a task or a checkpoint gave", "[tenants]") {
  Sessions s;
  REQUIRE(s.logs->begin("a", "2026-11-21T10:00:00Z"));
  auto first = task("task_001", "1");
  first.session_description = "Import";
  REQUIRE(s.logs->add("a", first));
  REQUIRE(s.logs->add("a", task("task_002", "2")));
  CHECK(s.document("a")["description"] == "Import");
  REQUIRE(s.logs->checkpoint("a", {1, "task_002", "", "2026-11-21T10:10:00Z", "Nightly import"}));
  REQUIRE(s.logs->end("a", "2026-11-21T10:30:00Z"));
  CHECK(s.document("a")["description"] == "Nightly import");
}

TEST_CASE("a line that a crash cut costs itself only, and nothing that was written changes", "[tenants]") {
  Sessions s;
  REQUIRE(s.logs->add("a", task("t1", "1")));
  const std::string before = Scene::get(s.folder / "a.log");
  Scene::put(s.folder / "a.log", before + R"({"event":"task","task_id":"cut)");
  REQUIRE(s.logs->add("a", task("t2", "2")));
  CHECK(s.document("a")["tasks"].size() == 2);
  CHECK(Scene::get(s.folder / "a.log").starts_with(before));
  Scene::put(s.folder / "b.log", "[1,2]\n{\"event\":7}\n\xff\n{\"event\":\"task\",\"state_files\":[1]}\n");
  CHECK(s.document("b")["tasks"].size() == 1);
}

TEST_CASE("hostile names, long texts and full logs are bounded", "[tenants]") {
  Sessions s;
  for (const char* id : {"", "../x", "a/b", ".a", "a b", "a~b", "~"}) {
    CAPTURE(id);
    CHECK(s.logs->begin(id, "t").error().code == Code::invalid);
    CHECK(s.logs->read(id).error().code == Code::invalid);
  }
  CHECK(s.logs->read("nobody").error().code == Code::not_found);
  SessionTask large = task("t", std::string(1 << 20, 'x'));
  REQUIRE(s.logs->add("long", large));
  CHECK(s.document("long")["tasks"][0]["code"].get<std::string>().size() < 70'000);
  Scene::put(s.folder / "no-log", "");
  std::filesystem::create_symlink(s.outside / "secret", s.folder / "link.log");
  CHECK_FALSE(s.logs->read("link"));
  CHECK_FALSE(s.logs->begin("link", "t"));
  CHECK(s.logs->list().value() == std::vector<std::string>{"link", "long"});
}

TEST_CASE("a full log is put aside, and one that was put aside before goes", "[tenants]") {
  Sessions s;
  const SessionTask large = task("first", std::string(1 << 20, 'x'));
  size_t tasks = 0;
  for (; !std::filesystem::exists(s.folder / "long~.log"); tasks++) REQUIRE(s.logs->add("long", large));
  CHECK(tasks > 10);
  CHECK(s.document("long")["tasks"].size() == 1);
  CHECK(s.document("long~")["tasks"].size() == tasks - 1);
  for (size_t i = 0; i < tasks; i++) REQUIRE(s.logs->add("long", large));
  for (const char* name : {"long.log", "long~.log"})
    CHECK(std::filesystem::file_size(s.folder / name) <= kMaxSessionBytes);
  CHECK(s.logs->list().value() == std::vector<std::string>{"long", "long~"});
}

TEST_CASE("a session is open from its beginning to its end, in a later process, too", "[tenants]") {
  Sessions s;
  CHECK_FALSE(s.logs->is_open("a"));
  REQUIRE(s.logs->begin("a", "t1"));
  CHECK(s.logs->is_open("a"));
  SessionLogs later(open_directory(s.folder.string()).value(), "user_12345");
  CHECK(later.is_open("a"));
  REQUIRE(later.end("a", "t2"));
  CHECK_FALSE(s.logs->is_open("a"));
  CHECK(s.document("a")["ended_at"] == "t2");
}

TEST_CASE("large logs make room for new ones before there are many", "[tenants]") {
  Sessions s;
  const size_t fit = kMaxSessionsBytes / kMaxSessionBytes;
  for (size_t i = 0; i < fit + 3; i++) {
    const std::string id = "s" + std::to_string(100 + i);
    REQUIRE(s.logs->begin(id, "t"));
    REQUIRE(s.logs->end(id, "t"));
    std::filesystem::resize_file(s.folder / (id + ".log"), kMaxSessionBytes);  // sparse
  }
  REQUIRE(s.logs->begin("new", "t"));
  CHECK(s.logs->list().value().size() == fit);
  CHECK(s.logs->read("new"));
}

TEST_CASE("the oldest logs make room for new ones, open sessions' stay", "[tenants]") {
  Sessions s;
  REQUIRE(s.logs->begin("open", "t"));
  for (size_t i = 0; i < kMaxSessions + 20; i++) {
    const std::string id = "s" + std::to_string(i);
    REQUIRE(s.logs->begin(id, "t"));
    REQUIRE(s.logs->end(id, "t"));
  }
  CHECK(s.logs->list().value().size() <= kMaxSessions);
  CHECK(s.logs->is_open("open"));
  CHECK(s.logs->read("open"));
}

#include "supervisor/tools/workspace/workspace_tools.h"

#include "policies/policy.h"
#include "supervisor/base/base64.h"
#include "supervisor/base/json/json.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/tenants/executions.h"
#include "supervisor/tenants/tenant.h"
#include "tests/supervisor/protocol/mcp/portability.h"
#include "tests/supervisor/tenants/scene.h"

namespace fs = std::filesystem;

namespace {

const std::string kPng = std::string("\x89PNG\r\n\x1A\n\0\0\0\rIHDR", 16) + std::string(100, '\x01');

// The tools as a client sees them.
using Tool = Task<mcp::ToolResult>(tenants::Tenant&, Json);
template <auto* work>
Task<mcp::ToolResult> answer_of(tenants::Tenant& tenant, Json arguments) {
  auto value = co_await work(tenant, std::move(arguments));
  co_return tools::answer_for_agent(std::move(value));
}
constexpr Tool* write_workspace_file = answer_of<tools::write_workspace_file>;
constexpr Tool* list_workspace_files = answer_of<tools::list_workspace_files>;
constexpr Tool* delete_workspace_file = answer_of<tools::delete_workspace_file>;
Task<mcp::ToolResult> read_workspace_file(tenants::Tenant& tenant, Json arguments) {
  Loop loop;  // only a background execution that works would use it, and there is none
  tasks::MemoryTaskDisk disk;
  tasks::TaskStore tasks(loop, disk);
  executions::ExecutionRegistry executions(loop);
  const tenants::Requester requester{
      std::shared_ptr<tenants::Tenant>(std::shared_ptr<void>(), &tenant), std::make_shared<policies::Policy>(), {}, {}};
  auto reading = tools::read_workspace_file({loop, {tasks, tasks, executions}}, requester, std::move(arguments));
  auto result = co_await std::move(reading);
  if (!result) co_return mcp::ToolResult::error(result.error());
  co_return *std::move(result);
}

// One tenant with a small quota.
struct WorkspaceClient {
  TempDirectory temp;
  Loop loop;
  std::shared_ptr<tenants::Tenant> tenant;
  fs::path workspace = temp.path() / "acme/workspace";

  WorkspaceClient() {
    policies::Policy policy;
    policy.quota = {4 << 20, 200, 10, 1 << 20};
    Fd state = open_directory(temp.path().string()).value();
    tenant = tenants::Tenant::open(loop, state.get(), "acme", policy).value();
  }

  mcp::ToolResult call(Tool* tool, Json arguments) { return wait_for(loop, tool(*tenant, std::move(arguments))); }
  // The answer of a call that must succeed; what a client takes as structured content says the same.
  Json ok(Tool* tool, Json arguments) {
    mcp::ToolResult result = call(tool, std::move(arguments));
    INFO(std::get<mcp::Text>(result.content.at(0)).text);
    REQUIRE_FALSE(result.is_error);
    const Json answer = text_of(result);
    CHECK(answer["success"] == true);
    CHECK(result.structured.value_or(answer) == answer);
    return answer;
  }
  Json error(Tool* tool, Json arguments, std::string_view code) {
    mcp::ToolResult result = call(tool, std::move(arguments));
    REQUIRE(result.is_error);
    REQUIRE(result.structured);
    CHECK((*result.structured)["success"] == false);
    CHECK((*result.structured)["code"] == std::string(code));
    CHECK_FALSE((*result.structured)["error"].get<std::string>().empty());
    CHECK(Json::parse(std::get<mcp::Text>(result.content.at(0)).text) == *result.structured);
    return *result.structured;
  }
  Json write(Json arguments) { return ok(write_workspace_file, std::move(arguments)); }
  static Json text_of(const mcp::ToolResult& result) {
    return Json::parse(std::get<mcp::Text>(result.content.at(0)).text);
  }
  Json read(Json arguments) { return ok(read_workspace_file, std::move(arguments)); }
  Json list(Json arguments) { return ok(list_workspace_files, std::move(arguments)); }
  std::string on_disk(const std::string& name) { return Scene::get(workspace / name); }
};

}  // namespace

TEST_CASE("a file is written with the keys that clients know", "[tools]") {
  WorkspaceClient client;
  auto answer = client.write({{"filename", "data/a.txt"}, {"content", "caf\xC3\xA9"}});
  CHECK(answer["message"] == "Written 5 bytes to data/a.txt");  // bytes, not characters
  CHECK(answer["filename"] == "data/a.txt");
  CHECK(answer["size"] == 5);
  CHECK(client.on_disk("data/a.txt") == "caf\xC3\xA9");
}

TEST_CASE("writing appends, creates and takes base64", "[tools]") {
  WorkspaceClient client;
  client.write({{"filename", "a"}, {"content", "AP8="}, {"encoding", "base64"}});
  CHECK(client.on_disk("a") == std::string("\0\xFF", 2));
  auto appended = client.write({{"filename", "a"}, {"content", "+"}, {"mode", "append"}});
  CHECK(appended["size"] == 3);
  CHECK(appended["message"] == "Written 1 bytes to a");
  client.error(write_workspace_file, {{"filename", "a"}, {"content", "x"}, {"mode", "create"}}, "invalid");
  CHECK(client.on_disk("a") == std::string("\0\xFF+", 3));
}

TEST_CASE("base64 is taken in lines, and without its padding", "[tools]") {
  WorkspaceClient client;
  client.write({{"filename", "lines"}, {"content", "+/8A\n+/8A\n"}, {"encoding", "base64"}});
  CHECK(client.on_disk("lines") == std::string("\xFB\xFF\0\xFB\xFF\0", 6));
  client.write({{"filename", "unpadded"}, {"content", "Zg"}, {"encoding", "base64"}});
  CHECK(client.on_disk("unpadded") == "f");
}

TEST_CASE("bad arguments are named", "[tools]") {
  WorkspaceClient client;
  auto [tool, arguments, part] = GENERATE(table<Tool*, Json, std::string>({
      {write_workspace_file, Json::object(), "filename"},
      {write_workspace_file, Json{{"filename", "a"}}, "content"},
      {write_workspace_file, Json{{"filename", 7}, {"content", "x"}}, "filename"},
      {write_workspace_file, Json{{"filename", "a"}, {"content", "x"}, {"mode", "truncate"}}, "mode"},
      {write_workspace_file, Json{{"filename", "a"}, {"content", "x"}, {"encoding", "latin1"}}, "encoding"},
      {write_workspace_file, Json{{"filename", "a"}, {"content", "*"}, {"encoding", "base64"}}, "base64"},
      {write_workspace_file, Json{{"filename", "a"}, {"content", "x"}, {"file", "b"}}, "file"},
      {write_workspace_file, Json{{"filename", "../a"}, {"content", "x"}}, ".."},
      {write_workspace_file, Json{{"filename", "."}, {"content", "x"}}, "folder"},
      {write_workspace_file, Json::array(), "write_workspace_file"},
      {read_workspace_file, Json{{"filename", "a"}, {"offset", -1}}, "offset"},
      {read_workspace_file, Json{{"filename", "a"}, {"offset", 1.5}}, "offset"},
      {read_workspace_file, Json{{"filename", "a"}, {"limit", 0}}, "limit"},
      {read_workspace_file, Json{{"filename", ""}}, "empty"},
      {read_workspace_file, Json{{"filename", "exec:///e1"}}, "exec:///"},
      {read_workspace_file, Json{{"filename", "exec:///../stdout"}}, "execution id"},
      {list_workspace_files, Json{{"depth", 0}}, "depth"},
      {list_workspace_files, Json{{"limit", 0}}, "limit"},
      {list_workspace_files, Json{{"subpath", "/etc"}}, "not in /workspace"},
      {write_workspace_file, Json{{"filename", "/workspaces/a"}, {"content", "x"}}, "not in /workspace"},
      {write_workspace_file, Json{{"filename", "/workspace/../a"}, {"content", "x"}}, ".."},
      {write_workspace_file, Json{{"filename", "workspace:///%2e%2e/a"}, {"content", "x"}}, ".."},
      {write_workspace_file, Json{{"filename", "file:///etc/a"}, {"content", "x"}}, "not in /workspace"},
      {delete_workspace_file, Json{{"filename", "a"}, {"recursive", "yes"}}, "recursive"},
  }));
  CAPTURE(arguments.dump());
  auto answer = client.error(tool, arguments, "invalid");
  CHECK_THAT(answer["error"].get<std::string>(), Catch::Contains(part));
  CHECK(fs::is_empty(client.workspace));
}

TEST_CASE("a path is taken as programs in a jail name it, and as URIs do", "[tools]") {
  WorkspaceClient client;
  const std::string written =
      GENERATE("/workspace/d/a", "/workspace//d/a", "/mnt/workspace/d/a", "./d/a", "././d/a", "workspace/d/a",
               "./workspace/d/a", "workspace:///d/a", "workspace:///d%2Fa", "file:///workspace/d/a");
  CAPTURE(written);
  CHECK(client.write({{"filename", written}, {"content", "x"}})["filename"] == "d/a");
  CHECK(client.on_disk("d/a") == "x");
  CHECK_FALSE(fs::exists(client.workspace / "workspace"));
  CHECK(client.read({{"filename", written}})["content"] == "x");
  CHECK(client.ok(delete_workspace_file, {{"filename", written}})["message"] == "Deleted d/a");
  CHECK_FALSE(fs::exists(client.workspace / "d/a"));
}

TEST_CASE("the workspace's own folder has many names", "[tools]") {
  WorkspaceClient client;
  client.write({{"filename", "a"}, {"content", "x"}});
  const std::string written =
      GENERATE(".", "/", "/workspace", "/workspace/", "workspace", "./workspace/", "workspace:///", "/mnt/workspace");
  CAPTURE(written);
  auto listed = client.list({{"subpath", written}});
  CHECK(listed["files"] == Json::array({"a"}));
  CHECK(listed["path"] == ".");
}

TEST_CASE("a folder that a program named workspace is meant by its name", "[tools]") {
  WorkspaceClient client;
  fs::create_directory(client.workspace / "workspace");
  Scene::put(client.workspace / "workspace/in", "x");
  CHECK(client.read({{"filename", "workspace/in"}})["content"] == "x");
  CHECK(client.read({{"filename", "workspace:///workspace/in"}})["content"] == "x");
  CHECK(client.list({{"subpath", "workspace"}})["files"] == Json::array({"workspace/in"}));
  CHECK(client.list({{"subpath", "/workspace"}})["files"] == Json::array({"workspace/in"}));
}

TEST_CASE("after a whole path's /workspace, a second one is a folder's name", "[tools]") {
  WorkspaceClient client;
  CHECK(client.write({{"filename", "/workspace/workspace/a"}, {"content", "x"}})["filename"] == "workspace/a");
  CHECK(client.on_disk("workspace/a") == "x");
}

TEST_CASE("a file that is named workspace is meant by its name", "[tools]") {
  WorkspaceClient client;
  Scene::put(client.workspace / "workspace", "x");
  CHECK(client.read({{"filename", "workspace"}})["content"] == "x");
  CHECK(client.ok(delete_workspace_file, {{"filename", "workspace"}})["message"] == "Deleted workspace");
  CHECK_FALSE(fs::exists(client.workspace / "workspace"));
}

TEST_CASE("what is named workspace is deleted, and asked for again never the whole workspace", "[tools]") {
  WorkspaceClient client;
  Scene::put(client.workspace / "precious", "x");
  const Json order = {{"filename", "workspace"}, {"recursive", true}};
  SECTION("a folder") {
    fs::create_directory(client.workspace / "workspace");
    CHECK(client.ok(delete_workspace_file, order)["message"] == "Deleted workspace");
  }
  SECTION("a link") {
    fs::create_directory(client.workspace / "data");
    fs::create_symlink("data", client.workspace / "workspace");
    CHECK(client.ok(delete_workspace_file, order)["message"] == "Deleted workspace");
    CHECK(fs::exists(client.workspace / "data"));
  }
  SECTION("nothing") {}
  client.error(delete_workspace_file, order, "not_found");
  CHECK(client.on_disk("precious") == "x");
}

TEST_CASE("a folder that is not there is listed as empty, with a word that it is not", "[tools]") {
  WorkspaceClient client;
  auto listed = client.list({{"subpath", "nope"}});
  CHECK(listed["files"] == Json::array());
  CHECK(listed["count"] == 0);
  CHECK(listed["note"] == "there is no folder 'nope'");
}

TEST_CASE("more than is given at once is asked for without harm", "[tools]") {
  WorkspaceClient client;
  Scene::put(client.workspace / "long", std::string((1 << 20) + 1, 'x'));
  auto part = client.read({{"filename", "long"}, {"limit", 1 << 30}});
  CHECK(part["length"] == 1 << 20);
  CHECK(part["more"] == true);
  CHECK(client.list({{"limit", 1'000'000}, {"depth", 1'000'000}})["count"] == 1);
}

TEST_CASE("a whole text file is read with the keys that clients know", "[tools]") {
  WorkspaceClient client;
  client.write({{"filename", "a.txt"}, {"content", "hello"}});
  auto answer = client.read({{"filename", "./a.txt"}});
  CHECK(answer == Json::parse(R"({"success":true,"filename":"a.txt","content":"hello","size":5,"offset":0,
                                          "length":5,"encoding":"utf-8","more":false})"));
}

TEST_CASE("reading range after range gives the whole text, never half a character", "[tools]") {
  WorkspaceClient client;
  std::string text;
  for (int i = 0; i < 20; i++) text += "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
  client.write({{"filename", "a"}, {"content", text}});
  for (int limit = 1; limit <= 12; limit++) {
    CAPTURE(limit);
    std::string all;
    uint64_t offset = 0;
    for (int reads = 0;; reads++) {
      REQUIRE(reads < 300);
      auto part = client.read({{"filename", "a"}, {"offset", offset}, {"limit", limit}});
      REQUIRE(part["encoding"] == "utf-8");
      REQUIRE(part["offset"] == offset);
      REQUIRE(part["length"] == part["content"].get<std::string>().size());
      all += part["content"];
      offset += part["length"].get<uint64_t>();
      if (part["more"] == false) break;
    }
    CHECK(all == text);
  }
}

TEST_CASE("a range that begins inside a character begins at the next one, and says so", "[tools]") {
  WorkspaceClient client;
  client.write({{"filename", "a"},
                {"content",
                 "\xF0\x9F\x98\x80"
                 "bc"}});
  for (int offset : {1, 2, 3}) {
    auto part = client.read({{"filename", "a"}, {"offset", offset}, {"limit", 1}});
    CHECK(part["offset"] == 4);
    CHECK(part["content"].get<std::string>().substr(0, 1) == "b");
  }
  auto beyond = client.read({{"filename", "a"}, {"offset", 6}});
  CHECK(beyond["content"] == "");
  CHECK(beyond["more"] == false);
}

TEST_CASE("what is not text comes as base64", "[tools]") {
  using namespace std::string_literals;
  WorkspaceClient client;
  auto bytes =
      GENERATE(values<std::string>({"\xFF\xFE", "a\0b"s, "cut \xE2\x82", "\x80tail", "\xC0\xAF", "\xED\xA0\x80"}));
  Scene::put(client.workspace / "a", bytes);
  auto answer = client.read({{"filename", "a"}});
  CHECK(answer["encoding"] == "base64");
  CHECK(from_base64(answer["content"].get<std::string>()).value() == bytes);
  CHECK(answer["length"] == bytes.size());
  if (bytes.find('\0') == bytes.npos) {
    auto refused = client.error(read_workspace_file, {{"filename", "a"}, {"encoding", "utf-8"}}, "invalid");
    CHECK(refused["remedy"] == "read it with encoding base64");
  }
}

TEST_CASE("base64 is exact in any range", "[tools]") {
  WorkspaceClient client;
  client.write({{"filename", "a"}, {"content", "caf\xC3\xA9!"}});
  auto part = client.read({{"filename", "a"}, {"offset", 4}, {"limit", 1}, {"encoding", "base64"}});
  CHECK(from_base64(part["content"].get<std::string>()).value() == "\xA9");
  CHECK(part["more"] == true);
}

TEST_CASE("a picture is shown, unless a part of it or its bytes were asked for", "[tools]") {
  WorkspaceClient client;
  Scene::put(client.workspace / "a.png", kPng);
  mcp::ToolResult tool_result = client.call(read_workspace_file, {{"filename", "a.png"}});
  REQUIRE(tool_result.content.size() == 2);
  const auto& image = std::get<mcp::Image>(tool_result.content[1]);
  CHECK(image.mime_type == "image/png");
  CHECK(from_base64(image.base64).value() == kPng);
  CHECK_FALSE(tool_result.structured);  // a client that prefers it would drop the picture
  const Json about = WorkspaceClient::text_of(tool_result);
  CHECK(about["encoding"] == "image");
  CHECK(about["content"] == "");
  CHECK(about["size"] == kPng.size());
  for (Json arguments : {Json{{"filename", "a.png"}, {"limit", 20}}, Json{{"filename", "a.png"}, {"offset", 1}},
                         Json{{"filename", "a.png"}, {"encoding", "base64"}}}) {
    mcp::ToolResult spelled = client.call(read_workspace_file, arguments);
    CHECK(spelled.content.size() == 1);
    CHECK(WorkspaceClient::text_of(spelled)["encoding"] == "base64");
  }
  Scene::put(client.workspace / "large.png", kPng + std::string(1 << 20, 'x'));
  CHECK(client.call(read_workspace_file, {{"filename", "large.png"}}).content.size() == 1);
  Scene::put(client.workspace / "long.png", kPng + std::string(100'000, 'x'));  // more than the usual range
  CHECK(client.call(read_workspace_file, {{"filename", "long.png"}}).content.size() == 2);
}

TEST_CASE("kept output is read like a file", "[tools]") {
  WorkspaceClient client;
  {
    auto recording = client.tenant->executions().begin("e1").value();
    REQUIRE(recording.append(tenants::Stream::out, "0123456789"));
    REQUIRE(recording.append(tenants::Stream::err, "oops"));
  }
  auto part = client.read({{"filename", "exec:///e1/stdout"}, {"offset", 3}, {"limit", 4}});
  CHECK(part["content"] == "3456");
  CHECK(part["size"] == 10);
  CHECK(part["more"] == true);
  CHECK(client.read({{"filename", "exec:///e1/stderr"}})["content"] == "oops");
  client.error(read_workspace_file, {{"filename", "exec:///e2/stdout"}}, "not_found");
  client.error(read_workspace_file, {{"filename", "exec:///e1/stdin"}}, "not_found");
  client.error(read_workspace_file, {{"filename", "exec:///e1/stdout/.."}}, "not_found");
}

TEST_CASE("files are listed with the keys that clients know", "[tools]") {
  WorkspaceClient client;
  for (const char* name : {"b/c", "a", "b/d/e"}) client.write({{"filename", name}, {"content", "123"}});
  CHECK(client.list(Json::object()) ==
        Json::parse(R"({"success":true,"path":".","files":["a","b/c","b/d/e"],"count":3,"more":false})"));
  auto cut = client.list({{"subpath", "b"}, {"depth", 1}});
  CHECK(cut["files"] == Json::array({"b/c"}));
  CHECK(cut["path"] == "b");
  CHECK(client.list({{"limit", 2}})["more"] == true);
  auto detailed = client.list({{"details", true}, {"limit", 1}});
  CHECK(detailed["entries"][0]["path"] == "a");
  CHECK(detailed["entries"][0]["size"] == 3);
  CHECK(detailed["entries"][0]["kind"] == "file");
  CHECK(detailed["entries"][0]["modified"].get<std::string>().size() == 20);
  CHECK(client.list({{"subpath", "missing"}})["note"] == "there is no folder 'missing'");
  client.error(list_workspace_files, {{"subpath", "a"}}, "invalid");
}

TEST_CASE("names that are not UTF-8 and links are listed without harm", "[tools]") {
  WorkspaceClient client;
  Scene::put(client.workspace / "\xFF\n", "x");
  fs::create_symlink("/etc/passwd", client.workspace / "link");
  auto listed = client.list({{"details", true}});
  CHECK(listed["files"] == Json::array({"link", "\xEF\xBF\xBD\n"}));
  CHECK(listed["entries"][0]["kind"] == "link");
  client.error(read_workspace_file, {{"filename", "link"}}, "denied");
}

TEST_CASE("files and folders are deleted", "[tools]") {
  WorkspaceClient client;
  client.write({{"filename", "d/a"}, {"content", "x"}});
  client.error(delete_workspace_file, {{"filename", "d"}}, "invalid");
  CHECK(client.ok(delete_workspace_file, {{"filename", "d/a"}})["message"] == "Deleted d/a");
  client.error(delete_workspace_file, {{"filename", "d/a"}}, "not_found");
  client.write({{"filename", "d/e/f"}, {"content", "x"}});
  CHECK(client.ok(delete_workspace_file, {{"filename", "d"}, {"recursive", true}})["message"] == "Deleted d");
  CHECK(fs::is_empty(client.workspace));
}

TEST_CASE("a full quota tells numbers, rule and remedy", "[tools]") {
  WorkspaceClient client;
  auto answer = client.error(write_workspace_file, {{"filename", "a"}, {"content", std::string((4 << 20) + 1, 'x')}},
                             "exhausted");
  CHECK(answer["error"] == "writing 'a' needs 4194305 bytes more, 4194304 of 4194304 are left in this workspace");
  CHECK(answer["rule"] == "quota.workspace_bytes");
  CHECK(answer.contains("remedy"));
  CHECK(fs::is_empty(client.workspace));
}

TEST_CASE("resources are listed in pages and read", "[tools]") {
  WorkspaceClient client;
  for (int i = 0; i < 120; i++) Scene::put(client.workspace / ("f" + std::to_string(1000 + i)), "x");
  Scene::put(client.workspace / "a b%\xC3\xA9.md", "# hello");
  Scene::put(client.workspace / "raw", "\xFF");
  fs::create_symlink("raw", client.workspace / "link");
  std::vector<std::string> uris;
  std::string cursor;
  do {
    auto page = wait_for(client.loop, tools::list_resources(*client.tenant, cursor));
    REQUIRE(page);
    CHECK(page->resources.size() <= 100);
    for (const auto& resource : page->resources) uris.push_back(resource.uri);
    cursor = page->next_cursor;
  } while (!cursor.empty());
  CHECK(uris.size() == 122);
  CHECK(uris.front() == "workspace:///a%20b%25%C3%A9.md");
  auto read = [&](std::string uri) {
    return wait_for(client.loop, tools::read_resource(*client.tenant, std::move(uri)));
  };
  auto text = read(uris.front());
  REQUIRE(text);
  CHECK(text->at(0).data == "# hello");
  CHECK(text->at(0).mime_type == "text/markdown");
  CHECK(text->at(0).uri == uris.front());
  auto raw = read("workspace:///raw");
  CHECK(raw->at(0).kind == mcp::ResourceContents::Kind::blob);
  CHECK(raw->at(0).data == "/w==");
  auto [uri, code] = GENERATE(table<std::string, Code>({{"workspace:///missing", Code::not_found},
                                                        {"workspace:///%2e%2e/x", Code::invalid},
                                                        {"workspace:////etc/passwd", Code::invalid},
                                                        {"workspace:///%2Fetc", Code::invalid},
                                                        {"workspace:///a%0", Code::invalid},
                                                        {"workspace:///a%zz", Code::invalid},
                                                        {"workspace:///link", Code::denied},
                                                        {"file:///etc/passwd", Code::not_found},
                                                        {"exec:///e1/stdout", Code::not_found}}));
  CAPTURE(uri);
  CHECK(read(uri).error().code == code);
  for (std::string bad : {"x", "-1", "10000", "1x", "99999999999999999999"})
    CHECK(wait_for(client.loop, tools::list_resources(*client.tenant, bad)).error().code == Code::invalid);
}

TEST_CASE("a folder is read as a listing, with and without a slash at its end", "[tools]") {
  WorkspaceClient client;
  Scene::put(client.workspace / "top.txt", "1");
  std::filesystem::create_directory(client.workspace / "a b");
  Scene::put(client.workspace / "a b" / "in.txt", "22");
  auto read = [&](const std::string& uri) {
    auto contents = wait_for(client.loop, tools::read_resource(*client.tenant, uri));
    REQUIRE(contents);
    REQUIRE(contents->size() == 1);
    CHECK(contents->front().uri == uri);
    CHECK(contents->front().mime_type == "application/json");
    return Json::parse(contents->front().data);
  };
  for (const char* uri : {"workspace:///", "workspace:////"}) {
    const Json root = read(uri);
    CHECK(root["files"] == Json{"a b/in.txt", "top.txt"});
    CHECK(root["more"] == false);
  }
  for (const char* uri : {"workspace:///a%20b", "workspace:///a%20b/"}) CHECK(read(uri)["files"] == Json{"a b/in.txt"});
  for (int i = 0; i < 150; i++) Scene::put(client.workspace / ("many-" + std::to_string(i)), "");
  CHECK(read("workspace:///")["count"] == 152);
}

TEST_CASE("a file that is too large for a resource is the caller's error, with the remedy", "[tools]") {
  WorkspaceClient client;
  Scene::put(client.workspace / "big", "");
  std::filesystem::resize_file(client.workspace / "big", (4 << 20) + 1);
  const auto refused = wait_for(client.loop, tools::read_resource(*client.tenant, "workspace:///big"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::invalid);
  CHECK(refused.error().hint.find("read_workspace_file") != std::string::npos);
}

TEST_CASE("the definitions work in every client and stay small", "[tools]") {
  size_t bytes = 0;
  for (const auto& tool : {tools::write_workspace_file_definition(), tools::read_workspace_file_definition(),
                           tools::list_workspace_files_definition(), tools::delete_workspace_file_definition()}) {
    CAPTURE(tool.name);
    CHECK(mcp_test::portability_problems(tool).empty());
    bytes += tool.description.size() + tool.input_schema.dump().size();
  }
  CHECK(bytes < 3500);
}

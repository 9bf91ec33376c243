#include "catalog/catalog.h"

#include <sys/stat.h>
#include <unistd.h>

#include "catalog/packed.h"
#include "tests/catalog/library.h"

namespace fs = std::filesystem;

namespace {

Json list_of(std::initializer_list<const char*> names) {
  Json tools = Json::array();
  for (const char* name : names) tools.push_back({{"name", name}, {"description", std::string("about ") + name}});
  return {{"tools", tools}};
}

}  // namespace

TEST_CASE("files of every form become one catalogue, counted as it is", "[catalog]") {
  Library library;
  library.put("full_catalog.json", Json::parse(R"({"total_tools": 85, "core_mcps": ["memory"], "categories": {
    "security": {"description": "Guards", "tools": {"dos_detector": {"mcp_server": "sec", "description": "Floods"}}},
    "empty": {"description": "Nothing"}}})"));
  library.put("storage/files.json", list_of({"read_file", "write_file"}));
  library.put("storage/deep/er/still.json", list_of({"deep"}));
  library.put("storage/deep/er/too/far.json", list_of({"unread"}));
  library.put("loose.json", list_of({"loose_one"}));
  library.put(".hidden/a.json", list_of({"hidden"}));
  library.put("storage/.b.json", list_of({"hidden"}));
  library.put("README.md", "not a definition");
  const auto& created = library.load();
  CHECK(created.problems().empty());
  CHECK(library.names({0, 1, 2, 3, 4}) == Names{"deep", "dos_detector", "loose_one", "read_file", "write_file"});
  CHECK(created.size() == 5);
  Names categories;
  size_t counted = 0;
  for (const auto& group : created.categories()) {
    categories.push_back(group.name + " " + std::to_string(group.tools));
    counted += group.tools;
  }
  CHECK(categories == Names{"empty 0", "loose 1", "security 1", "storage 3"});
  CHECK(counted == created.size());
  CHECK(created.categories()[2].description == "Guards");
  CHECK(created.core_servers() == Names{"memory"});
}

TEST_CASE("a tool of two files is one tool, with what each of them knows", "[catalog]") {
  Library library;
  library.put("full_catalog.json", Json::parse(R"({"categories": {"vision": {"tools": {"resize": {
    "mcp_server": "images", "description": "old words", "use_cases": ["thumbnails"], "tags": ["b"]}}}}})"));
  library.put("images.json", Json::parse(R"({"tools": [{"name": "resize", "description": "Scales a picture",
    "tags": ["a"], "inputSchema": {"type": "object"}}]})"));
  library.put("other.json", Json::parse(R"({"tools": [{"name": "resize", "description": "another server's"}]})"));
  const auto& created = library.load();
  REQUIRE(created.size() == 2);
  auto tool = created.tool(0);
  CHECK(tool.server == "images");
  CHECK(tool.category == "vision");  // of the file that has categories
  CHECK(tool.description == "Scales a picture");
  CHECK(Json::parse(created.rest(0)) == Json::parse(R"({"inputSchema":{"type":"object"},"use_cases":["thumbnails"]})"));
  CHECK(created.tags(0) == std::vector<std::string_view>{"a", "b"});
  CHECK(created.tags(1).empty());
  CHECK(created.problems().empty());
}

TEST_CASE("two lists that define one tool are a problem that is told, not a second tool", "[catalog]") {
  Library library;
  library.put("a.json", Json::parse(R"({"server": "s", "tools": [{"name": "t", "description": "first"}]})"));
  library.put("b.json", Json::parse(R"({"server": "s", "tools": [{"name": "t", "description": "second", "x": 1}]})"));
  const auto& created = library.load();
  REQUIRE(created.size() == 1);
  CHECK(created.tool(0).description == "first");
  CHECK(created.rest(0) == R"({"x":1})");
  REQUIRE(created.problems().size() == 1);
  CHECK(created.problems()[0].file == "b.json");
}

TEST_CASE("a broken file is named and skipped, the rest serves", "[catalog]") {
  Library library;
  library.put("good.json", list_of({"good"}));
  library.put("cut.json", R"({"tools": [{"name": "a")");
  library.put("empty.json", "");
  library.put("deep.json", std::string(100'000, '['));
  library.put("bytes.json", std::string("\xFF\xFE\0\x01", 4));
  library.put("number.json", "7");
  library.put("open.json", list_of({"anybody_may_write_this"}));
  fs::permissions(library.temp.path() / "open.json", fs::perms::others_write, fs::perm_options::add);
  fs::create_directory(library.temp.path() / "folder.json");
  fs::create_symlink("/dev/zero", library.temp.path() / "device.json");
  fs::create_symlink("nowhere", library.temp.path() / "dangling.json");
  REQUIRE(::mkfifo((library.temp.path() / "pipe.json").c_str(), 0600) == 0);
  const auto& created = library.load();
  CHECK(library.names({0}) == Names{"good"});
  CHECK(created.size() == 1);
  Names files;
  for (const auto& problem : created.problems()) files.push_back(problem.file);
  CHECK(files == Names{"bytes.json", "cut.json", "deep.json", "device.json", "empty.json", "number.json", "open.json",
                       "pipe.json"});
  CHECK(created.problem_count() == 8);
}

TEST_CASE("a file with a key twice is named with both lines and skipped", "[catalog]") {
  Library library;
  library.put("good.json", list_of({"good"}));
  library.put("escaped.json", "{\"name\": \"a\",\n\"descripti\\u006fn\": \"b\",\n\"description\": \"c\"}");
  library.put("name.json", "{\n  \"name\": \"first\",\n  \"name\": \"second\"\n}");
  // Bytes that are not UTF-8 and half of a character are read, and do not hide the key.
  library.put("repaired.json",
              "\xef\xbb\xbf{\"tools\": [{\"name\": \"a\", \"title\": \"\\ud800\",\n\"title\": \"\xff\"}]}");
  library.put("schema.json", R"({"tools": [{"name": "a", "inputSchema": {"properties": {
    "x": {"type": "string"},
    "y": {"type": "string"},
    "x": {"type": "number"}}}}]})");
  const auto& created = library.load();
  CHECK(library.names({0}) == Names{"good"});
  CHECK(created.size() == 1);
  Names problems;
  for (const auto& problem : created.problems()) problems.push_back(problem.file + ": " + problem.what);
  CHECK(problems == Names{"escaped.json: line 3, column 1: the key \"description\" is there twice, first in line 2",
                          "name.json: line 3, column 3: the key \"name\" is there twice, first in line 2",
                          "repaired.json: line 2, column 1: the key \"title\" is there twice, first in line 1",
                          "schema.json: line 4, column 5: the key \"x\" is there twice, first in line 2"});
}

TEST_CASE("a file that is too large is named and skipped", "[catalog]") {
  Library library;
  library.put("large.json", "[");
  fs::resize_file(library.temp.path() / "large.json", catalog::kMaxFileBytes + 1);
  library.put("good.json", list_of({"good"}));
  const auto& created = library.load();
  CHECK(created.size() == 1);
  REQUIRE(created.problems().size() == 1);
  CHECK(created.problems()[0].file == "large.json");
}

TEST_CASE("problems are bounded and counted", "[catalog]") {
  Library library;
  for (int i = 0; i < 150; i++) library.put("f" + std::to_string(i) + ".json", "broken");
  const auto& created = library.load();
  CHECK(created.problems().size() == 100);
  CHECK(created.problem_count() == 150);
}

TEST_CASE("no folder is an error that names it; an empty one is an empty catalogue", "[catalog]") {
  Library library;
  auto missing = catalog::load_catalog((library.temp.path() / "none").string());
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Code::not_found);
  CHECK_THAT(missing.error().what, Catch::Contains("none"));
  const auto& created = library.load();
  CHECK(created.size() == 0);
  catalog::Query query;
  query.text = "anything";
  auto found = created.search(query);
  CHECK(found.total == 0);
  CHECK(found.nearest.empty());
  CHECK(created.find("x").tools.empty());
}

TEST_CASE("a listing says whether anything has changed", "[catalog]") {
  Library library;
  library.put("a/one.json", list_of({"one"}));
  library.put("two.json", list_of({"two"}));
  auto list = [&] { return catalog::list_folder(library.temp.path().string()).value(); };
  const auto before = list();
  CHECK(list() == before);
  CHECK(before.folders == Names{"", "a"});
  SECTION("a new file") { library.put("three.json", list_of({"three"})); }
  SECTION("a file that went") { fs::remove(library.temp.path() / "two.json"); }
  SECTION("a file that was replaced by one of the same size and time") {
    const auto file = library.temp.path() / "two.json";
    const auto time = fs::last_write_time(file);
    library.put("new", list_of({"owt"}));
    fs::rename(library.temp.path() / "new", file);
    fs::last_write_time(file, time);
  }
  SECTION("a file whose rights changed") {
    fs::permissions(library.temp.path() / "two.json", fs::perms::others_write, fs::perm_options::add);
  }
  SECTION("a new folder") { fs::create_directory(library.temp.path() / "b"); }
  CHECK_FALSE(list() == before);
}

TEST_CASE("loading goes in slices, and gives the same", "[catalog]") {
  Library library;
  for (int i = 0; i < 20; i++) library.put("f" + std::to_string(i) + ".json", list_of({"a", "b", "c"}));
  auto builder = catalog::CatalogBuilder::begin(library.temp.path().string());
  REQUIRE(builder);
  auto reading = catalog::read_definitions(list_of({"live_tool"}), {"live", ""});
  builder->add("live", *std::move(reading));
  int slices = 1;
  while (!builder->step(std::chrono::microseconds(0))) slices++;
  CHECK(slices > 60);  // a file or a tool at a time
  const auto created = builder->take();
  CHECK(created->size() == 61);
  CHECK(created->find("live_tool").tools.size() == 1);
  CHECK(created->search({.text = "live tool"}).total == 1);
}

TEST_CASE("files that several threads read give the same, in the same order", "[catalog]") {
  Library library;
  for (int i = 0; i < 200; i++) {
    const std::string number = std::to_string(i);
    library.put("f" + number + ".json", list_of({"same", ("only" + number).c_str()}));
    if (i % 20 == 0) library.put("broken" + number + ".json", "{");
  }
  auto created = [&](unsigned threads) {
    auto builder = catalog::CatalogBuilder::begin(library.temp.path().string(), threads);
    REQUIRE(builder);
    while (!builder->step(std::chrono::microseconds(0))) continue;
    return builder->take();
  };
  const auto alone = created(0), together = created(3);
  REQUIRE(alone->size() == 400);
  REQUIRE(together->size() == alone->size());
  for (uint32_t tool = 0; tool < alone->size(); tool++) {
    CHECK(together->tool(tool).name == alone->tool(tool).name);
    CHECK(together->tool(tool).server == alone->tool(tool).server);
    CHECK(together->rest(tool) == alone->rest(tool));
  }
  REQUIRE(together->problem_count() == 10);
  for (size_t i = 0; i < 10; i++) CHECK(together->problems()[i].file == alone->problems()[i].file);
  CHECK_FALSE(
      catalog::CatalogBuilder::begin(library.temp.path().string(), 3).value().step(std::chrono::microseconds(0)));
}

TEST_CASE("the example of a catalogue has no problems", "[catalog]") {
  const auto created = catalog::load_catalog(WARDER_SOURCE_DIR "/catalog/example").value();
  for (const auto& problem : created->problems()) FAIL_CHECK(problem.file << ": " << problem.what);
  CHECK(created->size() >= 10);
  for (const auto& category : created->categories()) {
    CHECK(category.tools > 0);
    CHECK_FALSE(category.description.empty());
  }
  for (uint32_t tool = 0; tool < created->size(); tool++)
    CHECK(created->tags(tool).size() > 0);  // each says it is a sample
}

TEST_CASE("definitions are kept smaller than they are, and come back as they were", "[catalog]") {
  const std::string schema =
      R"({"inputSchema":{"properties":{"a":{"description":"x","type":"string"},"b":{"items":{"type":"string"},"type":"array"}},"required":["a"],"type":"object"}})";
  CHECK(catalog::unpacked(catalog::packed(schema)) == schema);
  CHECK(catalog::packed(schema).size() < schema.size() / 2);
  unsigned seed = 1;
  const std::string parts[] = {"\"",         "{", "}", ":",        ",", "type",    "string",
                               "properties", "[", "]", "required", "x", "\\u0001", "\xC3\xA9"};
  for (int i = 0; i < 3000; i++) {
    std::string text;
    for (int n = 0; n < 12; n++) text += parts[((seed = seed * 1664525 + 1013904223) >> 16) % std::size(parts)];
    REQUIRE(catalog::unpacked(catalog::packed(text)) == text);
  }
}

// The rules of the search, each with the complaint or the measurement that asks for it in mind.
#include <atomic>
#include <thread>

#include "tests/catalog/library.h"

namespace {

Json tool(const char* name, const char* description, Json parameters = Json::object()) {
  return {{"name", name},
          {"description", description},
          {"inputSchema", {{"type", "object"}, {"properties", std::move(parameters)}}}};
}

struct Tools : Library {
  Tools() {
    put("development/github.json",
        Json{{"tools",
              {tool("create_issue", "Open a new issue in a repository",
                    {{"owner", Json::object()}, {"labels", Json::object()}}),
               tool("list_issues", "List the issues of a repository, filtered by state"),
               tool("search_code", "Find code in repositories"),
               tool("create_pull_request", "Propose a branch for merging"),
               tool("github_get_me", "Who is signed in"),
               {{"name", "merge"}, {"tags", {"danger"}}, {"description", "Merge a pull request"}}}}});
    put("development/gitlab.json", Json{{"tools", {tool("create_issue", "Open a new issue in a project")}}});
    put("office/sheets.json",
        Json{{"tools",
              {tool("append_rows", "Add rows to a spreadsheet"), tool("open_spreadsheet", "A spreadsheet's cells")}}});
    put("files/disk.json", Json{{"tools",
                                 {tool("read", "Contents of a file"), tool("the", ""), tool("disk.usage_report", ""),
                                  tool("nameless", "", {{"zebra_count", {{"description", "how many quaggas"}}}})}}});
    put("skills.json", Json{{"server", "skills"},
                            {"tools", {{{"name", "clean_csv"}, {"kind", "skill"}, {"description", "Tidy a table"}}}}});
    load();
  }
  catalog::ToolMatches found(catalog::Query query) const { return produced->search(query); }
};

}  // namespace

TEST_CASE("the exact name comes first, whatever its words are worth", "[search]") {
  Tools tools;
  CHECK(tools.search("read").front() == "read");
  CHECK(tools.search("the").front() == "the");  // a stop word
  CHECK(tools.search("merge").front() == "merge");
  CHECK(tools.search("list_issues").front() == "list_issues");
  CHECK(tools.search("listIssues").front() == "list_issues");
  CHECK(tools.search("List Issues").front() == "list_issues");
  for (uint32_t number = 0; number < tools.produced->size(); number++) {
    const auto name = std::string(tools.produced->tool(number).name);
    CAPTURE(name);
    CHECK(tools.search(name, 1) == Names{name});
  }
}

TEST_CASE("a name without a letter is a name", "[search]") {
  Library library;
  library.put("a.json", Json{{"tools", {tool(".", ""), tool("--", "Two lines"), tool("a.b", "")}}});
  library.load();
  CHECK(library.search(".").front() == ".");
  CHECK(library.search("--").front() == "--");
  CHECK(library.search("...").empty());
}

TEST_CASE("an exact name is not crowded out by other forms of its words", "[search]") {
  Library library;
  Json all = Json::array({tool("list", "")});
  for (const char* name : {"lists", "listed", "listing", "list_all", "list_lists", "listing_list"})
    all.push_back(tool(name, "List a list of lists, listed in a listing"));
  library.put("a.json", Json{{"tools", all}});
  library.load();
  CHECK(library.search("list").front() == "list");
  CHECK(library.search("listing").front() == "listing");
}

TEST_CASE("after the exact name comes the exact last segment", "[search]") {
  Tools tools;
  CHECK(tools.search("usage_report").front() == "disk.usage_report");
  CHECK(tools.search("usage report").front() == "disk.usage_report");
}

TEST_CASE("a server before a separator filters and does not score", "[search]") {
  Tools tools;
  for (const char* text : {"gitlab.create_issue", "gitlab:create issue", "gitlab/create_issue",
                           "mcp__gitlab__create_issue", "GitLab: open an issue"}) {
    CAPTURE(text);
    auto match = tools.found({.text = text});
    REQUIRE(match.total == 1);
    CHECK(tools.produced->tool(match.tools[0]).server == "gitlab");
  }
  // The prefix in a tool's own name is no reason to find it.
  CHECK(tools.search("github") ==
        Names{"create_issue", "create_pull_request", "github_get_me", "list_issues", "merge"});
  auto match = tools.found({.text = "get signed in"});
  CHECK(tools.names(match.tools) == Names{"github_get_me"});
}

TEST_CASE("words are found in their other forms, and never inside other words", "[search]") {
  Tools tools;
  CHECK(tools.search("opening issues").size() >= 2);
  CHECK(tools.search("repository code").front() == "search_code");
  const auto read = tools.search("read");
  CHECK(std::find(read.begin(), read.end(), "open_spreadsheet") == read.end());
  CHECK(std::find(read.begin(), read.end(), "append_rows") == read.end());
}

TEST_CASE("a tool without a description is found by its name and its parameters", "[search]") {
  Tools tools;
  CHECK(tools.search("report of disk usage").front() == "disk.usage_report");
  CHECK(tools.search("zebra").front() == "nameless");
  CHECK(tools.search("quagga").front() == "nameless");
}

TEST_CASE("a sentence finds its tool", "[search]") {
  Tools tools;
  CHECK(tools.search("please open a new issue about the login bug in our repository").front() == "create_issue");
  CHECK(tools.search("I want to add some rows to the quarterly spreadsheet").front() == "append_rows");
  CHECK(tools.search("find the code that parses dates in my repositories").front() == "search_code");
}

TEST_CASE("a sentence of which a tool has half of the words that tell something finds it", "[search]") {
  Tools tools;
  const std::vector<std::string> existing = {"spreadsheet", "cells", "open"};
  const std::vector<std::string> unknown = {"whimsically", "kubernetes", "gardening"};
  std::string text = "could you please";
  for (size_t i = 0; i < existing.size(); i++) {
    text += " " + existing[i] + " the " + unknown[i];
    CAPTURE(text);
    if (i > 0) CHECK(tools.search(text).front() == "open_spreadsheet");  // from four words on it is a sentence
  }
}

TEST_CASE("a search for several things finds each of them", "[search]") {
  Tools tools;
  auto found = tools.search("propose a branch for merging, then add rows to a spreadsheet and tidy a table", 3);
  std::sort(found.begin(), found.end());
  CHECK(found == Names{"append_rows", "clean_csv", "create_pull_request"});
  CHECK(tools.found({.text = "propose a branch for merging and tidy a table", .category = "files"}).tools.empty());
  CHECK(tools.search("open a new issue in a repository and whimsically gardening").front() == "create_issue");
  std::string many;
  for (int i = 0; i < 20'000; i++) many += "issue, ";
  CHECK(tools.search(many).size() == 3);
}

TEST_CASE("one word that is known is enough, and what is unknown is said", "[search]") {
  Tools tools;
  auto match = tools.found({.text = "open whimsically"});
  CHECK(tools.names(match.tools).front() == "open_spreadsheet");
  CHECK(match.unknown_words == Names{"whimsically"});
  CHECK(tools.search("whimsically gardening and zebra unicorns ponies") == Names{"nameless"});
  match = tools.found({.text = "whimsically unicorns"});
  CHECK(match.total == 0);
  CHECK(match.tools.empty());
}

TEST_CASE("a typing error is mended in the same search, unless it is a word", "[search]") {
  Tools tools;
  for (const char* text :
       {"spreadhseet", "spredsheet", "spreadsheett", "sqreadsheet", "psreadsheet", "spreadsheet rwos"}) {
    CAPTURE(text);
    CHECK_FALSE(tools.search(text).empty());
    if (!tools.search(text).empty()) CHECK(tools.search(text, 2).size() == 2);
  }
  CHECK(tools.search("craete_isue").front() == "create_issue");
  CHECK(tools.search("please craete an isseu about the repositroy").front() == "create_issue");
}

TEST_CASE("people's words find what tools call otherwise", "[search]") {
  Library library;
  library.put("a.json", Json{{"tools",
                              {tool("get_forecast", "Weather of the next days"), tool("set_temperature", "Heating"),
                               tool("resize_image", "Scales a picture"), tool("delete_file", "Removes it"),
                               tool("send_email", "To one or more recipients")}}});
  library.load();
  CHECK(library.search("do i need an umbrella").front() == "get_forecast");
  CHECK(library.search("it is freezing in here").front() == "set_temperature");
  CHECK(library.search("make this pic smaller").front() == "resize_image");
  CHECK(library.search("erase it").front() == "delete_file");
  CHECK(library.search("gmail to bob").front() == "send_email");
}

TEST_CASE("an answer says how sure it is", "[search]") {
  Tools tools;
  CHECK(tools.found({.text = "create_issue"}).match == catalog::Match::strong);
  CHECK(tools.found({.text = "add rows to a spreadsheet"}).match == catalog::Match::strong);
  CHECK(tools.found({.text = "roast a whole chicken for seven guests, then read me a fairy tale"}).match ==
        catalog::Match::weak);
  CHECK(tools.found({.text = "whimsically"}).match == catalog::Match::weak);
}

TEST_CASE("text without spaces is found by its pairs of characters", "[search]") {
  Library library;
  // "Search train tickets", "Query the weather".
  library.put(
      "a.json",
      Json{{"tools", {tool("tickets", "\u641C\u7D22\u706B\u8F66\u7968"), tool("sky", "\u67E5\u8BE2\u5929\u6C14")}}});
  library.load();
  // "I want to buy a train ticket", "How is the weather?"
  CHECK(library.search("\u6211\u60F3\u4E70\u706B\u8F66\u7968") == Names{"tickets"});
  CHECK(library.search("\u5929\u6C14\u600E\u4E48\u6837\uFF1F") == Names{"sky"});
}

TEST_CASE("threads that search at the same time find what one alone finds", "[search]") {
  Tools tools;
  const std::vector<std::string> queries{"create an issue", "opening repositories", "send mail", "craete isue", "list"};
  std::vector<std::vector<uint32_t>> alone;
  for (const auto& query : queries) alone.push_back(tools.found({.text = query}).tools);
  std::atomic<int> different{0};
  std::vector<std::thread> threads;
  for (size_t n = 0; n < 4; n++)
    threads.emplace_back([&, n] {
      for (size_t i = n; i < 400; i++) {
        const size_t at = i % queries.size();
        const auto match = tools.found({.text = queries[at]}).tools;
        different += match == alone[at] ? 0 : 1;
        for (const uint32_t tool : match) different += tools.produced->signature(tool).empty() ? 1 : 0;
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(different == 0);
}

TEST_CASE("of what is spelt otherwise, tools and servers, the nearest are told", "[search]") {
  Tools tools;
  CHECK(tools.names(tools.produced->nearest_tools("craete_isue")).front() == "create_issue");
  CHECK(tools.names(tools.produced->nearest_tools("list_isues", "github")).front() == "list_issues");
  CHECK(tools.produced->nearest_server("gitub") == "github");
  CHECK(tools.produced->nearest_server("git_hub") == "github");
  CHECK(tools.produced->nearest_server("kubernetes").empty());
  CHECK(tools.produced->nearest_server("").empty());
}

TEST_CASE("the best are listed and all are counted, in one order", "[search]") {
  Tools tools;
  CHECK(tools.found({}).tools.size() == 5);  // who says no number
  auto two = tools.found({.text = "issue", .limit = 2});
  CHECK(two.tools.size() == 2);
  CHECK(two.total == 3);
  CHECK(tools.found({.text = "issue"}).tools == tools.found({.text = "issue"}).tools);
  // Same words, same worth: by name, then by server.
  auto same = tools.found({.text = "create_issue", .limit = 2});
  CHECK(tools.produced->tool(same.tools[0]).server == "github");
  CHECK(tools.produced->tool(same.tools[1]).server == "gitlab");
}

TEST_CASE("category, server and tags filter", "[search]") {
  Tools tools;
  CHECK(tools.found({.text = "issue", .category = "development"}).total == 3);
  CHECK(tools.found({.text = "issue", .category = "DEVELOPMENT", .server = "gitlab"}).total == 1);
  CHECK(tools.found({.text = "pull request", .tags = {"danger"}}).total == 1);
  CHECK(tools.found({.text = "pull request", .tags = {"danger", "other"}}).total == 0);
  auto elsewhere = tools.found({.text = "issue", .category = "office"});
  CHECK(elsewhere.total == 0);
  CHECK(elsewhere.elsewhere == 3);
}

TEST_CASE("no text lists what the filters let through, by name", "[search]") {
  Tools tools;
  auto all = tools.found({.limit = 3});
  CHECK(all.total == tools.produced->size());
  CHECK(tools.names(all.tools) == Names{"append_rows", "clean_csv", "create_issue"});
  CHECK(tools.names(tools.found({.category = "office"}).tools) == Names{"append_rows", "open_spreadsheet"});
  CHECK(tools.found({.text = "  \t"}).total == tools.produced->size());
}

TEST_CASE("skills stand in the same list, and say what they are", "[search]") {
  Tools tools;
  auto match = tools.found({.text = "tidy table"});
  REQUIRE(match.tools.size() == 1);
  CHECK(tools.produced->tool(match.tools[0]).kind == catalog::ToolKind::skill);
}

TEST_CASE("text in another language finds by the words that are known", "[search]") {
  Tools tools;
  CHECK(tools.found({.text = "\xE5\x88\x9B\xE5\xBB\xBA\xE9\x97\xAE\xE9\xA2\x98"}).total == 0);
  CHECK_FALSE(tools.search("\xE5\x88\x9B\xE5\xBB\xBA\xE9\x97\xAE\xE9\xA2\x98 repository").empty());
}

TEST_CASE("a name is found as it is written, and otherwise if it is clear", "[find]") {
  Tools tools;
  auto item = [&](std::string_view name, std::string_view category = {}, std::string_view server = {}) {
    auto it = tools.produced->find(name, category, server);
    return it.tools.size() == 1 ? std::string(tools.produced->tool(it.tools[0]).server)
                                : std::to_string(it.tools.size());
  };
  CHECK(item("list_issues") == "github");
  CHECK(item("listIssues") == "github");
  CHECK(item("create_issue") == "2");  // two servers have it: not the first that comes
  CHECK(item("create_issue", "", "gitlab") == "gitlab");
  CHECK(item("gitlab.create_issue") == "gitlab");
  CHECK(item("mcp__github__create_issue") == "github");
  CHECK(item("usage_report") == "disk");  // the last segment, as nobody else has it
  CHECK(item("disk.usage_report") == "disk");
  CHECK(item("merge", "office") == "0");  // the category counts
  CHECK(tools.names(tools.produced->find("merge", "office").nearest).front() == "merge");
  CHECK(tools.names(tools.produced->find("list_isues").nearest).front() == "list_issues");
  CHECK(tools.produced->find("").tools.empty());
  CHECK(tools.produced->find(std::string(1 << 20, 'x')).nearest.empty());
  CHECK(tools.produced->find("\xFF\xFE").tools.empty());
}

TEST_CASE("a sentence in words that no tool has lists some where there are few", "[search]") {
  Library few;
  Json all = Json::array();
  for (int i = 0; i < 50; i++) all.push_back({{"name", "tool" + std::to_string(i)}});
  few.put("a.json", Json{{"tools", all}});
  auto found = few.load().search({.text = "gloomy weasels whistle yonder"});
  CHECK(found.guessed);
  CHECK(found.match == catalog::Match::weak);
  CHECK(found.total == 50);
  CHECK(found.tools.size() == 5);
  CHECK(few.load().search({.text = "weasels whistle"}).tools.empty());
  all.push_back({{"name", "tool50"}});
  few.put("a.json", Json{{"tools", all}});
  found = few.load().search({.text = "gloomy weasels whistle yonder"});
  CHECK_FALSE(found.guessed);
  CHECK(found.tools.empty());
}

TEST_CASE("what people say around a wish counts where no word of it is known", "[search]") {
  Library office;
  office.put("a.json", Json::parse(R"({"tools": [
    {"name": "request_leave", "description": "Ask for an absence."},
    {"name": "send_mail", "description": "Send a message."},
    {"name": "print_file", "description": "On paper."}]})"));
  const auto& result = office.load();
  auto first = [&](const char* text) {
    const auto found = result.search({.text = text});
    return found.tools.empty() || found.guessed ? std::string() : std::string(result.tool(found.tools[0]).name);
  };
  CHECK(first("grandma gets three days off around Easter") == "request_leave");  // two words that go together
  CHECK(first("tell Wenzel dinosaurs existed") == "send_mail");                  // one that says little
  CHECK(first("off days dinosaurs existed Easter") == "");                       // not in this order
}

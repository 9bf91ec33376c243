// Tools that no upstream server of the daemon has: they are known, and never stand before a tool that can be called.
#include <random>

#include "catalog/did_you_mean.h"
#include "tests/catalog/library.h"

namespace {

// A daemon with the server "ours", and with definitions of other servers in its folder.
struct DaemonLibrary : Library {
  std::vector<std::string> unlearned;

  static Json named_tool(std::string_view name, std::string_view description) {
    return Json{{"name", name}, {"description", description}};
  }
  const catalog::Catalog& serve(Json tools_of_ours, bool has_ours = true) {
    if (tools_of_ours.is_object()) tools_of_ours = Json::array({tools_of_ours});  // a list of one in braces is copied
    auto builder = catalog::CatalogBuilder::begin(temp.path().string());
    REQUIRE(builder);
    if (has_ours) {
      auto reading = catalog::read_definitions(Json{{"tools", tools_of_ours}}, {"ours", ""});
      REQUIRE(reading);
      builder->add("server ours", *std::move(reading));
    }
    builder->call_only_servers(unlearned);
    while (!builder->step(std::chrono::seconds(1))) {
    }
    produced = builder->take();
    return *produced;
  }
  catalog::ToolMatches found(const std::string& text, size_t limit = 5) const {
    catalog::Query query;
    query.text = text;
    query.limit = limit;
    return produced->search(query);
  }
};

}  // namespace

TEST_CASE("a tool that can be called is listed before all that cannot", "[callable]") {
  DaemonLibrary library;
  library.put("mail.json", Json{{"tools",
                                 {DaemonLibrary::named_tool("send_message", "Send an email to somebody"),
                                  DaemonLibrary::named_tool("list_messages", "List all emails")}}});
  library.serve({DaemonLibrary::named_tool("send_invoice", "Writes an invoice and sends it")});
  const auto match = library.found("send an email");
  CHECK(library.names(match.tools) == Names{"send_invoice"});
  CHECK(library.names(match.uncallable) == Names{"send_message", "list_messages"});
  CHECK_FALSE(match.names_uncallable);
  CHECK(match.total == 3);

  const auto named = library.found("send_message");
  CHECK(library.names(named.tools) == Names{"send_invoice"});
  CHECK(library.names(named.uncallable).front() == "send_message");
  CHECK(named.names_uncallable);

  const auto all = library.found("");
  CHECK(library.names(all.tools) == Names{"send_invoice"});
  CHECK(library.names(all.uncallable) == Names{"list_messages", "send_message"});
  CHECK(library.produced->callable() == 1);
  CHECK(library.produced->tool(0).callable);
  CHECK_FALSE(library.produced->tool(1).callable);
}

TEST_CASE("how sure an answer is depends on the tool that is listed first", "[callable]") {
  DaemonLibrary library;
  library.put("mail.json", Json{{"tools", {DaemonLibrary::named_tool("send_message", "Send an email to somebody")}}});
  library.serve({DaemonLibrary::named_tool("rotate", "Turns a picture, and can send it")});
  CHECK(library.found("send message").tools.size() == 1);
  CHECK(library.found("send message").match == catalog::Match::weak);
  library.serve(Json::array());
  CHECK(library.found("send message").match == catalog::Match::strong);
}

TEST_CASE("of tools with one name, those that can be called are meant", "[callable]") {
  DaemonLibrary library;
  library.put("other.json", Json{{"category", "a"}, {"tools", {DaemonLibrary::named_tool("echo", "")}}});
  library.put("third.json", Json{{"category", "b"}, {"tools", {DaemonLibrary::named_tool("echo", "")}}});
  library.serve({DaemonLibrary::named_tool("echo", "")});
  REQUIRE(library.produced->find("echo").tools.size() == 1);
  CHECK(library.produced->tool(library.produced->find("echo").tools.front()).server == "ours");
  CHECK(library.produced->find("echo", {}, "third").tools.size() == 1);
  CHECK(library.produced->find("other.echo").tools.size() == 1);
  const auto nearest = library.produced->nearest_tools("echoo");
  REQUIRE(nearest.size() == 3);
  CHECK(library.produced->tool(nearest[0]).callable);
  CHECK_FALSE(library.produced->tool(nearest[1]).callable);
  library.serve(Json::array());
  CHECK(library.produced->find("echo").tools.size() == 2);
}

TEST_CASE("a definition of the folder for a server's tool can be called, another one of that server cannot",
          "[callable]") {
  DaemonLibrary library;
  library.put("office/ours.json", Json{{"tools",
                                        {DaemonLibrary::named_tool("send", "Sends"),
                                         DaemonLibrary::named_tool("gone", "The server has it no more")}}});
  library.serve({DaemonLibrary::named_tool("send", "")});
  CHECK(library.produced->callable() == 1);
  CHECK(library.produced->size() == 2);
  CHECK(library.produced->tool(0).category == "office");  // merged
  library.unlearned = {"ours"};
  library.serve(Json::array(), false);
  CHECK(library.produced->callable() == 2);
  CHECK(library.produced->unlearned_servers() == Names{"ours"});
}

TEST_CASE("no query lists a tool that cannot be called before one that can", "[callable]") {
  std::mt19937 random(7);
  const Names words = {"send", "read", "mail", "file", "issue", "list", "paper", "tree", "note", "image"};
  auto any = [&] { return words[random() % words.size()]; };
  auto some = [&](size_t count) {
    Json tools = Json::array();
    for (size_t i = 0; i < count; i++)
      tools.push_back(
          DaemonLibrary::named_tool(any() + "_" + any() + std::to_string(random() % 9), any() + " the " + any()));
    return tools;
  };
  for (int round = 0; round < 20; round++) {
    DaemonLibrary library;
    library.put("far.json", Json{{"tools", some(random() % 200)}});
    library.serve(some(random() % 200));
    catalog::Learning learning;
    for (int i = 0; i < 10 && library.produced->size() > 0; i++) {
      const auto tool = library.produced->tool(static_cast<uint32_t>(random() % library.produced->size()));
      learning.teach(library.produced->index(), any() + " " + any(),
                     {std::string(tool.server), std::string(tool.name)});
    }
    for (int i = 0; i < 50; i++) {
      catalog::Query query;
      query.text =
          i % 5 == 0 && library.produced->size() > 0
              ? std::string(library.produced->tool(static_cast<uint32_t>(random() % library.produced->size())).name)
              : any() + " " + any() + (i % 3 == 0 ? "s and the " + any() : "");
      query.limit = 1 + random() % 50;
      if (i % 2 == 0) query.learned = &learning;
      CAPTURE(query.text, query.limit, library.produced->callable(), library.produced->size());
      const auto found = library.produced->search(query);
      size_t callable = 0;
      for (uint32_t value : found.tools) callable += library.produced->tool(value).callable ? 1 : 0;
      REQUIRE(callable == found.tools.size());
      for (uint32_t value : found.uncallable) REQUIRE_FALSE(library.produced->tool(value).callable);
      REQUIRE(found.tools.size() <= query.limit);
      REQUIRE(found.total >= found.tools.size() + found.uncallable.size());
      // Fewer callable tools than places are listed only if there are no more that fit.
      if (found.tools.size() < query.limit && !found.guessed && !query.learned) {
        query.limit = 400;
        REQUIRE(library.produced->search(query).tools.size() == found.tools.size());
      }
    }
  }
}

TEST_CASE("the reason for an empty catalogue is the true one", "[callable]") {
  using Catch::Contains;
  DaemonLibrary library;
  CHECK_THAT(catalog::reason_for_no_tools(library.serve(Json::array(), false)),
             Contains("an administrator adds servers"));
  CHECK_THAT(catalog::reason_for_no_tools(library.serve(Json::array())), Contains("servers have no tools"));
  library.unlearned = {"slow", "files"};
  CHECK_THAT(catalog::reason_for_no_tools(library.serve(Json::array(), false)),
             Contains("(files, slow) have not listed their tools"));
  library.put("a.json", Json{{"tools", {DaemonLibrary::named_tool("a", "")}}});
  CHECK(catalog::reason_for_no_tools(library.serve(Json::array())).empty());
}

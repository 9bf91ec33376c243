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
    made = builder->take();
    return *made;
  }
  catalog::FoundTools found(const std::string& text, size_t limit = 5) const {
    catalog::Query query;
    query.text = text;
    query.limit = limit;
    return made->search(query);
  }
};

}  // namespace

TEST_CASE("a tool that can be called is listed before all that cannot", "[callable]") {
  DaemonLibrary library;
  library.put("mail.json", Json{{"tools",
                                 {DaemonLibrary::named_tool("send_message", "Send an email to somebody"),
                                  DaemonLibrary::named_tool("list_messages", "List all emails")}}});
  library.serve({DaemonLibrary::named_tool("send_invoice", "Writes an invoice and sends it")});
  const auto found = library.found("send an email");
  CHECK(library.names(found.tools) == Names{"send_invoice"});
  CHECK(library.names(found.uncallable) == Names{"send_message", "list_messages"});
  CHECK_FALSE(found.names_uncallable);
  CHECK(found.total == 3);

  const auto named = library.found("send_message");
  CHECK(library.names(named.tools) == Names{"send_invoice"});
  CHECK(library.names(named.uncallable).front() == "send_message");
  CHECK(named.names_uncallable);

  const auto all = library.found("");
  CHECK(library.names(all.tools) == Names{"send_invoice"});
  CHECK(library.names(all.uncallable) == Names{"list_messages", "send_message"});
  CHECK(library.made->callable() == 1);
  CHECK(library.made->tool(0).callable);
  CHECK_FALSE(library.made->tool(1).callable);
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
  REQUIRE(library.made->find("echo").tools.size() == 1);
  CHECK(library.made->tool(library.made->find("echo").tools.front()).server == "ours");
  CHECK(library.made->find("echo", {}, "third").tools.size() == 1);
  CHECK(library.made->find("other.echo").tools.size() == 1);
  const auto nearest = library.made->nearest_tools("echoo");
  REQUIRE(nearest.size() == 3);
  CHECK(library.made->tool(nearest[0]).callable);
  CHECK_FALSE(library.made->tool(nearest[1]).callable);
  library.serve(Json::array());
  CHECK(library.made->find("echo").tools.size() == 2);
}

TEST_CASE("a definition of the folder for a server's tool can be called, another one of that server cannot",
          "[callable]") {
  DaemonLibrary library;
  library.put("office/ours.json", Json{{"tools",
                                        {DaemonLibrary::named_tool("send", "Sends"),
                                         DaemonLibrary::named_tool("gone", "The server has it no more")}}});
  library.serve({DaemonLibrary::named_tool("send", "")});
  CHECK(library.made->callable() == 1);
  CHECK(library.made->size() == 2);
  CHECK(library.made->tool(0).category == "office");  // merged
  library.unlearned = {"ours"};
  library.serve(Json::array(), false);
  CHECK(library.made->callable() == 2);
  CHECK(library.made->unlearned_servers() == Names{"ours"});
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
    for (int i = 0; i < 10 && library.made->size() > 0; i++) {
      const auto tool = library.made->tool(static_cast<uint32_t>(random() % library.made->size()));
      learning.teach(library.made->index(), any() + " " + any(), {std::string(tool.server), std::string(tool.name)});
    }
    for (int i = 0; i < 50; i++) {
      catalog::Query query;
      query.text = i % 5 == 0 && library.made->size() > 0
                       ? std::string(library.made->tool(static_cast<uint32_t>(random() % library.made->size())).name)
                       : any() + " " + any() + (i % 3 == 0 ? "s and the " + any() : "");
      query.limit = 1 + random() % 50;
      if (i % 2 == 0) query.learned = &learning;
      CAPTURE(query.text, query.limit, library.made->callable(), library.made->size());
      const auto found = library.made->search(query);
      size_t callable = 0;
      for (uint32_t one : found.tools) callable += library.made->tool(one).callable ? 1 : 0;
      REQUIRE(callable == found.tools.size());
      for (uint32_t one : found.uncallable) REQUIRE_FALSE(library.made->tool(one).callable);
      REQUIRE(found.tools.size() <= query.limit);
      REQUIRE(found.total >= found.tools.size() + found.uncallable.size());
      // Fewer callable tools than places are listed only if there are no more that fit.
      if (found.tools.size() < query.limit && !found.guessed && !query.learned) {
        query.limit = 400;
        REQUIRE(library.made->search(query).tools.size() == found.tools.size());
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

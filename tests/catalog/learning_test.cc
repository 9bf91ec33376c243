// Learning from use: what it gains on searches whose words no definition has, and what it must not cost: searches that
// need several tools, and tools that nobody has used yet. Ranking quality, fixed figures, no times.
#include "catalog/learning.h"

#include <set>

#include "tests/catalog/library.h"

using namespace std::chrono_literals;

namespace {

// A tool, what people say when they mean it (to learn from), and what they say later (to be judged by).
struct Case {
  const char* server;
  const char* name;
  const char* description;
  std::vector<std::string> before, later;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"mail",
       "send_message",
       "Deliver an e-mail to recipients",
       {"let the customer know we got the order", "drop bob a line", "write to the landlord about the rent"},
       {"let my landlord know the rent comes late", "drop the customer a line"}},
      {"mail",
       "search_inbox",
       "Find e-mails by sender, subject or text",
       {"what did anna reply last week", "dig up the receipt from the hotel"},
       {"dig up what the hotel sent", "did anna reply"}},
      {"calendar",
       "create_event",
       "Add an appointment to a calendar",
       {"pencil in lunch with anna on friday", "block my afternoon for focus time"},
       {"pencil in lunch on monday", "block tomorrow afternoon"}},
      {"calendar",
       "list_events",
       "Appointments between two dates",
       {"am i free on thursday", "how does my week look"},
       {"am i free next tuesday", "what does the week look like"}},
      {"files",
       "read_file",
       "Contents of a text file",
       {"show me the config", "what is in the readme"},
       {"show the nginx config", "what does the readme say"}},
      {"files",
       "move_file",
       "Rename a file or put it into another folder",
       {"tidy up my downloads", "sort the photos by year"},
       {"tidy the downloads up", "photos should be sorted by year"}},
      {"git",
       "create_branch",
       "Start a line of development from a commit",
       {"let me experiment without breaking main", "i want to try an idea safely"},
       {"experiment safely without breaking things", "try a risky idea"}},
      {"git",
       "revert_commit",
       "Undo the changes of a commit by a new one",
       {"roll back yesterday's deploy", "that merge broke production, get rid of it"},
       {"roll back the deploy", "get rid of the merge that broke production"}},
      {"issues",
       "create_issue",
       "Open a ticket in a tracker",
       {"report that the login page crashes", "log a bug about slow uploads"},
       {"report a crash on the login page", "log the upload bug"}},
      {"issues",
       "assign_issue",
       "Set who works on a ticket",
       {"hand the crash over to maria", "who should own this bug, give it to lee"},
       {"hand it over to lee", "maria should own the bug"}},
      {"weather",
       "get_forecast",
       "Temperature and rain for a place and day",
       {"do i need an umbrella in oslo", "will it be warm enough for a picnic"},
       {"need an umbrella tomorrow", "warm enough for the picnic"}},
      {"maps",
       "find_route",
       "Directions between two places",
       {"how do i get to the airport", "fastest way home avoiding tolls"},
       {"get me to the airport", "fastest way avoiding traffic"}},
      {"db",
       "run_query",
       "Execute SQL on a database",
       {"how many signups did we have in march", "top ten customers by revenue"},
       {"signups in april", "customers with the most revenue"}},
      {"db",
       "export_table",
       "Write the rows of a table as CSV",
       {"give finance a spreadsheet of invoices", "dump the orders for excel"},
       {"spreadsheet of the invoices for finance", "orders for excel"}},
      {"pay",
       "refund_payment",
       "Return money of a charge to the payer",
       {"the buyer was billed twice, make it right", "give her the money back"},
       {"billed twice again", "give the buyer his money back"}},
      {"pay",
       "create_invoice",
       "Ask a customer for payment",
       {"bill acme for the consulting hours", "charge the client for march"},
       {"bill the client for consulting", "charge acme for april"}},
      {"media",
       "transcribe_audio",
       "Speech in a recording as text",
       {"what was said in the meeting recording", "turn the voice memo into notes"},
       {"notes of the voice memo", "who said what in the meeting"}},
      {"media",
       "resize_image",
       "Scale a picture to a width and height",
       {"make the logo fit the header", "thumbnail for the blog post"},
       {"logo that fits the header", "blog thumbnail"}},
      {"social",
       "publish_post",
       "Put a text on a social network",
       {"announce the release to our followers", "tell the world we are hiring"},
       {"announce that we are hiring", "tell our followers about the release"}},
      {"ops",
       "restart_service",
       "Stop and start a daemon on a host",
       {"the website hangs, kick it", "bounce the worker on box seven"},
       {"kick the hanging worker", "bounce the website"}},
  };
  return all;
}

// What is needed together, in one sentence.
struct Several {
  const char* query;
  std::set<std::string> tools;
};
const std::vector<Several> kSeveral = {
    {"find e-mails of the sender and add an appointment to the calendar", {"search_inbox", "create_event"}},
    {"read the file contents and deliver an e-mail to recipients", {"read_file", "send_message"}},
    {"execute SQL and write the rows as CSV", {"run_query", "export_table"}},
    {"open a ticket in the tracker and set who works on it", {"create_issue", "assign_issue"}},
    {"undo the commit and stop and start the daemon", {"revert_commit", "restart_service"}},
    {"speech of the recording as text, then put the text on a social network", {"transcribe_audio", "publish_post"}},
    {"return money of a charge and deliver an e-mail", {"refund_payment", "send_message"}},
    {"directions between two places and rain for the day", {"find_route", "get_forecast"}},
    {"scale a picture and rename the file", {"resize_image", "move_file"}},
    {"appointments between two dates, then ask the customer for payment", {"list_events", "create_invoice"}},
    {"start a line of development from a commit and open a ticket", {"create_branch", "create_issue"}},
    {"execute SQL on the database, scale a picture and put a text on a network",
     {"run_query", "resize_image", "publish_post"}},
};

// Tools that nobody means, with the same words.
Json distractors() {
  Json tools = Json::array();
  for (const char* verb : {"archive", "validate", "compare", "lock", "estimate"})
    for (const char* noun : {"file", "table", "picture", "ticket", "e-mail", "payment", "daemon", "calendar"})
      tools.push_back({{"name", std::string(verb) + "_" + std::string(noun).substr(0, 4)},
                       {"description", std::string(verb) + " a " + noun + " for a customer"}});
  return tools;
}

enum class Kind { none, naive, ours };

// After these searches a second tool was chosen, too: the one that everybody uses.
bool is_popular(const Case& item) { return item.name[0] < 'r'; }
const char* const kPopular = "send_message";

// A catalogue with what was learned of single tools. Of searches for several nothing was.
struct Taught : Library {
  catalog::Learning learning;
  Kind kind;

  explicit Taught(Kind with) : kind(with) {
    std::map<std::string, Json> servers;
    for (const Case& item : cases()) {
      Json tool = {{"name", item.name}, {"description", item.description}};
      if (kind == Kind::naive) {  // the searches as a field of the tool
        Json uses = item.before;
        for (const Case& other : cases())
          if (item.name == std::string(kPopular) && is_popular(other)) uses.push_back(other.before.front());
        tool["use_cases"] = uses;
      }
      servers[item.server].push_back(tool);
    }
    for (const auto& [server, tools] : servers) put("work/" + server + ".json", Json{{"tools", tools}});
    put("work/more.json", Json{{"tools", distractors()}});
    load();
    if (kind != Kind::ours) return;
    for (const Case& item : cases()) {
      for (const auto& query : item.before) learning.teach(produced->index(), query, {item.server, item.name});
      if (is_popular(item)) learning.teach(produced->index(), item.before.front(), {"mail", kPopular});
    }
  }

  Names requested(const std::string& text) const {
    catalog::Query query;
    query.text = text;
    query.learned = kind == Kind::ours ? &learning : nullptr;
    return names(produced->search(query).tools);
  }
  // Of what is needed, how much is among the five that are listed; in percent.
  double recall(const std::vector<Several>& set) const {
    double all = 0;
    for (const Several& several : set) {
      const Names names = requested(several.query);
      size_t hit = 0;
      for (const auto& tool : several.tools) hit += std::count(names.begin(), names.end(), tool) > 0 ? 1 : 0;
      all += static_cast<double>(hit) / static_cast<double>(several.tools.size());
    }
    return 100 * all / static_cast<double>(set.size());
  }
};

std::vector<Several> one_tool() {
  std::vector<Several> set;
  for (const Case& item : cases())
    for (const auto& query : item.later) set.push_back({query.c_str(), {item.name}});
  return set;
}

// The words of the definitions: what was found without learning.
std::vector<Several> plain() {
  std::vector<Several> set;
  for (const Case& item : cases()) set.push_back({item.description, {item.name}});
  return set;
}

}  // namespace

TEST_CASE("learning finds what no definition says, and costs searches for several tools nothing", "[learning]") {
  const Taught none(Kind::none), naive(Kind::naive), ours(Kind::ours);
  const double before = none.recall(one_tool()), after = ours.recall(one_tool());
  const double several = none.recall(kSeveral);
  INFO("one tool: " << before << " without, " << naive.recall(one_tool()) << " naive, " << after << " ours");
  INFO("several: " << several << " without, " << naive.recall(kSeveral) << " naive, " << ours.recall(kSeveral));
  INFO("plain: " << none.recall(plain()) << " without, " << naive.recall(plain()) << " naive, "
                 << ours.recall(plain()));
  CHECK(before <= 50);
  CHECK(after >= 95);
  CHECK(after >= naive.recall(one_tool()));
  CHECK(ours.recall(kSeveral) >= several);
  CHECK(ours.recall(plain()) >= none.recall(plain()));
}

TEST_CASE("what is popular does not crowd out others", "[learning]") {
  Taught library(Kind::none);
  library.kind = Kind::ours;
  auto& learning = library.learning;
  const auto& index = library.produced->index();
  // One tool, chosen after everything that anybody ever asked for.
  for (const Case& item : cases()) {
    learning.teach(index, item.description, {"mail", "send_message"});
    for (const auto& query : item.later) learning.teach(index, query, {"mail", "send_message"});
  }
  const Taught none(Kind::none);
  double lost = 0;
  for (const auto& item : plain()) {
    const Names names = library.requested(item.query), without = none.requested(item.query);
    // At most its one place of five.
    const std::set<std::string> now(names.begin(), names.end());
    size_t removed = 0;
    for (const auto& name : without) removed += now.contains(name) ? 0 : 1;
    CHECK(removed <= 1);
    lost += now.contains(*item.tools.begin()) ? 0 : 1;
  }
  CHECK(lost == 0);
}

TEST_CASE("of a list, at most two fifths are there by learning alone", "[learning]") {
  Taught library(Kind::none);
  library.kind = Kind::ours;
  for (const Case& item : cases())
    library.learning.teach(library.produced->index(), "rename a file", {item.server, item.name});
  CHECK(library.learning.size() == 1);
  const Names names = library.requested("rename a file"), without = Taught(Kind::none).requested("rename a file");
  size_t added = 0;
  for (const auto& name : names) added += std::count(without.begin(), without.end(), name) == 0 ? 1 : 0;
  CHECK(added <= 2);
  CHECK(std::count(names.begin(), names.end(), "move_file") == 1);
}

TEST_CASE("an exact name stays first, and filters hold, whatever was learned", "[learning]") {
  Taught library(Kind::none);
  library.kind = Kind::ours;
  const auto& index = library.produced->index();
  library.learning.teach(index, "read_file", {"mail", "send_message"});
  library.learning.teach(index, "kick the box", {"ops", "restart_service"});
  CHECK(library.requested("read_file").front() == "read_file");
  catalog::Query query;
  query.text = "kick the box";
  query.learned = &library.learning;
  CHECK(library.names(library.produced->search(query).tools) == Names{"restart_service"});
  CHECK(library.produced->search(query).total == 1);
  query.server = "git";
  CHECK(library.produced->search(query).tools.empty());
}

TEST_CASE("what was learned is forgotten: by tool, by age, by room, and when the tool is gone", "[learning]") {
  Taught library(Kind::none);
  const auto& index = library.produced->index();
  catalog::LearningLimits limits;
  limits.searches = 3;
  limits.tools = 2;
  catalog::Learning learning(limits);
  const auto start = Monotonic::time_point(1000h);
  auto first = [&](const char* query) {
    const auto hints = learning.hints(index, query);
    return hints.empty() ? std::string() : hints.front().tool.name;
  };
  learning.teach(index, "kick the box", {"ops", "restart_service"}, start);
  learning.teach(index, "the and of", {"ops", "restart_service"}, start);  // words that say nothing are words, if alone
  learning.teach(index, "", {"ops", "restart_service"}, start);
  CHECK(first("kick the box") == "restart_service");
  CHECK(learning.hints(index, "kick the box").front().part > 0.6);
  CHECK(first("another thing entirely").empty());
  learning.forget({"ops", "restart_service"});
  CHECK(learning.size() == 0);

  for (int i = 0; i < 10; i++)
    learning.teach(index, "unusual" + std::to_string(i), {"git", "create_branch"}, start + std::chrono::seconds(i));
  CHECK(learning.size() == 3);
  CHECK(first("unusual9") == "create_branch");
  CHECK(first("unusual0").empty());
  learning.teach(index, "fresh", {"git", "create_branch"}, start + limits.lifetime + 1h);
  CHECK(learning.size() == 1);
  for (const char* tool : {"a", "b", "c"}) learning.teach(index, "fresh", {"git", tool}, start + limits.lifetime + 1h);
  CHECK(learning.hints(index, "fresh").size() == 2);

  library.kind = Kind::ours;
  library.learning.teach(index, "kick the box", {"ops", "no_longer_there"});
  CHECK(library.requested("kick the box").empty());
}

TEST_CASE("of each tool the last searches are kept, however many there are of others", "[learning]") {
  const Taught library(Kind::none);
  const auto& index = library.produced->index();
  catalog::Learning learning;
  const auto start = Monotonic::time_point(1000h);
  learning.teach(index, "quiet corner", {"git", "create_branch"}, start);
  for (int i = 0; i < 2'000; i++)
    learning.teach(index, "loud" + std::to_string(i), {"mail", "send_message"}, start + std::chrono::seconds(i));
  CHECK(learning.size() == 1 + catalog::LearningLimits{}.searches_of_tool);
  CHECK(learning.hints(index, "quiet corner").front().tool.name == "create_branch");
  CHECK(learning.hints(index, "loud1999").front().tool.name == "send_message");
  CHECK(learning.hints(index, "loud0").empty());
}

TEST_CASE("what one tenant teaches does not come first for others", "[learning]") {
  Taught library(Kind::none);
  const auto& index = library.produced->index();
  for (int i = 0; i < 40; i++)
    library.learning.teach(index, "rename a file " + std::to_string(i), {"git", "revert_commit"}, Monotonic::now(),
                           "liar");
  auto request = [&](const char* text, const char* asker) {
    catalog::Query query;
    query.text = text;
    query.learned = &library.learning;
    query.asker = asker;
    return library.names(library.produced->search(query).tools);
  };
  CHECK(request("rename a file", "liar").front() == "revert_commit");  // its own business
  CHECK(request("rename a file", "other").front() == "move_file");
  // Two that agree are believed; the liar's searches make room for others' of the same tool.
  for (const char* tenant : {"a", "b"})
    library.learning.teach(index, "bounce the box", {"ops", "restart_service"}, Monotonic::now(), tenant);
  CHECK(request("bounce the box", "other").front() == "restart_service");
  library.learning.teach(index, "oops that was wrong", {"git", "revert_commit"}, Monotonic::now(), "a");
  for (int i = 40; i < 80; i++)
    library.learning.teach(index, "rename a file " + std::to_string(i), {"git", "revert_commit"}, Monotonic::now(),
                           "liar");
  CHECK(library.learning.hints(index, "oops that was wrong", "a").front().tool.name == "revert_commit");
  library.learning.forget_teacher("liar");
  CHECK(request("rename a file", "liar").front() == "move_file");
  CHECK(request("bounce the box", "other").front() == "restart_service");
}

TEST_CASE("what was learned is the same after it was written and read", "[learning]") {
  const Taught ours(Kind::ours);
  const auto& index = ours.produced->index();
  const auto now = Monotonic::time_point(5000h);
  catalog::Learning learning;
  learning.teach(index, "kick the box", {"ops", "restart_service"}, now, "a");
  learning.teach(index, "kick the box", {"ops", "restart_service"}, now, "b");
  learning.teach(index, "old news", {"", "create_branch"}, now - 24h * 80, "a");
  const std::string text = learning.saved(1'000'000'000, now);
  CHECK(text.find("kick") == std::string::npos);  // nobody's searches can be read in the file
  auto same = catalog::Learning::restored(text, 1'000'000'000, {}, now);
  REQUIRE(same);
  const std::string retry = same->saved(1'000'000'000, now);
  CHECK(retry.size() == text.size());
  CHECK(catalog::Learning::restored(retry, 1'000'000'000, {}, now)->size() == learning.size());
  CHECK(same->hints(index, "kick the box", "c").front().tool.name == "restart_service");
  // The time that the daemon was away counts.
  auto later = catalog::Learning::restored(text, 1'000'000'000 + 86'400 * 11, {}, Monotonic::time_point(1h));
  REQUIRE(later);
  CHECK(later->size() == 1);
}

TEST_CASE("a full memory of long searches is a small file, and still knows them", "[learning]") {
  const Taught ours(Kind::none);
  const auto& index = ours.produced->index();
  const size_t all = catalog::LearningLimits{}.searches;
  catalog::Learning learning;
  std::string query;
  for (size_t i = 0; i < all; i++) {
    query.clear();
    for (int k = 0; k < 25; k++)
      query += "w" + std::to_string(i) + "q" + std::string(1, static_cast<char>('a' + k)) + " ";
    learning.teach(index, query, {"git", "tool" + std::to_string(i / 20)});
  }
  CHECK(learning.size() == all);
  CHECK(learning.saved(1'000'000'000).size() < 2'000'000);
  REQUIRE(!learning.hints(index, query).empty());
}

TEST_CASE("a file of searches that was not written by us is refused", "[learning]") {
  const std::string head = "warder searches 1\n", known = head + "teacher\ta\ntool\ts\tt\n";
  CHECK(catalog::Learning::restored(known + "search\t5\t00000000000000aa:100\t0:0\n", 10));
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("warder searches 2\n"), head + "tool\ts\n", head + "else\n",
        head + "tool\ts\tt", head + "tool\ts\ta b\n", head + std::string("tool\ts\tt\x01\n"),
        known + "search\t5\t00000000000000aa:100\t1:0\n", known + "search\t5\t00000000000000aa:100\t0:1\n",
        known + "search\t5\t00000000000000aa:100\t0\n", known + "search\t5\t00000000000000aa:0\t0:0\n",
        known + "search\t5\taa:100\t0:0\n", known + "search\t-5\t00000000000000aa:100\t0:0\n",
        known + "search\t5\t00000000000000aa:100,00000000000000aa:100\t0:0\n",
        known + "search\t5\t00000000000000aa:100\t" + std::string(1000, '0') + "\n"}) {
    CAPTURE(text);
    CHECK_FALSE(catalog::Learning::restored(text, 10));
  }
}

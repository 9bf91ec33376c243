// warder top without a terminal: rows, sorting, filters, rates, keys, and lines for any size.
#include "supervisor/programs/cli/admin/top/top_model.h"
#include "supervisor/programs/cli/admin/top/top_draw.h"
#include "supervisor/programs/cli/admin/top/top_page.h"
#include "tests/catch.h"

using namespace admin;

namespace {

constexpr uint64_t kNow = 1'800'000'000'000'000;

Json execution(const std::string& id, const std::string& tenant, uint64_t cpu, uint64_t wall = 5'000'000) {
  return {{"Id", id},           {"Tenant", tenant}, {"Language", "python"},
          {"State", "running"}, {"Outcome", ""},    {"AskedUSec", kNow - 10'000'000},
          {"WallUSec", wall},   {"CPUUSec", cpu},   {"MemoryBytes", uint64_t{4096}},
          {"Tasks", 2u}};
}

Json manager() {
  return {
      {"Version", "1.2.3"},
      {"State", "serving"},
      {"StartedUSec", kNow - 3'600'000'000},
      {"Running", 2u},
      {"Waiting", 1u},
      {"Frozen", 0u},
      {"Executions", uint64_t{12}},
      {"Outcomes", {{"ok", uint64_t{10}}}},
      {"MemoryBytes", uint64_t{1 << 20}},
      {"AnswerUSec", {{"of", uint64_t{12}}, {"p50", uint64_t{3000}}, {"p90", uint64_t{4000}}, {"p99", uint64_t{9000}}}},
      {"Pool",
       {{"python",
         {{"waiting", uint64_t{3}}, {"wanted", uint64_t{4}}, {"zygotes", uint64_t{0}}, {"bytes", uint64_t{9}}}}}}};
}

Json tenant(const std::string& name, uint32_t running) {
  return {{"Name", name},
          {"Policy", "default"},
          {"Connections", 1u},
          {"Running", running},
          {"Waiting", 0u},
          {"Executions", uint64_t{12}},
          {"Outcomes", {{"ok", uint64_t{10}}}},
          {"MostRunning", 4u},
          {"WorkspaceBytes", uint64_t{100}},
          {"QuotaBytes", uint64_t{1000}}};
}

// Two samples, one second apart: e1 used half a processor, e2 cannot be measured, e3 used two processors.
TopModel sampled() {
  TopModel model;
  const std::vector<Json> tenants = {tenant("one", 2), tenant("two", 1)};
  auto executions = [](uint64_t first, uint64_t third) {
    return std::vector<Json>{execution("e1", "one", first), execution("e2", "one", 0), execution("e3", "two", third)};
  };
  model.take(manager(), executions(1'000'000, 2'000'000), tenants, kNow);
  model.take(manager(), executions(1'500'000, 4'000'000), tenants, kNow + 1'000'000);
  return model;
}

std::vector<std::string> ids(const std::vector<TopRow>& rows) {
  std::vector<std::string> all;
  for (const TopRow& row : rows) all.push_back(row.id);
  return all;
}

std::string drawn(const TopModel& model, TopPage page, TopSize size, const TopExecution& open = {}) {
  std::string all;
  for (const TopLine& line : draw_top(model, page, open, size)) all += line.text() + "\n";
  return all;
}

using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE("the CPU percentage is the difference of two samples, and unknown is not 0", "[top]") {
  const TopModel model = sampled();
  const auto rows = model.rows({});
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].cpu_percent == 50);
  CHECK_FALSE(rows[1].cpu_percent);
  CHECK_FALSE(rows[1].cpu_usec);
  CHECK(rows[2].cpu_percent == 200);
  CHECK_FALSE(model.cpu_percent());  // because of e2
  CHECK_FALSE(model.tenants().at(0).cpu_percent);
  CHECK(model.tenants().at(1).cpu_percent == 200);
  CHECK(model.tenants().at(0).memory_bytes == 8192);
  CHECK(model.tenants().at(0).failed == 2);
}

TEST_CASE("a value of 2^64-1 on D-Bus is not known", "[top]") {
  TopModel model;
  Json item = execution("e1", "one", UINT64_MAX, 1000);
  item["MemoryBytes"] = UINT64_MAX;
  model.take(manager(), {item}, {}, kNow);
  model.take(manager(), {item}, {}, kNow + 1'000'000);
  const TopRow row = model.rows({}).at(0);
  CHECK_FALSE(row.cpu_usec);
  CHECK_FALSE(row.cpu_percent);
  CHECK_FALSE(row.memory_bytes);
}

TEST_CASE("one sample gives no CPU percentage, and a new execution gives none", "[top]") {
  TopModel model;
  model.take(manager(), {execution("e1", "one", 7)}, {}, kNow);
  CHECK_FALSE(model.rows({}).at(0).cpu_percent);
  CHECK(model.rows({}).at(0).cpu_usec == 7);
  model.take(manager(), {execution("e9", "one", 7)}, {}, kNow + 1);
  CHECK_FALSE(model.rows({}).at(0).cpu_percent);
}

TEST_CASE("rows are sorted by the chosen column, unknown values last", "[top]") {
  const TopModel model = sampled();
  CHECK(ids(model.rows({.sort = TopSort::cpu})) == Ids{"e3", "e1", "e2"});
  CHECK(ids(model.rows({.sort = TopSort::age})) == Ids{"e1", "e2", "e3"});
  CHECK(parse_top_sort("wall") == TopSort::wall);
  CHECK_FALSE(parse_top_sort("colour"));
}

TEST_CASE("rows are filtered by words, by tenant and by their end", "[top]") {
  TopModel model = sampled();
  CHECK(ids(model.rows({.words = "PYTHON two"})) == Ids{"e3"});
  CHECK(ids(model.rows({.words = "nobody"})).empty());
  CHECK(ids(model.rows({.tenant = "one"})) == Ids{"e1", "e2"});
  Json ended = execution("e4", "one", 1);
  ended["State"] = "ended";
  ended["Outcome"] = "timeout";
  model.take(manager(), {ended, execution("e1", "one", 1)}, {}, kNow);
  CHECK(ids(model.rows({})) == Ids{"e1"});
  CHECK(ids(model.rows({.with_ended = true})) == Ids{"e1", "e4"});
  CHECK(model.rows({.with_ended = true}).at(1).state == "timeout");
}

TEST_CASE("the history is rates of the daemon's timeline; what was not measured is absent", "[top]") {
  TopModel model;
  const uint64_t unknown = UINT64_MAX;
  model.take_timeline(Json::array(
      {Json::array({"TimeUSec", "Seconds", "Running", "ok", "error", "timeout"}),
       Json::array({Json::array({uint64_t{1}, uint64_t{10}, uint64_t{2}, uint64_t{20}, uint64_t{5}, uint64_t{5}}),
                    Json::array({uint64_t{2}, uint64_t{10}, unknown, uint64_t{0}, uint64_t{0}, uint64_t{0}})}),
       Json::object()}));
  REQUIRE(model.history().size() == 2);
  CHECK(model.history()[0].executions_per_second == 3);
  CHECK(model.history()[0].failed_per_second == 1);
  CHECK(model.history()[0].running == 2);
  CHECK_FALSE(model.history()[1].running);
  model.take_timeline(Json("hostile"));
  CHECK(model.history().empty());
}

TEST_CASE("answers of a hostile daemon are no crash", "[top]") {
  TopModel model;
  for (const Json& hostile :
       {Json(), Json("x"), Json::array({1, 2}), Json{{"Pool", 1}, {"AnswerUSec", "x"}, {"Outcomes", Json::array()}}}) {
    model.take(hostile, {hostile}, {hostile}, kNow);
    CHECK_FALSE(drawn(model, {}, {80, 24, true}).empty());
  }
}

TEST_CASE("upstream servers with a problem come first", "[top]") {
  TopModel model = sampled();
  const auto server = [](const char* name, const char* state, const char* problem) {
    return Json{{"Name", name},        {"Place", "jail"},   {"State", state},
                {"Tools", {"a", "b"}}, {"Connections", 3u}, {"Problem", problem}};
  };
  model.take_servers(Json::array({server("files", "running", ""), server("web", "failed", "no \x1bsuch host")}));
  REQUIRE(model.servers().size() == 2);
  CHECK(model.servers()[0].name == "web");
  const std::string all = drawn(model, {}, {100, 40, true});
  CHECK(all.find("no ?such host") != std::string::npos);
  CHECK(all.find("files") != std::string::npos);
  model.take_servers(Json::array({"hostile", Json::object(), 1}));
  CHECK_FALSE(drawn(model, {}, {100, 40, true}).empty());
  model.take_servers(Json());
  CHECK(drawn(model, {}, {100, 40, true}).find("UPSTREAM") == std::string::npos);
}

TEST_CASE("an execution that ended is opened with its files and calls", "[top]") {
  TopPage page;
  page.shows = TopPage::Shows::execution;
  page.chosen = "e7";
  TopExecution open;
  open.record = {{"Id", "e7"},
                 {"Receipt", R"({"start":"cold"})"},
                 {"Files", {{"created", {"made\n"}}, {"omitted", 2u}}},
                 {"Calls", {{{"time", "12:00"}, {"action", "call"}, {"subject", "files.read"}, {"count", 3u}}}}};
  const std::string all = drawn(sampled(), page, {100, 40, true}, open);
  for (const char* shown_count : {"created made?", "and 2 more", "call files.read (3 times)", "start: cold"})
    CHECK(all.find(shown_count) != std::string::npos);
}

TEST_CASE("killing asks first, and only y kills", "[top]") {
  const auto rows = sampled().rows({});
  TopPage page;
  CHECK(page.take_key('k', rows).kind == TopDeed::Kind::nothing);
  CHECK(page.reply.find("choose an execution") != std::string::npos);
  page.take_key(kKeyDown, rows);
  CHECK(page.chosen == "e1");
  CHECK(page.take_key('k', rows).kind == TopDeed::Kind::nothing);
  CHECK(page.asks == TopPage::Asks::kill);
  CHECK(page.take_key('q', rows).kind == TopDeed::Kind::nothing);
  CHECK(page.reply == "not killed");
  page.take_key('k', rows);
  const TopDeed deed = page.take_key('y', rows);
  CHECK(deed.kind == TopDeed::Kind::kill);
  CHECK(deed.id == "e1");
}

TEST_CASE("f freezes what runs and thaws what is frozen", "[top]") {
  auto rows = sampled().rows({});
  TopPage page;
  page.chosen = "e2";
  CHECK(page.take_key('f', rows).kind == TopDeed::Kind::freeze);
  rows[1].state = "frozen";
  CHECK(page.take_key('f', rows).kind == TopDeed::Kind::thaw);
  rows[1].ended = true;
  CHECK(page.take_key('f', rows).kind == TopDeed::Kind::nothing);
  CHECK(page.reply == "e2 has ended");
}

TEST_CASE("keys choose, filter and open", "[top]") {
  const auto rows = sampled().rows({});
  TopPage page;
  page.take_key(kKeyEnd, rows);
  CHECK(page.chosen == "e3");
  page.take_key(kKeyDown, rows);
  CHECK(page.chosen == "e3");
  page.take_key('t', rows);
  CHECK(page.filter.tenant == "two");
  page.take_key('t', rows);
  CHECK(page.filter.tenant.empty());
  page.take_key('/', rows);
  for (const char key : std::string("kq")) page.take_key(key, rows);  // letters, no commands
  CHECK(page.filter.words == "kq");
  page.take_key(kKeyErase, rows);
  page.take_key(kKeyEnter, rows);
  CHECK(page.filter.words == "k");
  CHECK(page.asks == TopPage::Asks::nothing);
  page.take_key(kKeyEnter, rows);
  CHECK(page.shows == TopPage::Shows::execution);
  CHECK(page.take_key('q', rows).kind == TopDeed::Kind::nothing);
  CHECK(page.shows == TopPage::Shows::list);
  CHECK(page.take_key('q', rows).kind == TopDeed::Kind::quit);
}

TEST_CASE("every size has its lines, none more than the terminal has", "[top]") {
  const TopModel model = sampled();
  for (const auto shows : {TopPage::Shows::list, TopPage::Shows::help, TopPage::Shows::execution})
    for (size_t height = 1; height < 60; height++)
      for (const size_t width : {1, 10, 30, 79, 80, 300}) {
        TopPage page;
        page.shows = shows;
        page.chosen = "e2";
        const auto lines = draw_top(model, page, {}, {width, height, true});
        CHECK(lines.size() <= height);
        if (height >= 6 && width >= 79 && shows == TopPage::Shows::list) {
          std::string all;
          for (const auto& line : lines) all += line.text();
          CHECK(all.find("e2") != std::string::npos);  // the chosen execution is always visible
        }
      }
}

TEST_CASE("a terminal shows tenants, pool, history, executions and the keys", "[top]") {
  TopModel model = sampled();
  const std::string all = drawn(model, {}, {100, 30, true});
  for (const char* part : {"warderd 1.2.3 serving", "up 1h00m", "CPU -", "exec/s", "not known yet", "python 3/4",
                           "one ", "RUN/MAX", "2/4", "50%", "200%", "sorted by age", "h help"}) {
    INFO(part << " in " << all);
    CHECK(all.find(part) != std::string::npos);
  }
}

TEST_CASE("no text of another program controls the terminal", "[top]") {
  TopModel model;
  const std::string hostile =
      "\x1b]0;title\x07\x9b"
      "2J\xe2\x80\xae";
  Json item = execution("e1", hostile, 1);
  item["Language"] = hostile;
  Json daemon = manager();
  daemon["Version"] = daemon["ReloadProblem"] = hostile;
  model.take(daemon, {item}, {tenant(hostile, 1)}, kNow);
  TopExecution open;
  open.properties = {{"Message", hostile}, {"Receipt", "{\"a\":\"\\u001b[2J\"}"}};
  open.out = hostile + "\tcaf\xc3\xa9\n";
  TopPage page;
  page.chosen = "e1";
  std::string all = drawn(model, page, {100, 30, false});
  page.shows = TopPage::Shows::execution;
  all += drawn(model, page, {100, 40, true}, open);
  for (const char control : {'\x1b', '\x07', '\x9b', '\t', '\r'}) CHECK(all.find(control) == std::string::npos);
  CHECK(all.find("\xe2\x80\xae") == std::string::npos);
  CHECK(all.find("caf\xc3\xa9") != std::string::npos);
}

TEST_CASE("an open execution scrolls within its text", "[top]") {
  const TopModel model = sampled();
  TopPage page;
  page.shows = TopPage::Shows::execution;
  page.chosen = "e1";
  TopExecution open;
  for (int i = 0; i < 100; i++) open.out += "line " + std::to_string(i) + "\n";
  const TopSize size{80, 24, false};
  CHECK(drawn(model, page, size, open).find("line 99") == std::string::npos);
  draw_top(model, page, open, size);
  page.take_key(kKeyEnd, model.rows({}));
  CHECK(drawn(model, page, size, open).find("line 99") != std::string::npos);
  page.take_key(kKeyHome, model.rows({}));
  CHECK(page.scrolled == 0);
}

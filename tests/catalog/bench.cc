// catalog-bench [--judge FACTOR] [TOOLS]: builds a catalogue of made-up tools (default 50,000) and prints what loading,
// searching and holding it costs. Deterministic but for the clock. Judged (tests/judge.h), it fails when one of the
// three is worse than is promised of 50,000 tools.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "catalog/catalog.h"
#include "catalog/signature.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/json/json_value.h"
#include "tests/judge.h"
#include "tests/temp_directory.h"

namespace {

constexpr const char* kVerbs[] = {"create",  "list",     "get",    "update",  "delete", "search", "send",
                                  "read",    "write",    "export", "import",  "merge",  "sync",   "fetch",
                                  "analyze", "schedule", "cancel", "approve", "assign", "convert"};
// Commonest first: how often a word stands in definitions falls as 1/rank.
constexpr const char* kWords[] = {
    "data",     "user",      "file",     "name",     "project",   "list",    "id",        "query",    "issue",
    "message",  "account",   "type",     "document", "date",      "state",   "search",    "page",     "number",
    "table",    "report",    "event",    "customer", "image",     "filter",  "group",     "key",      "resource",
    "task",     "order",     "database", "service",  "content",   "status",  "email",     "record",   "url",
    "field",    "text",      "product",  "time",     "calendar",  "invoice", "branch",    "payment",  "ticket",
    "policy",   "dashboard", "alert",    "metric",   "container", "cluster", "volume",    "secret",   "comment",
    "contact",  "workflow",  "template", "channel",  "folder",    "model",   "session",   "location", "schema",
    "index",    "label",     "version",  "schedule", "webhook",   "market",  "portfolio", "campaign", "inventory",
    "shipment", "contract",  "employee", "device",   "sensor",    "route",   "weather",   "flight",   "hotel",
    "recipe",   "song",      "playlist", "video",    "subtitle",  "paper",   "citation",  "molecule", "protein",
    "patient",  "lesson",    "quiz",     "student",  "grade",     "house",   "mortgage",  "tax",      "currency",
    "transfer"};

class Maker {
 public:
  std::string pick(const auto& words) { return words[random_() % std::size(words)]; }
  size_t rank(double words) {  // from 1, falling as 1/rank
    return static_cast<size_t>(std::exp(std::uniform_real_distribution<double>(0, 1)(random_) * std::log(words)));
  }
  std::string common() { return kWords[rank(double{std::size(kWords)}) - 1]; }
  std::string rare() {
    static constexpr const char* kSyllables[] = {"ba", "ce", "di", "fo", "gu", "ka", "le", "mi",
                                                 "no", "pu", "ra", "se", "ti", "vo", "zu", "xen"};
    std::string word;
    for (size_t n = rank(20'000) + 16; n > 0; n /= 16) word += kSyllables[n % 16];
    return word;
  }
  std::string sentence(int words) {
    std::string text;
    for (int i = 0; i < words; i++)
      text += (i == 0 ? "" : " ") + (random_() % 3 == 0 ? "the" : random_() % 2 == 0 ? common() : rare());
    return text;
  }
  Json tool() {
    Json properties = Json::object();
    for (unsigned n = 1 + static_cast<unsigned>(random_() % 5); n > 0; n--)
      properties[common() + "_" + common()] = {{"type", random_() % 2 == 0 ? "string" : "integer"},
                                               {"description", sentence(4)}};
    return {
        {"name", pick(kVerbs) + "_" + common() + "_" + rare()},
        {"description", pick(kVerbs) + " " + sentence(13) + "."},
        {"inputSchema", {{"type", "object"}, {"properties", properties}, {"required", {properties.begin().key()}}}}};
  }
  // As agents ask: a verb, an object and what it is about.
  std::string query() {
    switch (random_() % 3) {
      case 0:
        return pick(kVerbs) + " " + common();
      case 1:
        return "please " + pick(kVerbs) + " the " + common() + " of " + rare() + " in the " + common();
      default:
        return pick(kVerbs) + "_" + common() + "_" + rare();
    }
  }

 private:
  std::mt19937_64 random_{20261121};
};

size_t resident_bytes() {
  ::malloc_trim(0);
  std::ifstream in("/proc/self/statm");
  size_t all = 0, resident = 0;
  in >> all >> resident;
  return resident * 4096;
}

}  // namespace

int main(int argc, char** argv) {
  Judge judge(argc, argv);
  const int count = argc > 1 ? std::atoi(argv[1]) : 50'000;
  constexpr int kPerServer = 50;
  TempDirectory folder;
  Maker maker;
  size_t bytes = 0;
  for (int server = 0; server * kPerServer < count; server++) {
    Json tools = Json::array();
    for (int i = 0; i < kPerServer; i++) tools.push_back(maker.tool());
    const std::string text = Json{{"category", "category" + std::to_string(server % 20)}, {"tools", tools}}.dump();
    bytes += text.size();
    std::ofstream(folder.path() / fmt::format("server{}.json", server)) << text;
  }
  const size_t before = resident_bytes();
  const auto start = Monotonic::now();
  auto loaded = catalog::load_catalog(folder.path().string());
  const double load_ms = ms_since(start);
  if (!loaded) return 1;
  const auto& created = **loaded;
  fmt::print("{} tools, {:.1f} MB of files, {} different words\n", created.size(), static_cast<double>(bytes) / 1e6,
             created.index().vocabulary());
  fmt::print("load        {:8.0f} ms   ({:.1f} us a tool)\n", load_ms,
             load_ms * 1000 / static_cast<double>(created.size()));
  fmt::print("memory      {:8.1f} MB   search index {:.1f} MB; the process grew by {:.1f} MB\n",
             static_cast<double>(created.bytes()) / 1e6, static_cast<double>(created.index().bytes()) / 1e6,
             static_cast<double>(resident_bytes() - before) / 1e6);

  judge.at_most("load, ms", load_ms, 5000);
  judge.at_most("memory, MB", static_cast<double>(created.bytes()) / 1e6, 30);

  // The median, in microseconds.
  auto measure = [&](const char* name, auto work) {
    std::vector<double> times;
    for (int i = 0; i < 3000; i++) {
      catalog::Query query;
      query.text = maker.query();
      const auto begin = Monotonic::now();
      work(query);
      times.push_back(ms_since(begin) * 1000);
    }
    std::sort(times.begin(), times.end());
    fmt::print("{:13}{:7.1f} us   p99 {:.1f} us\n", name, times[times.size() / 2], times[times.size() * 99 / 100]);
    return times[times.size() / 2];
  };
  // As a daemon builds it that has every second server: the tools of the others are listed last.
  std::vector<std::string> servers;
  for (int server = 0; server * kPerServer < count; server += 2) servers.push_back(fmt::format("server{}", server));
  auto builder = catalog::CatalogBuilder::begin(folder.path().string());
  if (!builder) return 1;
  builder->call_only_servers(servers);
  while (!builder->step(std::chrono::seconds(1))) {
  }
  const auto mixed = builder->take();

  size_t total = 0, postings = 0;
  const double search_us =
      measure("search", [&](const catalog::Query& query) { total += created.search(query).total; });
  judge.at_most("search, p50, us", search_us, 100);
  const double mixed_us =
      measure("half callable", [&](const catalog::Query& query) { total += mixed->search(query).total; });
  judge.at_most("search, half callable, p50, us", mixed_us, 110);
  for (int i = 0; i < 1000; i++)
    for (const auto& word : created.index().terms(maker.query()).words) postings += word.documents;
  fmt::print("            {:8.0f} documents on average have one of a query's words, each counted\n",
             static_cast<double>(postings) / 1000);
  measure("in category", [&](catalog::Query& query) {
    query.category = "category7";
    total += created.search(query).total;
  });
  measure("signatures", [&](const catalog::Query& query) {
    for (uint32_t number : created.search(query).tools)
      total += catalog::signature(created.tool(number).name, Json::parse(created.rest(number))).size();
  });
  measure("misspelt", [&](catalog::Query& query) {
    query.text = "x" + query.text.substr(0, 20) + "qz";
    total += created.search(query).nearest.size();
  });
  catalog::Learning learning;
  for (uint32_t i = 0; i < catalog::LearningLimits{}.searches; i++) {
    const auto tool = created.tool(i * 17 % static_cast<uint32_t>(created.size()));
    learning.teach(created.index(), maker.query(), {std::string(tool.server), std::string(tool.name)});
  }
  measure("learned", [&](catalog::Query& query) {
    query.learned = &learning;
    total += created.search(query).total;
  });
  const auto listing_start = Monotonic::now();
  (void)catalog::list_folder(folder.path().string());
  fmt::print("changed?    {:8.1f} us   {} files\n", ms_since(listing_start) * 1000,
             (count + kPerServer - 1) / kPerServer);
  return total > 0 && judge.satisfied() ? 0 : 1;
}

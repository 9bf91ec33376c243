// search-bench --daemon WARDERD --policies DIR [--tools N,...] [--rounds N]: how long until a catalogue of made-up
// tools (tests/catalog/crowd.h) is served, and what a search over the socket costs beside `ping` in the same rounds: a
// few words, and sentences as people write them. A search with all of its answer: definitions, signatures, hints.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "supervisor/base/json/json_value.h"
#include "tests/bench/client.h"
#include "tests/bench/daemon.h"
#include "tests/bench/statistics.h"
#include "tests/catalog/crowd.h"
#include "tests/temp_directory.h"

namespace bench {
namespace {

struct Options {
  std::string daemon, policies;
  std::vector<uint32_t> tools = {5'800, 100'000};
  int rounds = 40;
  int settle = 20;  // seconds
  bool smoke = false;
};

// The tools that the wishes are for, among so many others; one file for each server.
void write_catalog(const std::filesystem::path& folder, const Json& requested, uint32_t count) {
  uint32_t written = 0;
  for (const Json& server : requested) {
    written += static_cast<uint32_t>(server["tools"].size());
    std::ofstream(folder / (server["server"].get<std::string>() + ".json")) << server;
  }
  for (uint32_t number = 0; written < count;) {
    Json server = {{"server", crowd::tool(number).server}, {"tools", Json::array()}};
    for (uint32_t i = 0; i < crowd::kToolsOfServer && written < count; i++, written++)
      server["tools"].push_back(crowd::definition(crowd::tool(number++)));
    std::ofstream(folder / (server["server"].get<std::string>() + ".json")) << server;
  }
}

struct Case {
  const char* name;
  std::vector<std::string> requests;
  size_t next = 0;
  size_t bytes = 0;  // of the last answer
  Series series;
};

Result<> measure(Case& item, Client& client, int times) {
  item.series.begin_round();
  for (int i = 0; i < times; i++) {
    TRY(auto exchange, client.exchange(item.requests[item.next++ % item.requests.size()]));
    item.bytes = exchange.answer.size();
    item.series.add({exchange.us(), std::nullopt});
  }
  return {};
}

std::string words_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

Result<> run(const Options& options, uint32_t count) {
  const std::filesystem::path source = WARDER_SOURCE_DIR "/tests/catalog/finding";
  const Json requested = Json::parse(std::ifstream(source / "tools.json"));
  const Json wishes = Json::parse(std::ifstream(source / "wishes.json"));
  TempDirectory catalog;
  std::filesystem::permissions(catalog.path(), std::filesystem::perms(0755));
  write_catalog(catalog.path(), requested, count);

  const auto start = Monotonic::now();
  TRY(auto daemon, Daemon::start(options.daemon, options.policies, {"--catalog", catalog.path().string()}));
  const double ready_ms = ms_since(start);
  TRY(Client client, Client::connect(daemon->socket()));
  Case cases[] = {{"ping", {make_request("ping", Json::object())}, 0, 0, {}},
                  {"keywords", {}, 0, 0, {}},
                  {"sentences", {}, 0, 0, {}}};
  for (const Json& request : wishes) {
    const std::string tool = request["tools"][0];
    cases[1].requests.push_back(make_call("search_tools", {{"query", words_of(tool)}}));
    cases[2].requests.push_back(make_call("search_tools", {{"query", request["wish"]}}));
  }
  TRY(auto first, client.exchange(cases[2].requests[0]));
  CHECKED(result_of(first.answer));
  // What goes on after the start (WordNet, the files of /servers) is over before anything is measured.
  for (const auto until = Monotonic::now() + std::chrono::seconds(options.settle); Monotonic::now() < until;)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  for (int round = 0; round < options.rounds; round++)
    for (Case& item : cases) CHECKED(measure(item, client, options.smoke ? 2 : 100));
  fmt::print("{} tools, {} WordNet: ready after {:.0f} ms\n", count,
             daemon->logged("words of WordNet") ? "with" : "without", ready_ms);
  for (const Case& item : cases) {
    const auto ratio = item.series.ratio_to(cases[0].series);
    fmt::print("  {:<10} p50 {:8.1f} us   p99 {:8.1f} us   {:6.1f} x ping\n", item.name, item.series.at(0.5),
               item.series.at(0.99), ratio.value_or(0));
  }
  return {};
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Options options;
  CLI::App app("what search_tools costs beside ping, and when a catalogue is ready");
  app.add_option("--daemon", options.daemon, "the warderd to measure")->required();
  app.add_option("--policies", options.policies, "its policies")->required();
  app.add_option("--tools", options.tools, "how many tools, one size after the other")->delimiter(',');
  app.add_option("--rounds", options.rounds, "of 100 requests of each kind");
  app.add_option("--settle", options.settle, "seconds between ready and the first round");
  app.add_flag("--smoke", options.smoke, "few tools, two rounds: that every figure is produced");
  CLI11_PARSE(app, argc, argv);
  if (options.smoke) options.tools = {400}, options.rounds = 2, options.settle = 0;
  for (uint32_t count : options.tools)
    if (auto done = bench::run(options, count); !done) {
      fmt::print(stderr, "search-bench: {}\n", done.error().what);
      return 1;
    }
  return 0;
}

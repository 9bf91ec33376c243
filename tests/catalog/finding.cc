#include "tests/catalog/finding.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "supervisor/base/json/json_value.h"
#include "tests/catalog/crowd.h"

namespace finding {
namespace {

Json read(const char* name) {
  std::ifstream in(std::string(WARDER_SOURCE_DIR "/tests/catalog/finding/") + name);
  return Json::parse(in);
}

std::vector<std::string> names(const catalog::Catalog& catalog, const std::string& text, size_t limit,
                               const catalog::Thesaurus* thesaurus, catalog::Match* match = nullptr) {
  catalog::Query query;
  query.text = text;
  query.limit = limit;
  query.thesaurus = thesaurus;
  const auto found = catalog.search(query);
  if (match) *match = found.match;
  std::vector<std::string> all;
  for (uint32_t number : found.tools) all.emplace_back(catalog.tool(number).name);
  return all;
}

}  // namespace

std::vector<Wish> wishes(Half half) {
  std::vector<Wish> all;
  size_t index = 0;
  for (const Json& item : read("wishes.json"))
    if ((index++ % 2 == 1) == (half == Half::held_out))
      all.push_back({item["wish"], {item["tools"].begin(), item["tools"].end()}});
  return all;
}

std::shared_ptr<const catalog::Catalog> tools(size_t crowd, Servers servers) {
  catalog::CatalogBuilder builder;
  size_t index = 0;
  for (const Json& item : read("tools.json"))
    if (const bool odd = index++ % 2 == 1; servers == Servers::all || odd == (servers == Servers::odd))
      builder.add("tools.json", catalog::read_definitions(item, {}).value());
  for (uint32_t number = 0; number < crowd;) {
    Json document = {{"server", crowd::tool(number).server}, {"tools", Json::array()}};
    for (uint32_t i = 0; i < crowd::kToolsOfServer && number < crowd; i++)
      document["tools"].push_back(crowd::definition(crowd::tool(number++)));
    builder.add("crowd", catalog::read_definitions(document, {}).value());
  }
  while (!builder.step(std::chrono::seconds(1))) {
  }
  return builder.take();
}

Plain plain(Half half) {
  const Json all = read("plain.json").at(half == Half::tuned ? 0 : 1);
  Plain created;
  catalog::CatalogBuilder builder;
  builder.add("plain.json", catalog::read_definitions(all["tools"], {}).value());
  while (!builder.step(std::chrono::seconds(1))) {
  }
  created.tools = builder.take();
  for (const Json& item : all["wishes"]) created.wishes.push_back({item["wish"], {item["tool"].get<std::string>()}});
  return created;
}

Quality measure(const catalog::Catalog& catalog, const std::vector<Wish>& wishes, const catalog::Thesaurus* thesaurus) {
  Quality sum;
  for (const Wish& request : wishes) {
    const auto match = names(catalog, request.text, 10, thesaurus);
    if (match.empty()) sum.empty++;
    double hits = 0, gain = 0, ideal = 0;
    const auto needed = static_cast<double>(request.tools.size());
    for (size_t i = 0; i < 10; i++) {
      const double worth = 1 / std::log2(static_cast<double>(i) + 2);
      if (i < request.tools.size()) ideal += worth;
      if (i < match.size() && request.tools.contains(match[i])) {
        hits++;
        gain += worth;
      }
      if (i == 0) sum.recall1 += hits;
      if (i == 4) sum.recall5 += hits / needed;
    }
    sum.recall10 += hits / needed;
    sum.ndcg10 += gain / ideal;
  }
  const double percent = 100 / static_cast<double>(wishes.size());
  for (double* figure : {&sum.recall1, &sum.recall5, &sum.recall10, &sum.ndcg10}) *figure *= percent;
  return sum;
}

Sureness sureness(const std::vector<Wish>& wishes, const catalog::Thesaurus* thesaurus) {
  const auto even = tools(0, Servers::even), odd = tools(0, Servers::odd);
  double strong = 0, strong_right = 0, weak = 0, weak_right = 0;
  for (const Wish& request : wishes) {
    auto has_one = [&](const catalog::Catalog& catalog) {
      return std::any_of(request.tools.begin(), request.tools.end(),
                         [&](const std::string& name) { return catalog.find(name).tools.size() == 1; });
    };
    if (has_one(*even) == has_one(*odd)) continue;  // tools of both: right and wrong are not apart
    for (const auto& catalog : {even, odd}) {
      catalog::Match match{};
      const auto result = names(*catalog, request.text, 5, thesaurus, &match);
      const bool right = std::any_of(result.begin(), result.end(),
                                     [&](const std::string& item) { return request.tools.contains(item); });
      (match == catalog::Match::strong ? strong : weak)++;
      if (match == catalog::Match::strong && right) strong_right++;
      if (match == catalog::Match::weak && !right) weak_right++;
    }
  }
  return {100 * strong_right / strong, 100 * weak_right / weak, 100 * strong / (strong + weak)};
}

}  // namespace finding

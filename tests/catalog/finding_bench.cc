// finding-bench [CROWD...]: how much is found of what people write (finding.h), alone and among so many made-up tools
// (default 0, 5,440 and 99,640), without WordNet and with it where it is installed. Deterministic.
#include <fmt/format.h>

#include <cstdlib>

#include "tests/catalog/finding.h"

int main(int argc, char** argv) {
  std::vector<size_t> crowds;
  for (int i = 1; i < argc; i++) crowds.push_back(static_cast<size_t>(std::atoi(argv[i])));
  if (crowds.empty()) crowds = {0, 5'440, 99'640};
  const auto loaded = catalog::load_thesaurus(catalog::kWordNetFolder);
  std::vector<std::pair<const char*, const catalog::Thesaurus*>> with = {{"without WordNet", nullptr}};
  if (loaded) with.emplace_back("with WordNet", loaded->get());
  fmt::print("tools     wishes                        recall@1    @5   @10   nDCG@10  empty\n");
  for (size_t crowd : crowds) {
    const auto tools = finding::tools(crowd);
    for (const auto& [name, thesaurus] : with)
      for (finding::Half half : {finding::Half::tuned, finding::Half::held_out}) {
        const auto match = finding::measure(*tools, finding::wishes(half), thesaurus);
        fmt::print("{:<9} {:9} {:18} {:9.1f} {:5.1f} {:5.1f} {:9.1f} {:6}\n", tools->size(),
                   half == finding::Half::tuned ? "tuned" : "held out", name, match.recall1, match.recall5,
                   match.recall10, match.ndcg10, match.empty);
      }
  }
  for (const auto& [name, thesaurus] : with)
    for (finding::Half half : {finding::Half::tuned, finding::Half::held_out}) {
      const auto sure = finding::sureness(finding::wishes(half), thesaurus);
      fmt::print(
          "{:9} {:18} strong {:.0f} % of the answers, {:.0f} % of them right; {:.0f} % of the weak have nothing\n",
          half == finding::Half::tuned ? "tuned" : "held out", name, sure.strong_share, sure.strong_right,
          sure.weak_right);
    }
  for (finding::Half half : {finding::Half::tuned, finding::Half::held_out}) {
    const auto plain = finding::plain(half);
    for (const auto& [name, thesaurus] : with) {
      const auto match = finding::measure(*plain.tools, plain.wishes, thesaurus);
      fmt::print("{:9} {:18} {} plain sentences over {} tools: {:.0f} % first, {:.0f} % among five, {} empty\n",
                 half == finding::Half::tuned ? "tuned" : "held out", name, plain.wishes.size(), plain.tools->size(),
                 match.recall1, match.recall5, match.empty);
    }
  }
  return 0;
}

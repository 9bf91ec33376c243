// Finding: sentences as people write them, with the tools that they mean, among 360 tools of 72 made-up servers; and
// how many of them the search finds. finding/tools.json and finding/wishes.json hold them; the wishes were written
// before anything was ranked with them. Every second one is held out: the ranking was tuned on the others only.
#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "catalog/catalog.h"

namespace finding {

struct Wish {
  std::string text;
  std::set<std::string> tools;
};

enum class Half { tuned, held_out };
std::vector<Wish> wishes(Half half);

// 18 sentences for 20 tools, and as many others for others (finding/plain.json).
struct Plain {
  std::shared_ptr<const catalog::Catalog> tools;
  std::vector<Wish> wishes;
};
Plain plain(Half half);

enum class Servers { all, even, odd };  // by their place in the file
// The tools, among so many of a crowd (crowd.h).
std::shared_ptr<const catalog::Catalog> tools(size_t crowd = 0, Servers servers = Servers::all);

// In percent. Of a wish for several tools, the share that is found counts.
struct Quality {
  double recall1 = 0, recall5 = 0, recall10 = 0, ndcg10 = 0;
  size_t empty = 0;  // wishes
};
Quality measure(const catalog::Catalog& catalog, const std::vector<Wish>& wishes,
                const catalog::Thesaurus* thesaurus = nullptr);

// What "strong" and "weak" are worth: wishes among the servers that have their tool, and as many among those that do
// not. Of the answers that are called strong, how many have a right tool among five; of the weak, how many have none.
struct Sureness {
  double strong_right = 0, weak_right = 0, strong_share = 0;
};
Sureness sureness(const std::vector<Wish>& wishes, const catalog::Thesaurus* thesaurus = nullptr);

}  // namespace finding

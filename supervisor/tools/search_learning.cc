#include "supervisor/tools/search_learning.h"

namespace tools {
namespace {

const std::string kShared;

const std::string& memory_of(const std::string& tenant, policies::Learning whose) {
  return whose == policies::Learning::shared ? kShared : tenant;
}

}  // namespace

const catalog::Learning* SearchLearning::of(const std::string& tenant, policies::Learning whose) const {
  if (whose == policies::Learning::off) return nullptr;
  const auto memory = memories_.find(memory_of(tenant, whose));
  return memory == memories_.end() ? nullptr : &memory->second;
}

void SearchLearning::searched(const std::string& tenant, policies::Learning whose, std::string query,
                              Monotonic::time_point now) {
  if (whose == policies::Learning::off) {  // was it on before, then nothing of it stays
    forget(tenant);
    return;
  }
  last_.insert_or_assign(tenant, Last{std::move(query), now});
}

void SearchLearning::chosen(const catalog::Catalog& catalog, const std::string& tenant, policies::Learning whose,
                            const catalog::Learning::Tool& tool, Monotonic::time_point now) {
  const auto last = last_.find(tenant);
  if (whose == policies::Learning::off || last == last_.end() || now - last->second.when > kPatience) return;
  // A name says what it means without us.
  if (!catalog.find(last->second.query).tools.empty()) return;
  memories_[memory_of(tenant, whose)].teach(catalog.index(), last->second.query, tool, now);
}

}  // namespace tools

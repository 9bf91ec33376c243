// The list of parts, with and without annexes: what each part needs is there, and nothing is offered twice.
#include "supervisor/daemon/part_list.h"

#include <map>
#include <set>
#include <typeindex>

#include "supervisor/annexes.h"
#include "supervisor/daemon/prepared.h"
#include "supervisor/daemon_controls.h"
#include "supervisor/given_services.h"
#include "tests/catch.h"

namespace {

// What the daemon has before it opens its parts (given_services.h).
const std::set<std::type_index> kGiven{typeid(Loop),
                                       typeid(jail::Host),
                                       typeid(Work),
                                       typeid(Prepared),
                                       typeid(Options),
                                       typeid(policies::Store),
                                       typeid(tenants::MasterKey),
                                       typeid(skills::Shared),
                                       typeid(DaemonControls),
                                       typeid(StateFolder),
                                       typeid(ReloadState),
                                       typeid(Parts)};

std::map<std::type_index, std::string> offers_of(const std::vector<PartEntry>& entries) {
  std::map<std::type_index, std::string> offers;
  for (const PartEntry& entry : entries)
    for (const std::type_index type : entry.offers) {
      INFO(entry.name << " and " << offers[type] << " offer " << type.name());
      CHECK(offers[type].empty());
      offers[type] = entry.name;
    }
  return offers;
}

}  // namespace

TEST_CASE("parts have different names, and no service is offered twice", "[parts]") {
  const auto entries = all_parts();
  CHECK(entries.size() > 20);
  std::set<std::string> names;
  for (const PartEntry& entry : entries) CHECK(names.insert(entry.name).second);
  for (const auto& [type, name] : offers_of(entries)) {
    INFO(name << " offers " << type.name());
    CHECK_FALSE(kGiven.contains(type));
  }
}

TEST_CASE("what a part cannot do without is offered by another part, or given by the daemon", "[parts]") {
  const auto entries = all_parts();
  const auto offers = offers_of(entries);
  for (const PartEntry& entry : entries)
    for (const PartEntry::Need& need : entry.needs) {
      INFO(entry.name << " needs " << need.type.name());
      CHECK((need.is_optional || kGiven.contains(need.type) || offers.contains(need.type)));
    }
}

TEST_CASE("no part of the hall needs a service that only an annex offers", "[parts]") {
  std::set<std::string> annexes;
  for (const PartEntry& entry : annex_parts()) annexes.insert(entry.name);
  const auto entries = all_parts();
  const auto offers = offers_of(entries);
  for (const PartEntry& entry : entries)
    for (const PartEntry::Need& need : entry.needs) {
      const auto offer = offers.find(need.type);
      if (need.is_optional || annexes.contains(entry.name) || offer == offers.end()) continue;
      INFO(entry.name << " needs " << need.type.name() << " of " << offer->second);
      CHECK_FALSE(annexes.contains(offer->second));
    }
}

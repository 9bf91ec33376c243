// The tables of the D-Bus interfaces, and the list of the Manager's properties that changed.
#include <set>
#include <string>
#include <vector>

#include "supervisor/operations/bus/bus_objects.h"
#include "tests/catch.h"

using bus::ManagerProperties;

namespace {

using Names = std::set<std::string>;

template <class Fn>
void each(const sd_bus_vtable* table, Fn fn) {
  for (; table->type != _SD_BUS_VTABLE_END; table++) fn(*table);
}

Names announced(const sd_bus_vtable* table) {
  Names names;
  each(table, [&](const sd_bus_vtable& row) {
    if (row.type == _SD_BUS_VTABLE_PROPERTY && (row.flags & SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE) != 0)
      names.insert(row.x.property.member);
  });
  return names;
}

Names changed(const ManagerProperties& before, const ManagerProperties& after) {
  Names names;
  for (const char* name : bus::changed_properties(before, after)) CHECK(names.insert(name).second);
  return names;
}

ManagerProperties all_different() {
  ManagerProperties all;
  all.state = "running";
  all.policies = {"default"};
  all.policy_folders = {"/etc/warder/policies"};
  all.reload_problem = all.disk_problem = all.configuration_problem = "bad";
  all.waiting = all.starting = all.running = all.frozen = all.waiting_jails = 1;
  all.executions = all.cpu_usec = all.cpu_unknown = all.memory_bytes = 1;
  all.outcomes = all.refusals = all.starts = all.answer_usec = all.wall_usec = all.ledger = {{"one", 1}};
  all.languages = all.pool = {{"python", {{"one", 1}}}};
  return all;
}

}  // namespace

TEST_CASE("each announced property of the Manager is noticed when it changes", "[bus]") {
  CHECK(changed({}, {}).empty());
  CHECK(changed({}, all_different()) == announced(bus::kManagerTable));
}

TEST_CASE("a change of one property is reported as that property alone", "[bus]") {
  ManagerProperties after;
  after.frozen = 2;
  CHECK(changed({}, after) == Names{"Frozen"});
  after = {};
  after.wall_usec = {{"p50", 1}};
  CHECK(changed({}, after) == Names{"WallUSec"});
  after = {};
  after.disk_problem = "full";
  CHECK(changed({}, after) == Names{"DiskProblem"});
}

TEST_CASE("members of the tables have valid names, each once, and every method and property has a handler", "[bus]") {
  for (const sd_bus_vtable* table :
       {bus::kManagerTable, bus::kExecutionTable, bus::kTenantTable, bus::kLogControlTable}) {
    CHECK(table->type == _SD_BUS_VTABLE_START);
    Names names;
    each(table + 1, [&](const sd_bus_vtable& row) {
      if (row.type == _SD_BUS_VTABLE_METHOD) {
        INFO(row.x.method.member);
        CHECK(sd_bus_member_name_is_valid(row.x.method.member) > 0);
        CHECK(names.insert(row.x.method.member).second);
        CHECK(row.x.method.handler != nullptr);
        // The bus lets everyone in: caller.h checks the rights.
        CHECK((row.flags & SD_BUS_VTABLE_UNPRIVILEGED) != 0);
      } else if (row.type == _SD_BUS_VTABLE_SIGNAL) {
        CHECK(names.insert(row.x.signal.member).second);
      } else {
        INFO(row.x.property.member);
        CHECK(sd_bus_member_name_is_valid(row.x.property.member) > 0);
        CHECK(names.insert(row.x.property.member).second);
        CHECK(row.x.property.get != nullptr);
      }
    });
    CHECK(names.size() > 2);
  }
}

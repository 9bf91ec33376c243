// The tables of the D-Bus interfaces, and the list of the Manager's properties that changed.
#include <set>
#include <string>
#include <vector>

#include "supervisor/operations/bus/bus_objects.h"
#include "tests/catch.h"

using bus::ManagerProperties;

namespace {

using Names = std::set<std::string>;

Names changed(const ManagerProperties& before, const ManagerProperties& after) {
  Names names;
  for (const char* name : bus::changed_properties(before, after)) CHECK(names.insert(name).second);
  return names;
}

}  // namespace

TEST_CASE("a change of one property is reported as that property alone", "[bus]") {
  ManagerProperties after;
  after.frozen = 2;
  CHECK(changed({}, after) == Names{"Frozen"});
  after = {};
  after.wall_usec = {{"p50", 1}};
  CHECK(changed({}, after) == Names{"WallUSec"});
  after = {};
  after.of_rooms = {{"DiskProblem", std::string("full")}};
  CHECK(changed({}, after) == Names{"DiskProblem"});
  ManagerProperties before = after;
  CHECK(changed(before, after).empty());
  before.of_rooms = {{"DiskProblem", std::string()}};
  CHECK(changed(before, after) == Names{"DiskProblem"});
}

// Its rows are written by hand: make_tables.py reads descriptions of our own interfaces only.
TEST_CASE("members of the log's table have valid names, each once, and every method and property has a handler",
          "[bus]") {
  CHECK(bus::kLogControlTable->type == _SD_BUS_VTABLE_START);
  Names names;
  for (const sd_bus_vtable* row = bus::kLogControlTable + 1; row->type != _SD_BUS_VTABLE_END; row++) {
    REQUIRE((row->type == _SD_BUS_VTABLE_PROPERTY || row->type == _SD_BUS_VTABLE_WRITABLE_PROPERTY));
    INFO(row->x.property.member);
    CHECK(sd_bus_member_name_is_valid(row->x.property.member) > 0);
    CHECK(names.insert(row->x.property.member).second);
    CHECK(row->x.property.get != nullptr);
  }
  CHECK(names.size() > 2);
}

TEST_CASE("members that rooms bring stand in the Manager's table, behind its own", "[bus]") {
  bus::OfferedMembers members;
  std::string trouble = "none";
  members.add_property("Trouble", [&trouble] { return trouble; });
  members.add_property("Uses", [] { return uint64_t{7}; });
  members.add_method(
      "TestIt", {{"s", "name"}, {"as", "paths"}}, {{"b", "done"}},
      [](bus::MessagePtr call, bus::Authority&) -> Task<Result<bus::MessagePtr>> { co_return std::move(call); },
      bus::OfferedMembers::Secrecy::secret);
  const auto table = bus::manager_table_with(members);
  CHECK(table.front().type == _SD_BUS_VTABLE_START);
  CHECK(table.back().type == _SD_BUS_VTABLE_END);
  REQUIRE(table.size() > 4);
  const sd_bus_vtable &trouble_row = table[table.size() - 4], &uses_row = table[table.size() - 3],
                      &method_row = table[table.size() - 2];
  CHECK(std::string(trouble_row.x.property.member) == "Trouble");
  CHECK(std::string(trouble_row.x.property.signature) == "s");
  CHECK(std::string(uses_row.x.property.signature) == "t");
  CHECK(std::string(method_row.x.method.signature) == "sas");
  CHECK(std::string(method_row.x.method.result) == "b");
  CHECK(std::string(method_row.x.method.names, 16) == std::string("name\0paths\0done\0", 16));
  CHECK((method_row.flags & SD_BUS_VTABLE_SENSITIVE) != 0);
  CHECK((method_row.flags & SD_BUS_VTABLE_UNPRIVILEGED) != 0);
  CHECK(members.find_method("TestIt"));
  CHECK_FALSE(members.find_method("Trouble"));
  trouble = "full";
  CHECK(std::get<std::string>(members.values().at("Trouble")) == "full");
}

// TenantId: its text form, which the journal, D-Bus and log lines have, and the way back.
#include "policies/tenant_id.h"

#include <map>

#include "tests/supervisor/tenants/scene.h"

using tenants::TenantId;

TEST_CASE("the text of an id is read back as the same id", "[tenants]") {
  const std::string longest(64, 'a');
  auto [text, account, workspace] = GENERATE_COPY(table<std::string, std::string, std::string>({
      {"acme", "acme", ""},
      {"acme/reports", "acme", "reports"},
      {"user-1000/Customer_A.2", "user-1000", "Customer_A.2"},
      {"0/0", "0", "0"},
      {longest + "/" + longest, longest, longest},
  }));
  CAPTURE(text);
  auto id = TenantId::parse(text);
  REQUIRE(id);
  CHECK(id->account == account);
  CHECK(id->workspace == workspace);
  CHECK(id->text() == text);
  CHECK(tenants::account_of(text) == account);
  CHECK(*id == TenantId{account, workspace});
}

TEST_CASE("a text that no id has is refused", "[tenants]") {
  auto text = GENERATE_COPY(values<std::string>({"",
                                                 "/",
                                                 "acme/",
                                                 "/reports",
                                                 "acme//reports",
                                                 "acme/reports/",
                                                 "acme/reports/x",
                                                 "Acme",
                                                 "Acme/reports",
                                                 "acme/../x",
                                                 "acme/.hidden",
                                                 "..",
                                                 ".",
                                                 "acme/.",
                                                 "acme/..",
                                                 "acme reports",
                                                 "acme/re ports",
                                                 "acme\n",
                                                 "acme/reports\n",
                                                 std::string("acme\0", 5),
                                                 std::string("acme/x\0", 7),
                                                 "acm\xc3\xa9",
                                                 "acme/default",
                                                 std::string(65, 'a'),
                                                 "acme/" + std::string(65, 'a'),
                                                 "acme\\reports",
                                                 "*",
                                                 "acme/*"}));
  CAPTURE(text);
  auto id = TenantId::parse(text);
  REQUIRE_FALSE(id);
  CHECK(id.error().code == Code::invalid);
}

TEST_CASE("an account stands before its workspaces", "[tenants]") {
  const std::map<TenantId, int> all{{{"b"}, 4}, {{"a", "y"}, 3}, {{"a"}, 1}, {{"a", "x"}, 2}};
  std::string order;
  for (const auto& [id, number] : all) order += std::to_string(number);
  CHECK(order == "1234");
}

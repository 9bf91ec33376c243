#include "supervisor/operations/bus/members.h"

#include "policies/policy.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/path.h"
#include "supervisor/tenants/tenant.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

TEST_CASE("connected clients are counted by tenant, without those that left or lost their right", "[bus]") {
  const TempDirectory temp;
  Loop loop;
  const Fd state = open_directory(temp.path().string()).value();
  bus::Members members;
  const auto connect = [&](const std::shared_ptr<tenants::Tenant>& tenant, const std::string& policy) {
    auto member = std::make_shared<tenants::Member>();
    member->tenant = tenant;
    auto rules = std::make_shared<policies::Policy>();
    rules->name = policy;
    member->policy = rules;
    members.add(member);
    return member;
  };
  const auto ada = tenants::Tenant::open(loop, state.get(), "ada", {}).value();
  const auto eve = tenants::Tenant::open(loop, state.get(), "eve", {}).value();
  CHECK(members.of("ada").count == 0);
  CHECK(members.of("ada").policy == nullptr);
  auto first = connect(ada, "default");
  auto second = connect(ada, "lean");
  const auto of_eve = connect(eve, "default");
  CHECK(members.of("ada").count == 2);
  CHECK(members.of("ada").policy->name == "lean");
  CHECK(members.of("eve").count == 1);
  second->revoked = true;
  CHECK(members.of("ada").count == 1);
  CHECK(members.of("ada").policy->name == "default");
  first.reset();
  CHECK(members.of("ada").count == 0);
  CHECK(members.of("ada").policy == nullptr);
  CHECK(members.of("eve").count == 1);
}

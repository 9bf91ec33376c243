// Principal: the names of the users that make requests, and the accounts that are found by these names.
#include "supervisor/protocol/mcp/principal.h"

#include "supervisor/protocol/mcp/account.h"
#include "tests/supervisor/protocol/mcp/harness.h"

using mcp::Accounts;
using mcp::Principal;

namespace {

Principal process(pid_t pid, uid_t uid) { return Principal(mcp::PeerProcess{pid, uid, 100, {7}}); }

}  // namespace

TEST_CASE("a principal is named after its user, not after its process", "[mcp]") {
  const Principal first = process(11, 1000), second = process(12, 1000);
  CHECK(first.kind() == Principal::Kind::peer);
  CHECK(first.name() == "uid:1000");
  CHECK(first.name() == second.name());
  CHECK(first.displayed() == "user 1000");
  CHECK(first.uid() == 1000);
  CHECK(first.pid() == 11);
  REQUIRE(first.peer());
  CHECK(first.peer()->groups == std::vector<gid_t>{7});
}

TEST_CASE("the bearer of a token is named after the token, and has no ids", "[mcp]") {
  const Principal bearer = Principal::of_token("ci");
  CHECK(bearer.kind() == Principal::Kind::token);
  CHECK(bearer.name() == "token:ci");
  CHECK(bearer.displayed() == "token ci");
  CHECK(bearer.token() == "ci");
  CHECK_FALSE(bearer.peer());
  CHECK(bearer.uid() == static_cast<uid_t>(-1));
  CHECK(bearer.pid() == -1);
  // A name that looks like a user's stays a token's.
  CHECK(Principal::of_token("uid-1000").name() != process(11, 1000).name());
}

TEST_CASE("subjects are told apart, whatever characters they contain", "[mcp]") {
  const std::string issuer = "https://idp.example";
  const Principal ada = Principal::of_subject("ada", "admin", issuer), plain = Principal::of_subject("ada", "", issuer);
  CHECK(ada.name() == "sub[admin]:ada@https://idp.example");
  CHECK(plain.name() == "sub:ada@https://idp.example");
  for (const char* other : {"ada#admin", "[admin]:ada", "admin]:ada", "ada[admin]"}) {
    CHECK(Principal::of_subject(other, "", issuer).name() != ada.name());
    CHECK(Principal::of_subject(other, "", issuer).name() != plain.name());
  }
  CHECK(Principal::of_subject("token:ci", "", issuer).name() != Principal::of_token("ci").name());
}

TEST_CASE("no principal has no name and no ids", "[mcp]") {
  const Principal none;
  CHECK(none.name().empty());
  CHECK_FALSE(none.peer());
  CHECK(none.uid() == static_cast<uid_t>(-1));
  CHECK(none.pid() == -1);
  CHECK(process(11, static_cast<uid_t>(-2)).name() == "uid:4294967294");
}

TEST_CASE("one principal has one account while a connection holds it", "[mcp]") {
  Loop loop;
  Accounts accounts(std::make_shared<mcp::UnreadBudget>(loop));
  auto first = accounts.of(process(11, 1000));
  first->connections = 3;
  CHECK(accounts.of(process(12, 1000)) == first);
  CHECK(accounts.of(process(11, 1001)) != first);
  CHECK(accounts.of(Principal()) != first);
  first.reset();
  CHECK(accounts.of(process(11, 1000))->connections == 0);
}

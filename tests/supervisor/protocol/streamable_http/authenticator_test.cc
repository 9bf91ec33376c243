// Tokens over TCP: which requests are let in, and how others are answered.
#include "supervisor/protocol/streamable_http/authenticator.h"

#include <sys/socket.h>

#include "supervisor/protocol/credentials/access_token.h"
#include "tests/supervisor/protocol/streamable_http/harness.h"

using namespace http_test;
using namespace std::chrono_literals;
using mcp_test::modern;
using streamable_http::Denial;
using streamable_http::DenialReason;
using streamable_http::FailedAttempts;
using streamable_http::TokenAuthenticator;

namespace {

credentials::StoredToken stored(const std::string& name, const std::string& text) {
  credentials::StoredToken token;
  token.name = name;
  token.hash = credentials::hash_of_token(text);
  return token;
}

http::IncomingRequest request_with(std::vector<std::string> authorizations) {
  http::IncomingRequest request;
  request.method = "POST";
  request.target = "/mcp";
  for (auto& authorization : authorizations) request.fields.emplace_back("authorization", std::move(authorization));
  return request;
}

std::string list_tools() { return modern_post(modern(1, "tools/list")); }
std::string list_tools(const std::string& token) {
  return modern_post(modern(1, "tools/list"), "Authorization: Bearer " + token + "\r\n");
}

struct TokenFixture : HttpFixture {
  const std::string ci = credentials::new_access_token(), ops = credentials::new_access_token();
  std::shared_ptr<TokenAuthenticator> tokens = std::make_shared<TokenAuthenticator>();
  TokenFixture() {
    http_limits.attempts.first_delay = 5ms;
    http_limits.attempts.max_delay = 20ms;
    tokens->set_tokens(credentials::TokenTable({stored("ci", ci), stored("ops", ops)}));
  }
  std::unique_ptr<HttpClient> connect(const std::string& address = "192.0.2.7") {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    http().serve_tcp(Fd(ends[0]), tokens, "10.0.0.1:9470", address);
    return std::make_unique<HttpClient>(loop, Fd(ends[1]));
  }
};

}  // namespace

TEST_CASE("one field Authorization with Bearer and a known token lets a request in") {
  const std::string good = credentials::new_access_token(), old = credentials::new_access_token();
  TokenAuthenticator tokens;
  auto expired = stored("old", old);
  expired.expires = credentials::rights_now();
  tokens.set_tokens(credentials::TokenTable({stored("ci", good), expired}));
  for (const std::string& field : {"Bearer " + good, "bearer " + good, "BEARER " + good}) {
    const auto principal = tokens.authenticate(request_with({field}));
    REQUIRE(principal);
    CHECK(principal->name() == "token:ci");
    CHECK_FALSE(principal->peer());
  }
  const auto reason = [&](std::vector<std::string> fields) {
    const auto principal = tokens.authenticate(request_with(std::move(fields)));
    REQUIRE_FALSE(principal);
    return principal.error().reason;
  };
  CHECK(reason({}) == DenialReason::no_token);
  for (const std::string& field : {std::string(), std::string("Bearer"), std::string("Bearer "), good, "Basic " + good,
                                   "Bearer  " + good, "Bearer " + good + " ", "Bearer " + good + ", " + good,
                                   "Bearer\t" + good, "Bearer=" + good, "Bearer " + std::string(100'000, 'a')}) {
    CAPTURE(field.substr(0, 40));
    CHECK(reason({field}) == DenialReason::malformed);
  }
  CHECK(reason({"Bearer " + good, "Bearer " + good}) == DenialReason::malformed);
  CHECK(reason({"Bearer " + good.substr(0, 51)}) == DenialReason::unknown);
  CHECK(reason({"Bearer " + credentials::hash_of_token(good)}) == DenialReason::unknown);
  CHECK(reason({"Bearer " + old}) == DenialReason::expired);
  http::IncomingRequest in_query = request_with({});
  in_query.target = "/mcp?access_token=" + good;
  CHECK_FALSE(tokens.authenticate(in_query));
  tokens.set_tokens({});
  CHECK(reason({"Bearer " + good}) == DenialReason::unknown);
}

TEST_CASE("a client cannot tell an unknown, an expired and a removed token apart") {
  TokenFixture fixture;
  const std::string old = credentials::new_access_token();
  auto expired = stored("old", old);
  expired.expires = credentials::rights_now();
  fixture.tokens->set_tokens(credentials::TokenTable({stored("ci", fixture.ci), expired}));
  std::string first;
  for (const std::string& request : {list_tools(old), list_tools(fixture.ops), list_tools("wrd_x")}) {
    auto client = fixture.connect();
    client->write(request);
    const Answer answer = client->answer();
    CHECK(answer.status == 401);
    CHECK(answer.header("WWW-Authenticate") == "Bearer error=\"invalid_token\"");
    CHECK(answer.body.find("expired") == std::string::npos);
    if (first.empty()) first = answer.head + answer.body;
    CHECK(answer.head + answer.body == first);
  }
  for (const auto& request : {list_tools(), modern_post(modern(1, "tools/list"), "Authorization: Basic x\r\n")}) {
    auto client = fixture.connect();
    client->write(request);
    CHECK(client->answer().header("WWW-Authenticate") == "Bearer");  // no token was sent
  }
  CHECK(fixture.admitted == 0);
  const auto& failed = fixture.endpoint->failed_attempts();
  CHECK(failed.count(DenialReason::no_token) == 1);
  CHECK(failed.count(DenialReason::expired) == 1);
  CHECK(failed.count(DenialReason::unknown) == 2);
  CHECK(failed.count(DenialReason::malformed) == 1);
  CHECK(failed.waiting() == 0);
}

TEST_CASE("each request of a connection is judged, so a token that is removed or expires lets no further one in") {
  TokenFixture fixture;
  auto client = fixture.connect();
  client->write(list_tools(fixture.ci));
  CHECK(client->answer().status == 200);
  client->write(list_tools(fixture.ops));  // another principal on the same connection
  CHECK(client->answer().status == 200);
  CHECK(fixture.admitted == 2);
  auto short_lived = stored("ci", fixture.ci);
  short_lived.expires = credentials::rights_now();
  fixture.tokens->set_tokens(credentials::TokenTable({short_lived}));
  client->write(list_tools(fixture.ci));
  CHECK(client->answer().status == 401);
  client = fixture.connect();
  client->write(list_tools(fixture.ops));
  CHECK(client->answer().status == 401);
}

TEST_CASE("connections of one token at one time share its place among the tenant's clients") {
  TokenFixture fixture;
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 20; i++) {
    clients.push_back(fixture.connect());
    clients.back()->write(list_tools(fixture.ci));
    CHECK(clients.back()->answer().status == 200);
  }
  CHECK(fixture.admitted == 1);
  // A user that is revoked is not given to the next connection.
  fixture.endpoint->close_if([](const std::shared_ptr<mcp::ConnectionUser>&) { return true; });
  auto next = fixture.connect();
  next->write(list_tools(fixture.ci));
  CHECK(next->answer().status == 200);
  CHECK(fixture.admitted == 2);
}

TEST_CASE("failed attempts wait longer and longer, and only so many at a time") {
  streamable_http::AttemptLimits limits;
  limits.waiting = 6, limits.waiting_of_address = 3, limits.addresses = 4;
  FailedAttempts failed(limits);
  const auto now = Monotonic::now();
  const Denial denial{DenialReason::unknown, {}};
  std::vector<FailedAttempts::Wait> waits;
  for (int i = 0; i < 3; i++) waits.push_back(*failed.note("10.0.0.1", denial, now));
  CHECK(waits[0].delay == 100ms);
  CHECK(waits[1].delay == 200ms);
  CHECK(waits[2].delay == 400ms);
  CHECK_FALSE(failed.note("10.0.0.1", denial, now));  // so many of this address
  CHECK(failed.note("10.0.0.2", denial, now)->delay == 100ms);
  waits.clear();
  CHECK(failed.waiting() == 0);
  CHECK(failed.note("10.0.0.1", denial, now)->delay == 1600ms);
  for (int i = 0; i < 50; i++) CHECK(failed.note("10.0.0.1", denial, now)->delay <= 5s);
  CHECK(failed.note("10.0.0.1", denial, now + 61s)->delay == 100ms);
  for (int i = 0; i < 6; i++) waits.push_back(*failed.note("10.1.0." + std::to_string(i), denial, now + 62s));
  CHECK(failed.addresses() == 4);
  CHECK_FALSE(failed.note("10.2.0.1", denial, now + 62s));  // so many in all
  CHECK(failed.count(DenialReason::unknown) == 64);
  waits.clear();
  CHECK(failed.note("10.2.0.1", denial, now + 62s));
}

TEST_CASE("an answer that waits holds no request of others, and is taken back with its connection") {
  TokenFixture fixture;
  fixture.http_limits.attempts.first_delay = 1h;
  fixture.http_limits.attempts.max_delay = 1h;
  fixture.http_limits.attempts.waiting = 2;
  auto first = fixture.connect(), second = fixture.connect("192.0.2.8"), third = fixture.connect("192.0.2.9");
  first->write(list_tools("wrd_x"));
  second->write(list_tools("wrd_x") + list_tools(fixture.ci));  // what follows a bad request is not looked at
  wait_until(fixture.loop, [&] { return fixture.endpoint->failed_attempts().waiting() == 2; });
  third->write(list_tools("wrd_x"));
  CHECK(third->at_end());  // no more answers wait
  CHECK(third->received().empty());
  auto good = fixture.connect();
  good->write(list_tools(fixture.ci));
  CHECK(good->answer().status == 200);
  CHECK(first->silent());
  CHECK(second->silent());
  first->close();
  wait_until(fixture.loop, [&] { return fixture.endpoint->failed_attempts().waiting() == 1; });
  second->write(std::string(2 << 20, 'x'));  // what comes meanwhile is bounded
  CHECK(second->at_end());
  wait_until(fixture.loop, [&] { return fixture.endpoint->failed_attempts().waiting() == 0; });
}

TEST_CASE("sessions and events of another token look as if they were unknown") {
  TokenFixture fixture;
  const std::string own = "Authorization: Bearer " + fixture.ci + "\r\n";
  const std::string foreign = "Authorization: Bearer " + fixture.ops + "\r\n";
  auto client = fixture.connect();
  const std::string session = fixture.begin_session(*client, "2025-11-25", own);
  const auto ask = [&](const std::string& request) {
    auto other = fixture.connect();
    other->write(request);
    const Answer answer = other->answer();
    return std::pair(answer.status, answer.body);
  };
  const std::string unknown(32, 'a');
  CHECK(ask(get(session, foreign)) == ask(get(unknown, foreign)));
  CHECK(ask(get(session, foreign)).first == 404);
  CHECK(ask(get(session, foreign + "Last-Event-ID: 1-1\r\n")).first == 404);
  std::string deleted = get(session, foreign);
  deleted.replace(0, 3, "DELETE");
  CHECK(ask(deleted).first == 404);
  const std::string ping = R"({"jsonrpc":"2.0","id":2,"method":"ping"})";
  CHECK(ask(post(ping, foreign + "Mcp-Session-Id: " + session + "\r\n")).first == 404);
  CHECK(ask(post(ping, own + "Mcp-Session-Id: " + session + "\r\n")).first == 200);  // it is still there
}

TEST_CASE("what a client began with a token ends when the token expires") {
  TokenFixture fixture;
  const auto table = [&](std::optional<credentials::WallTime> expires) {
    auto ci = stored("ci", fixture.ci);
    ci.expires = expires;
    fixture.tokens->set_tokens(credentials::TokenTable({ci, stored("ops", fixture.ops)}));
  };
  table(credentials::rights_now() + 2s);
  const std::string own = "Authorization: Bearer " + fixture.ci + "\r\n";
  const std::string other = "Authorization: Bearer " + fixture.ops + "\r\n";
  auto client = fixture.connect(), stream = fixture.connect(), stays = fixture.connect();
  const std::string session = fixture.begin_session(*client, "2025-11-25", own);
  const std::string peers = fixture.begin_session(*stays, "2025-11-25", other);
  stream->write(get(session, own));
  CHECK(fixture.http().sessions() == 2);
  wait_until(fixture.loop, [&] { return fixture.http().sessions() == 1; });
  CHECK(stream->at_end());
  stays->write(post(R"({"jsonrpc":"2.0","id":2,"method":"ping"})", other + "Mcp-Session-Id: " + peers + "\r\n"));
  CHECK(stays->answer().status == 200);
}

TEST_CASE("clients without credentials over TCP take no place of others") {
  TokenFixture fixture;
  fixture.http_limits.unknown_connections = 2;
  fixture.http_limits.connections = 5;
  auto peer = fixture.connect_http(), second_peer = fixture.connect_http();
  auto first = fixture.connect(), second = fixture.connect(), third = fixture.connect();
  CHECK(first->at_end());
  second->write(list_tools(fixture.ci));
  CHECK(second->answer().status == 200);  // known from now on
  third->write(list_tools(fixture.ci));
  CHECK(third->answer().status == 200);
  auto fourth = fixture.connect();
  auto fifth = fixture.connect();
  CHECK(fourth->at_end());  // the one without credentials, although others wait longer
  peer->write(list_tools());
  CHECK(peer->answer().status == 200);
  auto third_peer = fixture.connect_http();
  CHECK(fifth->at_end());
  third_peer->write(list_tools());
  CHECK(third_peer->answer().status == 200);
}

#include "tests/supervisor/protocol/streamable_http/harness.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

namespace http_test {

std::string Answer::header(std::string_view name) const {
  const size_t at = head.find(std::string(name) + ": ");
  if (at == head.npos) return {};
  const size_t begin = at + name.size() + 2;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

std::vector<Json> Answer::events() const {
  std::vector<Json> all;
  for (size_t at = 0; (at = body.find("data: ", at)) != body.npos;) {
    at += 6;
    const size_t end = body.find('\n', at);
    if (end == body.npos) break;
    if (end > at) all.push_back(Json::parse(body.substr(at, end - at)));
  }
  return all;
}

std::vector<std::string> Answer::event_ids() const {
  std::vector<std::string> all;
  for (size_t at = 0; (at = body.find("id: ", at)) != body.npos;) {
    at += 4;
    all.push_back(body.substr(at, body.find('\n', at) - at));
  }
  return all;
}

HttpClient::HttpClient(Loop& loop, Fd socket) : loop_(loop) {
  socket_ = AsyncFd::adopt(loop, std::move(socket)).value();
  reader_.emplace(read());
  reader_->resume();
}

Task<> HttpClient::read() {
  char chunk[65536];
  for (;;) {
    co_await socket_.readable();
    const ssize_t got = ::recv(socket_.get(), chunk, sizeof chunk, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) continue;
    if (got <= 0) break;
    received_.append(chunk, static_cast<size_t>(got));
  }
  ended_ = true;
}

void HttpClient::write(std::string_view bytes) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN) return;  // the server has hung up; the test will see that
    if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
    uv_run(loop_.uv(), UV_RUN_NOWAIT);
    if (std::chrono::steady_clock::now() > until) FAIL("the server takes no more and does not hang up");
  }
}

// Reads the first answer in received_; `head` is empty until its head is whole.
Answer HttpClient::parse() const {
  Answer answer;
  const size_t end = received_.find("\r\n\r\n");
  if (end == received_.npos) return answer;
  answer.head = received_.substr(0, end + 2);
  answer.status = std::stoi(answer.head.substr(9, 3));
  size_t at = end + 4;
  if (answer.status == 100) {
    answer.full = true;
  } else if (answer.header("Transfer-Encoding") == "chunked") {
    while (true) {
      const size_t line = received_.find("\r\n", at);
      if (line == received_.npos) return answer;
      const size_t size = std::stoul(received_.substr(at, line - at), nullptr, 16);
      if (received_.size() < line + 2 + size + 2) return answer;
      answer.body += received_.substr(line + 2, size);
      at = line + 2 + size + 2;
      if (size > 0) continue;
      answer.full = true;
      break;
    }
  } else if (const std::string length = answer.header("Content-Length"); !length.empty()) {
    answer.body = received_.substr(at, std::stoul(length));
    at += std::stoul(length);
    answer.full = received_.size() >= at;
  } else {
    answer.body = received_.substr(at);
    answer.full = ended_;
    at = received_.size();
  }
  answer.head += fmt::format("X-Test-Bytes: {}\r\n", at);
  return answer;
}

Answer HttpClient::answer() {
  wait_until(loop_, [&] { return parse().full || ended_; });
  Answer answer = parse();
  if (!answer.full) FAIL("the server ended the connection instead of answering: " << received_);
  received_.erase(0, std::stoul(answer.header("X-Test-Bytes")));
  return answer;
}

Answer HttpClient::partly(const std::function<bool(const Answer&)>& done) {
  wait_until(loop_, [&] {
    const Answer answer = parse();
    return answer.status != 0 && done(answer);
  });
  return parse();
}

bool HttpClient::at_end() {
  wait_until(loop_, [&] { return ended_; });
  return ended_;
}

bool HttpClient::silent() {
  settle(loop_);
  return received_.empty();
}

void HttpClient::close() {
  reader_.reset();
  socket_.close();
}

tl::expected<mcp::Principal, streamable_http::Denial> NamedAuthenticator::authenticate(
    const http::IncomingRequest& request) const {
  const std::string* message = request.field("authorization");
  if (!message || !message->starts_with("Bearer ")) return tl::unexpected(streamable_http::Denial{});
  // The names of principals differ by user id.
  return mcp::Principal(mcp::PeerProcess{1, static_cast<uid_t>(70'000 + std::stoi(message->substr(7))), 1, {}});
}

streamable_http::HttpEndpoint& HttpFixture::http() {
  if (!endpoint) {
    auto admit = [this](const mcp::Principal& principal) -> Result<std::shared_ptr<mcp::ConnectionUser>> {
      admitted++;
      if (principal.uid() == 70'099) return fail(Code::denied, "this user has no tenant", "ask for one");
      return std::make_shared<mcp_test::NamedUser>(principal.name());
    };
    endpoint = std::make_unique<streamable_http::HttpEndpoint>(loop, server, admit, settings, http_limits);
  }
  return *endpoint;
}

namespace {
std::pair<Fd, Fd> socket_pair() {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}
}  // namespace

std::unique_ptr<HttpClient> HttpFixture::connect_http() {
  auto [near, far] = socket_pair();
  mcp::Conversation::Client client;
  client.principal = mcp::Principal(mcp::PeerProcess{::getpid(), ::getuid(), ::getgid(), {}});
  client.account = server.accounts().of(client.principal);
  client.user = std::make_shared<mcp_test::NamedUser>(client.principal.name());
  http().serve_peer(std::move(near), {}, std::move(client));
  return std::make_unique<HttpClient>(loop, std::move(far));
}

std::unique_ptr<HttpClient> HttpFixture::connect_tcp() {
  auto [near, far] = socket_pair();
  http().serve_tcp(std::move(near), std::make_shared<NamedAuthenticator>(), "10.0.0.1:9470");
  return std::make_unique<HttpClient>(loop, std::move(far));
}

std::string HttpFixture::begin_session(HttpClient& client, const std::string& version, const std::string& headers) {
  const Json hello = {{"protocolVersion", version},
                      {"capabilities", {{"elicitation", Json::object()}}},
                      {"clientInfo", {{"name", "t"}, {"version", "0"}}}};
  client.write(post(mcp_test::request("hello", "initialize", hello).dump(), headers));
  const Answer answer = client.answer();
  REQUIRE(answer.status == 200);
  CHECK(answer.json()["result"]["protocolVersion"] == version);
  const std::string id = answer.header("Mcp-Session-Id");
  REQUIRE(id.size() == 32);
  return id;
}

std::string post(const std::string& body, const std::string& headers) {
  return fmt::format(
      "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, "
      "text/event-stream\r\n{}Content-Length: {}\r\n\r\n{}",
      headers, body.size(), body);
}

std::string modern_post(const Json& message, const std::string& headers) {
  std::string all =
      headers + "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " + message["method"].get<std::string>() + "\r\n";
  const Json& params = message["params"];
  if (params.contains("name")) all += "Mcp-Name: " + params["name"].get<std::string>() + "\r\n";
  return post(message.dump(), all);
}

std::string session_post(const std::string& session, const Json& message) {
  return post(message.dump(), "Mcp-Session-Id: " + session + "\r\n");
}

std::string get(const std::string& session, const std::string& headers) {
  return fmt::format(
      "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: {}\r\n{}\r\n", session,
      headers);
}

}  // namespace http_test

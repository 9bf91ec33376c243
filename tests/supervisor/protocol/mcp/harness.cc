#include "tests/supervisor/protocol/mcp/harness.h"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

using namespace std::chrono_literals;

namespace mcp_test {

void wait_until(Loop& loop, const std::function<bool()>& done, std::chrono::milliseconds bound) {
  bool late = false;
  Deadline deadline(loop, bound, [&] { late = true; });
  loop.run_until([&] { return late || done(); });
  if (!done()) FAIL("what the test waits for did not come in " << bound.count() << " ms");
}

void settle(Loop& loop) {
  for (int turn = 0; turn < 20; turn++) uv_run(loop.uv(), UV_RUN_NOWAIT);
}

Client::Client(Loop& loop, Fd socket) : loop_(loop) {
  socket_ = AsyncFd::adopt(loop, std::move(socket)).value();
  start_reading();
}

void Client::start_reading() {
  reader_.emplace(read());
  reader_->resume();
}

std::unique_ptr<Client> Client::connect(Loop& loop, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return nullptr;
  return std::make_unique<Client>(loop, std::move(socket));
}

Task<> Client::read() {
  char chunk[65536];
  for (;;) {
    co_await socket_.readable();
    const ssize_t got = ::recv(socket_.get(), chunk, sizeof chunk, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) continue;
    if (got <= 0) break;
    partial_.append(chunk, static_cast<size_t>(got));
    size_t start = 0;
    for (size_t end; (end = partial_.find('\n', start)) != partial_.npos; start = end + 1) {
      lines_.push_back(partial_.substr(start, end - start));
    }
    partial_.erase(0, start);
  }
  ended_ = true;
}

void Client::write(std::string_view bytes) {
  auto used = std::chrono::steady_clock::now();
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN) return;  // the server has hung up; the test will see that
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      used = std::chrono::steady_clock::now();
    }
    uv_run(loop_.uv(), UV_RUN_NOWAIT);  // the server makes room; one turn may take long
    if (!bytes.empty() && std::chrono::steady_clock::now() - used > 30s)
      FAIL("the server takes no more and does not hang up");
  }
}

std::string Client::line() {
  wait_until(loop_, [&] { return !lines_.empty() || ended_; });
  if (lines_.empty()) FAIL("the server ended the connection instead of answering");
  std::string first = std::move(lines_.front());
  lines_.pop_front();
  return first;
}

bool Client::silent() {
  settle(loop_);
  return lines_.empty();
}

bool Client::at_end() {
  wait_until(loop_, [&] { return ended_; });
  return ended_;
}

void Client::half_close() { ::shutdown(socket_.get(), SHUT_WR); }

void Client::close() {
  reader_.reset();
  socket_.close();
}

namespace {

struct Alive {
  Fixture& fixture;
  bool finished = false;
  explicit Alive(Fixture& of) : fixture(of) { fixture.reserved++; }
  ~Alive() {
    fixture.reserved--;
    if (!finished) fixture.cancelled++;
  }
};

mcp::ToolDefinition tool(std::string name, Json properties = Json::object(), std::vector<std::string> required = {}) {
  mcp::ToolDefinition definition;
  definition.name = std::move(name);
  definition.description = "For tests.";
  definition.input_schema = {{"type", "object"},
                             {"properties", std::move(properties)},
                             {"required", required},
                             {"additionalProperties", false}};
  return definition;
}

}  // namespace

Fixture::Fixture() : server(loop, {"test", "1.2.3", "Test", "Be kind."}) {
  server.enable_logging();
  auto echo = tool("echo", {{"text", {{"type", "string"}, {"maxLength", 20'000'000}}}}, {"text"});
  echo.annotations.read_only = true;
  server.add_tool(std::move(echo), [](mcp::RequestContext&, Json arguments) -> Task<mcp::ToolResult> {
    co_return mcp::ToolResult::text(arguments["text"].get<std::string>());
  });
  server.add_tool(tool("hold", {{"name", {{"type", "string"}}}}),
                  [this](mcp::RequestContext& context, Json arguments) -> Task<mcp::ToolResult> {
                    last_context = &context;
                    Alive alive(*this);
                    auto event = std::make_shared<Event>();
                    holds[arguments.value("name", "")] = event;
                    co_await *event;
                    alive.finished = true;
                    co_return mcp::ToolResult::text("released " + arguments.value("name", ""));
                  });
  server.add_tool(tool("steps"), [](mcp::RequestContext& context, Json) -> Task<mcp::ToolResult> {
    context.progress(1, 3, "one");
    context.progress(1, 3, "again");  // not greater: not sent
    context.progress(0.5);
    context.progress(2.5, 3, "more \xff than half");
    co_return mcp::ToolResult::text("done");
  });
  server.add_tool(tool("log"), [](mcp::RequestContext& context, Json) -> Task<mcp::ToolResult> {
    co_await context.log(mcp::Severity::debug, "fine");
    co_await context.log(mcp::Severity::error, "bad", "test");
    co_return mcp::ToolResult::text("logged");
  });
  server.add_tool(tool("boom"), [](mcp::RequestContext&, Json) -> Task<mcp::ToolResult> {
    throw std::runtime_error("secret detail");
    co_return mcp::ToolResult::text("");
  });
  server.add_tool(tool("big", {{"bytes", {{"type", "integer"}, {"minimum", 0}}}}, {"bytes"}),
                  [](mcp::RequestContext&, Json arguments) -> Task<mcp::ToolResult> {
                    co_return mcp::ToolResult::text(std::string(arguments["bytes"].get<size_t>(), 'x'));
                  });
  auto data = tool("data");
  data.output_schema = {{"type", "object"}, {"required", {"a", "b"}}};
  server.add_tool(std::move(data), [](mcp::RequestContext&, Json) -> Task<mcp::ToolResult> {
    Json value = {{"b", 1}, {"a", 2}};
    co_return mcp::ToolResult::data(std::move(value));
  });
  auto needy = tool("needs_sampling");
  needy.client_capabilities = {"sampling"};
  server.add_tool(std::move(needy),
                  [](mcp::RequestContext&, Json) -> Task<mcp::ToolResult> { co_return mcp::ToolResult::text("fine"); });
  auto wait = tool("wait", {{"filling", {{"type", "string"}}}});
  wait.queues = true;
  server.add_tool(std::move(wait), [this](mcp::RequestContext&, Json) -> Task<mcp::ToolResult> {
    Alive alive(*this);
    auto never = std::make_shared<Event>();
    co_await *never;
    co_return mcp::ToolResult::text("");
  });
}

std::unique_ptr<Client> Fixture::connect(mcp::Connection::Accepted accepted) {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  const size_t index = connections.size();
  connections.emplace_back();
  auto connection = mcp::Connection::open(loop, server, Fd(ends[0]), std::move(accepted), limits,
                                          [this, index] { connections[index].reset(); });
  REQUIRE(connection);
  connections[index] = *std::move(connection);
  return std::make_unique<Client>(loop, Fd(ends[1]));
}

std::unique_ptr<Client> Fixture::legacy(const std::string& version) {
  auto client = connect();
  const Json hello = {{"protocolVersion", version},
                      {"capabilities", Json::object()},
                      {"clientInfo", {{"name", "t"}, {"version", "0"}}}};
  const Json answer = client->ask(request("hello", "initialize", hello));
  REQUIRE(answer["result"]["protocolVersion"] == version);
  client->send(Json{{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}});
  return client;
}

Json request(const Json& id, const std::string& method, Json params) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}};
}

Json modern(const Json& id, const std::string& method, Json params) {
  params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28";
  if (!params["_meta"].contains("io.modelcontextprotocol/clientCapabilities")) {
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = Json::object();
  }
  return request(id, method, std::move(params));
}

Json call(const Json& id, const std::string& name, Json arguments) {
  return request(id, "tools/call", {{"name", name}, {"arguments", std::move(arguments)}});
}

Json cancel(const Json& id) {
  return {{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", id}}}};
}

size_t open_descriptors() {
  size_t count = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) count++;
  ::closedir(folder);
  return count;
}

}  // namespace mcp_test

// Bytes of an HTTP client, through a whole endpoint with tools behind it: sessions, streams, calls, hang-ups. The first
// byte says how the rest is cut. "SESSION" in the bytes is replaced by the id of a session that exists.
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/protocol/mcp/parked_calls.h"
#include "supervisor/protocol/streamable_http/endpoint.h"

namespace {

constexpr std::string_view kPlaceholder = "SESSION";
constexpr std::string_view kHello =
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 106\r\n\r\n"
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}})";

void require(bool holds) {
  if (!holds) std::abort();
}

struct World {
  Loop loop;
  mcp::Server server{loop, {"fuzz", "0", "", ""}};
  size_t reserved = 0;

  World() {
    set_log_level(LogLevel::error);
    server.set_tool_choice({});
    mcp::ToolDefinition echo;
    echo.name = "echo";
    echo.input_schema = {{"type", "object"}, {"properties", {{"text", {{"type", "string"}}}}}};
    server.add_tool(std::move(echo), [](mcp::RequestContext& context, Json arguments) -> Task<mcp::ToolResult> {
      context.progress(1, 2, "x");
      co_await next_turn(context.loop);
      context.progress(2, 2);
      co_return mcp::ToolResult::text(arguments.value("text", ""));
    });
    mcp::ToolDefinition definition;
    definition.name = "hold";
    server.add_tool(std::move(definition), [this](mcp::RequestContext& context, Json) -> Task<mcp::ToolResult> {
      struct Held {
        size_t& count;
        explicit Held(size_t& of) : count(of) { count++; }
        ~Held() { count--; }
      } alive(reserved);
      Event answered;
      const auto question = context.elicit({"go on?"}, [&answered](mcp::Elicited) { answered.fire(); });
      co_await answered;
      co_return mcp::ToolResult::text("");
    });
  }
};

// A client's end of a connection to the endpoint.
struct Far {
  World& world;
  Fd socket;
  std::string received;
  void turn(int times) {
    for (int i = 0; i < times; i++) {
      uv_run(world.loop.uv(), UV_RUN_NOWAIT);
      char chunk[65536];
      for (ssize_t got; (got = ::recv(socket.get(), chunk, sizeof chunk, MSG_DONTWAIT)) > 0;)
        received.append(chunk, static_cast<size_t>(got));
    }
  }
  void write(std::string_view bytes, size_t piece) {
    while (!bytes.empty()) {
      const ssize_t sent =
          ::send(socket.get(), bytes.data(), std::min(piece, bytes.size()), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno != EAGAIN) return;
      if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
      turn(1);
    }
  }
};

Far connect(World& world, streamable_http::HttpEndpoint& endpoint) {
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  mcp::Conversation::Client client;
  client.principal = mcp::Principal(mcp::PeerProcess{1, 1, 1, {}});
  client.account = world.server.accounts().of(client.principal);
  endpoint.serve_peer(Fd(ends[0]), {}, std::move(client));
  return {world, Fd(ends[1]), {}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static World* world = new World;  // never destroyed: the fuzzer leaves by _exit()
  if (size == 0) return 0;
  auto admit = [](const mcp::Principal&) -> Result<std::shared_ptr<mcp::ConnectionUser>> {
    return std::shared_ptr<mcp::ConnectionUser>();
  };
  streamable_http::EndpointLimits limits;
  limits.connection.request.body_bytes = 4096;
  limits.session.stream.replay_bytes = 1024;
  std::optional<streamable_http::HttpEndpoint> endpoint;
  endpoint.emplace(world->loop, world->server, admit, streamable_http::HttpSettings{}, limits);

  Far first = connect(*world, *endpoint);
  first.write(kHello, kHello.size());
  first.turn(4);
  const size_t at = first.received.find("Mcp-Session-Id: ");
  require(at != first.received.npos);
  const std::string session = first.received.substr(at + 16, 32);
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (size_t index = 0; (index = bytes.find(kPlaceholder, index)) != bytes.npos;)
    bytes.replace(index, kPlaceholder.size(), session);

  // "\n----\n" ends one connection and begins another.
  constexpr std::string_view kNext = "\n----\n";
  std::string_view rest = bytes;
  for (int connections = 0; !rest.empty() && connections < 4; connections++) {
    const size_t end = rest.find(kNext);
    Far far = connect(*world, *endpoint);
    far.write(rest.substr(0, end), data[0] == 0 ? 1 : data[0] * 16u);
    far.turn(8);
    require(far.received.empty() || far.received.starts_with("HTTP/1.1 "));
    rest.remove_prefix(end == rest.npos ? rest.size() : end + kNext.size());
  }
  first.socket.reset();
  for (int i = 0; endpoint->connections() > 0 && i < 1000; i++) uv_run(world->loop.uv(), UV_RUN_NOWAIT);
  require(endpoint->connections() == 0);
  endpoint.reset();
  for (int i = 0; i < 8; i++) uv_run(world->loop.uv(), UV_RUN_NOWAIT);
  // Calls that were answered with questions wait for their repetition.
  require(world->reserved == world->server.parked_calls().count("uid:1"));
  require(world->server.calls() == world->reserved);
  return 0;
}

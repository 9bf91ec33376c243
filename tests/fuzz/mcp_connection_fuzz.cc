// Bytes of a client, through a whole connection with tools behind it: handshakes, calls, cancels, batches, the end.
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/protocol/mcp/connection.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

struct World {
  Loop loop;
  mcp::Server server{loop, {"fuzz", "0", "", ""}};
  size_t reserved = 0;

  World() {
    set_log_level(LogLevel::error);
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
    server.add_tool(std::move(definition), [this](mcp::RequestContext&, Json) -> Task<mcp::ToolResult> {
      struct Held {
        size_t& count;
        explicit Held(size_t& of) : count(of) { count++; }
        ~Held() { count--; }
      } alive(reserved);
      Event never;
      co_await never;
      co_return mcp::ToolResult::text("");
    });
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static World* world = new World;  // never destroyed: the fuzzer leaves by _exit()
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  Fd far(ends[1]);
  mcp::ConnectionLimits limits;
  limits.line_bytes = 4096;
  limits.calls = 8;
  std::unique_ptr<mcp::Connection> connection;
  auto opened = mcp::Connection::open(world->loop, world->server, Fd(ends[0]), {}, limits, [&] { connection.reset(); });
  require(opened.has_value());
  connection = *std::move(opened);

  auto turn = [&](int times) {
    for (int i = 0; i < times; i++) uv_run(world->loop.uv(), UV_RUN_NOWAIT);
  };
  std::string received;
  char chunk[65536];
  auto read_all = [&] {
    for (ssize_t got; (got = ::recv(far.get(), chunk, sizeof chunk, MSG_DONTWAIT)) > 0;) {
      received.append(chunk, static_cast<size_t>(got));
    }
  };
  size_t sent = 0;
  while (sent < size && connection) {
    const ssize_t n = ::send(far.get(), data + sent, std::min<size_t>(size - sent, 1000), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) sent += static_cast<size_t>(n);
    turn(2);
    read_all();
  }
  if (size > 0 && data[0] % 2 == 0) ::shutdown(far.get(), SHUT_WR);
  turn(20);
  read_all();
  far.reset();
  for (int i = 0; connection && i < 1000; i++) turn(1);
  require(connection == nullptr);
  require(world->reserved == 0);
  require(world->server.calls() == 0);

  size_t start = 0;
  for (size_t end; (end = received.find('\n', start)) != received.npos; start = end + 1) {
    require(Json::accept(std::string_view(received).substr(start, end - start)));
  }
  require(start == received.size());  // whole lines only
  return 0;
}

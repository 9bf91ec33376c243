// A server with the fixtures that the official conformance suite calls, for it and for SDK clients to be pointed at.
//   mcp_fixture_server PATH      serves until SIGTERM or SIGINT, then drains
// Serves lines and HTTP at the Unix socket PATH, and HTTP at a free port of 127.0.0.1, without tokens. Prints
// "http://127.0.0.1:PORT/mcp" when it listens. Names and texts are those of the suite's scenarios; those that ask the
// client are in fixture_questions.cc, those of tasks in fixture_tasks.cc.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/protocol/mcp/listener.h"
#include "supervisor/protocol/mcp/server.h"
#include "supervisor/protocol/mcp/task_calls.h"
#include "supervisor/protocol/streamable_http/endpoint.h"
#include "supervisor/protocol/streamable_http/listener.h"
#include "tests/supervisor/protocol/mcp/fixture_questions.h"
#include "tests/supervisor/protocol/mcp/fixture_tasks.h"

using namespace std::chrono_literals;

namespace {

constexpr const char* kPng =  // one red pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
constexpr const char* kWav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQAAAAA=";  // without a sample

mcp::ResourceContents text_resource(std::string uri, std::string mime_type, std::string text) {
  return {std::move(uri), std::move(mime_type), mcp::ResourceContents::Kind::text, std::move(text)};
}

mcp::ToolDefinition tool(std::string name, std::string description, Json properties = Json::object()) {
  mcp::ToolDefinition definition;
  definition.name = std::move(name);
  definition.description = std::move(description);
  definition.input_schema = {{"type", "object"}, {"properties", std::move(properties)}};
  return definition;
}

// A tool that always answers the same.
void add_constant(mcp::Server& server, std::string name, std::string description, mcp::ToolResult answer) {
  server.add_tool(tool(std::move(name), std::move(description)),
                  [answer](mcp::RequestContext&, Json) -> Task<mcp::ToolResult> { co_return answer; });
}

void add_content_tools(mcp::Server& server) {
  add_constant(server, "test_simple_text", "Answers with text.",
               mcp::ToolResult::text("This is a simple text response for testing."));
  mcp::ToolResult answer;
  answer.content = {mcp::Image{kPng, "image/png"}};
  add_constant(server, "test_image_content", "Answers with an image.", answer);
  answer.content = {mcp::Audio{kWav, "audio/wav"}};
  add_constant(server, "test_audio_content", "Answers with audio.", answer);
  answer.content = {text_resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")};
  add_constant(server, "test_embedded_resource", "Answers with a resource.", answer);
  answer.content = {
      mcp::Text{"Multiple content types test:"}, mcp::Image{kPng, "image/png"},
      text_resource("test://mixed-content-resource", "application/json", R"({"test":"data","value":123})")};
  add_constant(server, "test_multiple_content_types", "Answers with text, an image and a resource.", answer);
  add_constant(server, "test_error_handling", "Always fails.",
               mcp::ToolResult::error("This tool intentionally returns an error for testing"));
}

void add_behaving_tools(mcp::Server& server) {
  server.add_tool(tool("test_tool_with_logging", "Logs three times."),
                  [](mcp::RequestContext& context, Json) -> Task<mcp::ToolResult> {
                    co_await context.log(mcp::Severity::info, "Tool execution started");
                    co_await sleep_for(context.loop, 50ms);
                    co_await context.log(mcp::Severity::info, "Tool processing data");
                    co_await sleep_for(context.loop, 50ms);
                    co_await context.log(mcp::Severity::info, "Tool execution completed");
                    co_return mcp::ToolResult::text("Tool with logging executed successfully");
                  });
  server.add_tool(tool("test_logging_tool", "Logs once."),
                  [](mcp::RequestContext& context, Json) -> Task<mcp::ToolResult> {
                    co_await context.log(mcp::Severity::info, "test_logging_tool was called");
                    co_return mcp::ToolResult::text("logged");
                  });
  server.add_tool(tool("test_tool_with_progress", "Reports 0, 50 and 100 of 100."),
                  [](mcp::RequestContext& context, Json) -> Task<mcp::ToolResult> {
                    for (const int percent : {0, 50, 100}) {
                      if (percent > 0) co_await sleep_for(context.loop, 50ms);
                      context.progress(percent, 100);
                    }
                    co_return mcp::ToolResult::text("Tool with progress executed successfully");
                  });
  auto needs_sampling = tool("test_missing_capability", "Needs a client that can sample.");
  needs_sampling.client_capabilities = {"sampling"};
  server.add_tool(std::move(needs_sampling), [](mcp::RequestContext&, Json) -> Task<mcp::ToolResult> {
    co_return mcp::ToolResult::text("The client can sample.");
  });
  auto with_schema = tool("json_schema_2020_12_tool", "Its schema uses every keyword that must be kept.");
  with_schema.input_schema = Json::parse(R"({
    "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object",
                          "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
                   "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                   "phone": {"type": "string"}, "email": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": false})");
  server.add_tool(std::move(with_schema), [](mcp::RequestContext&, Json arguments) -> Task<mcp::ToolResult> {
    co_return mcp::ToolResult::text(dump_json(arguments));
  });
  // For load and for clients' tests of our own: any text back, and a wait that can be cancelled.
  server.add_tool(tool("echo", "Answers with what it is given.", {{"text", {{"type", "string"}}}}),
                  [](mcp::RequestContext&, Json arguments) -> Task<mcp::ToolResult> {
                    co_return mcp::ToolResult::text(arguments.value("text", ""));
                  });
  server.add_tool(
      tool("wait", "Answers later.", {{"milliseconds", {{"type", "integer"}, {"minimum", 0}, {"maximum", 60000}}}}),
      [](mcp::RequestContext& context, Json arguments) -> Task<mcp::ToolResult> {
        const std::chrono::milliseconds duration(arguments.value("milliseconds", 0));
        co_await sleep_for(context.loop, duration);
        co_return mcp::ToolResult::text("waited");
      });
}

Result<std::vector<mcp::ResourceContents>> contents_of(const std::string& uri) {
  std::vector<mcp::ResourceContents> contents;
  constexpr std::string_view kBefore = "test://template/", kAfter = "/data";
  if (uri == "test://static-text") {
    contents.push_back(text_resource(uri, "text/plain", "This is the content of the static text resource."));
  } else if (uri == "test://static-binary") {
    contents.push_back({uri, "image/png", mcp::ResourceContents::Kind::blob, kPng});
  } else if (uri == "test://watched-resource") {
    contents.push_back(text_resource(uri, "text/plain", "Watched resource content"));
  } else if (uri.starts_with(kBefore) && uri.ends_with(kAfter) && uri.size() > kBefore.size() + kAfter.size()) {
    const std::string id = uri.substr(kBefore.size(), uri.size() - kBefore.size() - kAfter.size());
    const Json value = {{"id", id}, {"templateTest", true}, {"data", "Data for ID: " + id}};
    contents.push_back(text_resource(uri, "application/json", dump_json(value)));
  } else {
    return fail(Code::not_found, "no resource '" + uri + "'");
  }
  return contents;
}

void add_resources(mcp::Server& server) {
  mcp::ResourceProvider provider;
  provider.list = [](mcp::RequestContext&, std::string) -> Task<Result<mcp::ResourcePage>> {
    mcp::ResourcePage page;
    page.resources.push_back({"test://static-text", "Static Text", "", "Never changes.", "text/plain", {}});
    page.resources.push_back({"test://static-binary", "Static Binary", "", "One pixel.", "image/png", {}});
    page.resources.push_back({"test://watched-resource", "Watched", "", "For subscriptions.", "text/plain", {}});
    co_return page;
  };
  provider.read = [](mcp::RequestContext&, std::string uri) -> Task<Result<std::vector<mcp::ResourceContents>>> {
    co_return contents_of(uri);
  };
  provider.changes = mcp::ResourceProvider::Changes::reported;
  provider.templates = {{"test://template/{id}/data", "Template", "", "Data by id.", "application/json"}};
  server.add_resources(std::move(provider));
}

mcp::PromptMessage reply(mcp::Block content) { return {mcp::PromptMessage::Role::user, std::move(content)}; }

void add_prompts(mcp::Server& server) {
  using enum mcp::PromptArgument::Need;
  using Answer = Task<Result<mcp::PromptResult>>;
  server.add_prompt({"test_simple_prompt", "", "Without arguments.", {}}, [](mcp::RequestContext&, Json) -> Answer {
    mcp::PromptResult result;
    result.messages.push_back(reply(mcp::Text{"This is a simple prompt for testing."}));
    co_return result;
  });
  server.add_prompt(
      {"test_prompt_with_arguments", "", "With two.", {{"arg1", "First.", required}, {"arg2", "Second.", required}}},
      [](mcp::RequestContext&, Json arguments) -> Answer {
        mcp::PromptResult result;
        result.messages.push_back(
            reply(mcp::Text{"Prompt with arguments: arg1='" + arguments["arg1"].get<std::string>() + "', arg2='" +
                            arguments["arg2"].get<std::string>() + "'"}));
        co_return result;
      });
  server.add_prompt(
      {"test_prompt_with_embedded_resource", "", "With a resource.", {{"resourceUri", "Which.", required}}},
      [](mcp::RequestContext&, Json arguments) -> Answer {
        mcp::PromptResult result;
        result.messages.push_back(reply(text_resource(arguments["resourceUri"].get<std::string>(), "text/plain",
                                                      "Embedded resource content for testing.")));
        result.messages.push_back(reply(mcp::Text{"Please process the embedded resource above."}));
        co_return result;
      });
  server.add_prompt({"test_prompt_with_image", "", "With an image.", {}}, [](mcp::RequestContext&, Json) -> Answer {
    mcp::PromptResult result;
    result.messages.push_back(reply(mcp::Image{kPng, "image/png"}));
    result.messages.push_back(reply(mcp::Text{"Please analyze the image above."}));
    co_return result;
  });
  server.add_completion([](mcp::RequestContext&, mcp::CompletionRequest) -> Task<Result<mcp::Completion>> {
    mcp::Completion completion;
    completion.total = 0;
    co_return completion;
  });
}

uv_signal_t on_terminate, on_interrupt;

void stop(Loop& loop) {
  uv_close(reinterpret_cast<uv_handle_t*>(&on_terminate), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&on_interrupt), nullptr);
  loop.stop();
}

Task<> stop_when_drained(Loop& loop, mcp::Server& server) {
  // A call whose client never answers its question is kept for ten minutes.
  Deadline enough(loop, std::chrono::seconds(5), [&loop] { stop(loop); });
  co_await server.drained();
  enough = Deadline();
  stop(loop);
}

struct Daemon {
  Loop& loop;
  mcp::Server& server;
  streamable_http::HttpEndpoint& http;
  std::unique_ptr<mcp::Listener> listener;
  std::unique_ptr<streamable_http::HttpListener> http_listener;
};

// Every client over TCP is this process's user: the suite sends no tokens.
class NoQuestions : public streamable_http::Authenticator {
 public:
  tl::expected<mcp::Principal, streamable_http::Denial> authenticate(const http::IncomingRequest&) const override {
    return mcp::Principal(mcp::PeerProcess{::getpid(), ::getuid(), ::getgid(), {}});
  }
};

Fd listen_at_any_port() {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  if (::bind(socket.get(), where, sizeof address) < 0 || ::listen(socket.get(), 1024) < 0) return {};
  return socket;
}

void watch(Daemon& daemon, uv_signal_t& handle, int signal) {
  uv_signal_init(daemon.loop.uv(), &handle);
  handle.data = &daemon;
  uv_signal_start(
      &handle,
      [](uv_signal_t* h, int) {
        auto& stopping = *static_cast<Daemon*>(h->data);
        if (stopping.server.draining()) return;
        stopping.listener->stop();
        stopping.http_listener->stop();
        stopping.http.pause();
        stopping.server.drain();
        stopping.loop.spawn(stop_when_drained(stopping.loop, stopping.server));
      },
      signal);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s SOCKET\n", argv[0]);
    return 2;
  }
  Loop loop;
  tasks::MemoryTaskDisk task_disk;
  tasks::TaskStore task_store(loop, task_disk);
  mcp::Server server(loop, {"mcp-fixture", "1.0.0", "MCP fixtures", "Fixtures of the conformance suite."});
  server.enable_logging();
  add_content_tools(server);
  add_behaving_tools(server);
  add_resources(server);
  add_prompts(server);
  add_asking_fixtures(server);
  add_task_fixtures(server);
  server.set_tasks(task_store, {});

  auto socket = mcp::listen_at(argv[1], 0600);
  if (!socket) {
    log_error("{}", socket.error().what);
    return 1;
  }
  auto admit = [](const mcp::Principal&) -> Result<std::shared_ptr<mcp::ConnectionUser>> {
    return std::shared_ptr<mcp::ConnectionUser>();
  };
  auto listener = mcp::Listener::open(loop, server, *std::move(socket), {}, admit);
  if (!listener) {
    log_error("{}", listener.error().what);
    return 1;
  }
  streamable_http::HttpEndpoint http(loop, server, admit);
  (*listener)->set_http([&http](Fd client_socket, std::string_view bytes, mcp::Conversation::Client client) {
    http.serve_peer(std::move(client_socket), bytes, std::move(client));
  });
  auto http_listener =
      streamable_http::HttpListener::open(loop, http, listen_at_any_port(), std::make_shared<NoQuestions>());
  if (!http_listener) {
    log_error("{}", http_listener.error().what);
    return 1;
  }
  std::printf("http://%s/mcp\n", (*http_listener)->address().c_str());
  std::fflush(stdout);
  Daemon daemon{loop, server, http, *std::move(listener), *std::move(http_listener)};
  watch(daemon, on_terminate, SIGTERM);
  watch(daemon, on_interrupt, SIGINT);
  loop.run();
  return 0;
}

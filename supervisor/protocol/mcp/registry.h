// ToolDefinition, ResourceProvider, Prompt and the other types of definitions and handlers that a server offers.
// Source: the program with the server, which registers them at start. Used by: server.cc.
// Handlers are coroutines on the loop. A request is cancelled by destroying its handler: the destructors of the
// handler's variables must free all resources. An exception from a handler is a bug: it is logged, and the client gets
// the error -32603.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"
#include "supervisor/protocol/mcp/arguments.h"
#include "supervisor/protocol/mcp/content.h"

namespace mcp {

class RequestContext;

struct ServerInfo {
  std::string name;
  std::string version;
  std::string title;         // optional
  std::string instructions;  // optional; clients cut it at 2,048 characters
};

// Hints for clients about a tool's effects. The defaults are the specification's defaults.
struct Annotations {
  std::string title;
  bool read_only = false;
  bool destructive = true;
  bool idempotent = false;
};

struct ToolDefinition {
  std::string name;         // 1..128 of A-Z a-z 0-9 _ . -
  std::string description;  // clients cut it at 2,048 characters
  Json input_schema;        // {"type":"object", ...}; null: any arguments
  std::optional<Json> output_schema;
  Annotations annotations;
  Json meta;                                     // wire: _meta; null or an object
  std::vector<std::string> client_capabilities;  // a client must declare these: "sampling"; else calls are refused
  bool queues = false;  // the handler queues its calls: few run at once, and a waiting call needs little memory
  // Whether its calls may become tasks (task_calls.h). required: only clients that know tasks may call it.
  enum class Tasks { forbidden, optional, required };
  Tasks tasks = Tasks::forbidden;
  // Parameters of the input schema that tools/list leaves out: few calls use them, and every agent pays for each word.
  std::vector<std::string> unlisted;
  Spellings spellings;  // other words that are accepted as values of its arguments
};
using ToolHandler = std::function<Task<ToolResult>(RequestContext&, Json arguments)>;

// Observer of every tools/call with valid arguments, for audits and accounts. `started` is called before the handler
// runs, `answered` with the handler's answer.
struct CallObserver {
  std::function<void(const RequestContext&, const std::string& tool, const Json& arguments)> started;
  std::function<void(const RequestContext&, const std::string& tool, const ToolResult&)> answered;
};

struct Resource {
  std::string uri;
  std::string name;
  std::string title;  // optional, like the next three
  std::string description;
  std::string mime_type;
  std::optional<uint64_t> size;  // bytes
};
struct ResourceTemplate {
  std::string uri_template;  // RFC 6570
  std::string name;
  std::string title;  // optional, like the next two
  std::string description;
  std::string mime_type;
};
struct ResourcePage {
  std::vector<Resource> resources;
  std::string next_cursor;  // empty: the last page
};
struct ResourceProvider {
  std::vector<std::string> prefixes;  // of its URIs: "skill://"; empty: all URIs that no earlier provider has
  std::function<Task<Result<ResourcePage>>(RequestContext&, std::string cursor)> list;
  // Errors: not_found; the client then gets the URI and the error code of its version. Empty contents count as
  // not_found.
  std::function<Task<Result<std::vector<ResourceContents>>>(RequestContext&, std::string uri)> read;
  std::vector<ResourceTemplate> templates;
  // `reported`: the program reports changes of this provider's resources with Server::lists_changed() and
  // resource_updated().
  enum class Changes { untold, reported };
  Changes changes = Changes::untold;
  Caching caching;  // for lists and contents
};

struct PromptArgument {
  enum class Need { optional, required };
  std::string name;
  std::string description;
  Need need = Need::optional;
};
struct Prompt {
  std::string name;
  std::string title;  // optional
  std::string description;
  std::vector<PromptArgument> arguments;
};
struct PromptMessage {
  enum class Role { user, assistant };
  Role role = Role::user;
  Block content;
};
struct PromptResult {
  std::string description;
  std::vector<PromptMessage> messages;
};
// `arguments` is an object that has every required argument; all its values are strings.
using PromptHandler = std::function<Task<Result<PromptResult>>(RequestContext&, Json arguments)>;

// A source of prompts that appear and disappear, or that differ between clients. The program reports changes with
// Server::lists_changed(Changed::prompts).
struct PromptProvider {
  // All prompts of the provider, always in the same order.
  std::function<Task<Result<std::vector<Prompt>>>(RequestContext&)> list;
  // All values of `arguments` are strings. The provider calls check_arguments() to find missing arguments.
  // Errors: not_found, the provider has no prompt with that name: the next provider is asked.
  std::function<Task<Result<PromptResult>>(RequestContext&, std::string name, Json arguments)> get;
  Caching caching;  // for the list
};
// Errors: invalid, naming a missing required argument.
Result<> check_arguments(const Prompt& prompt, const Json& arguments);

struct CompletionRequest {
  enum class Kind { prompt, resource };
  Kind kind = Kind::prompt;
  std::string reference;  // the prompt's name or the resource template
  std::string argument;
  std::string value;  // typed so far
  Json resolved;      // other arguments, already chosen: an object
};
struct Completion {
  std::vector<std::string> values;  // at most 100 are sent
  std::optional<uint64_t> total;
};
// Errors: not_found, this handler does not know that reference and argument: the next handler is asked.
using CompletionHandler = std::function<Task<Result<Completion>>(RequestContext&, CompletionRequest)>;

// The handler of a method of a protocol extension ("skills/list"), in both eras. Returns the members of the result.
using ExtensionHandler = std::function<Task<Result<Json>>(RequestContext&, Json params)>;

}  // namespace mcp

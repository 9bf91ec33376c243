// What a server offers: tools, resources, prompts and completion, each a definition and the handler behind it.
// Source: the program that serves, at start. Used by: server.cc.
// Handlers are coroutines on the loop. Destroying one is how its request is cancelled: whatever it holds must
// let go in destructors. An exception from a handler is a bug: it is logged, the client gets -32603.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"
#include "supervisor/mcp/arguments.h"
#include "supervisor/mcp/content.h"
#include "supervisor/mcp/context.h"

namespace mcp {

struct ServerInfo {
  std::string name;
  std::string version;
  std::string title;         // optional
  std::string instructions;  // optional; clients cut it at 2,048 characters
};

// Hints for clients about what a tool does; the defaults are those of the specification.
struct Annotations {
  std::string title;
  bool read_only = false;
  bool destructive = true;
  bool idempotent = false;
  bool open_world = true;
};

struct ToolDefinition {
  std::string name;         // 1..128 of A-Z a-z 0-9 _ . -
  std::string description;  // clients cut it at 2,048 characters
  Json input_schema;        // {"type":"object", ...}; null: takes anything
  std::optional<Json> output_schema;
  Annotations annotations;
  Json meta;                                     // wire: _meta; null or an object
  std::vector<std::string> client_capabilities;  // a client without these is refused, by name: "sampling"
  bool queues = false;  // many calls may wait at once: the handler lets few of them go on and needs little till then
  Spellings spellings;  // other words that are taken for values of its arguments
};
using ToolHandler = std::function<Task<ToolResult>(RequestContext&, Json arguments)>;

// Told of every tools/call with good arguments: before its handler runs, and of its answer. For audits and accounts.
struct CallObserver {
  std::function<void(const RequestContext&, const std::string& tool, const Json& arguments)> began;
  std::function<void(const RequestContext&, const std::string& tool, const ToolResult&)> answered;
};

// What keeps a definition from working in every client; empty when nothing does. For tests of tool sets.
std::vector<std::string> portability_problems(const ToolDefinition& tool);

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
  std::vector<std::string> prefixes;  // of the URIs that it reads: "skill://"; none: all that nobody before it reads
  std::function<Task<Result<ResourcePage>>(RequestContext&, std::string cursor)> list;
  // Errors: not_found is told with the URI, as each version wants it. Empty contents count as not found.
  std::function<Task<Result<std::vector<ResourceContents>>>(RequestContext&, std::string uri)> read;
  std::vector<ResourceTemplate> templates;
  // told: the program calls Server::lists_changed() and resource_updated() for what it holds.
  enum class Changes { untold, told };
  Changes changes = Changes::untold;
  Caching caching;  // of lists and contents
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

// Prompts that come and go, or that differ by who asks. Server::lists_changed(Changed::prompts) tells clients.
struct PromptProvider {
  // All of them, in an order that stays.
  std::function<Task<Result<std::vector<Prompt>>>(RequestContext&)> list;
  // All values of `arguments` are strings; check_arguments() tells what is missing.
  // Errors: not_found, none of its prompts has that name: the next provider is asked.
  std::function<Task<Result<PromptResult>>(RequestContext&, std::string name, Json arguments)> get;
  Caching caching;  // of the list
};
// Errors: invalid, naming the required argument that is missing.
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
// Errors: not_found, this handler knows nothing about that reference and argument: the next one is asked.
using CompletionHandler = std::function<Task<Result<Completion>>(RequestContext&, CompletionRequest)>;

// A method of a protocol extension ("skills/list"), in both eras. Answers with the members of the result.
using ExtensionHandler = std::function<Task<Result<Json>>(RequestContext&, Json params)>;

}  // namespace mcp

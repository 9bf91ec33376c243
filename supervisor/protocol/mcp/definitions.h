// append_tool() and the other append_ functions: the wire form of tools, prompts, resources and templates in each
// protocol version. Used by the files that answer list methods: server_lists.cc, prompts.cc, resources.cc. No errors.
#pragma once
#include <string>

#include "supervisor/protocol/mcp/protocol.h"
#include "supervisor/protocol/mcp/registry.h"

namespace mcp {

void append_tool(std::string& out, const ToolDefinition& tool, Version version);
void append_prompt(std::string& out, const Prompt& prompt, Version version);
void append_resource(std::string& out, const Resource& resource, Version version);
void append_template(std::string& out, const ResourceTemplate& resource, Version version);
// {name, version, title?}
void append_server_info(std::string& out, const ServerInfo& info, Version version);

// `key`: [each item].
template <class Items, class Append>
void append_list(std::string& members, std::string_view key, const Items& items, Version version, Append append) {
  append_key(members, key);
  members += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!std::exchange(first, false)) members += ',';
    append(members, item, version);
  }
  members += ']';
}

}  // namespace mcp

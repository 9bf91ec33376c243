#include "supervisor/protocol/mcp/definitions.h"

#include "supervisor/base/json/json.h"

namespace mcp {

namespace {

void append_title(std::string& out, std::string_view title, Version version) {
  if (has_titles(version)) append_optional(out, "title", title);
}
void append_flag(std::string& out, std::string_view key, bool value) {
  append_key(out, key);
  out += value ? "true" : "false";
}

// Appends the hints that differ from the specification's defaults: a definition costs every agent tokens. For a
// read-only tool, the specification gives destructiveHint and idempotentHint no meaning.
void append_annotations(std::string& out, const Annotations& annotations, Version version) {
  std::string hints;
  if (!has_titles(version)) append_optional(hints, "title", annotations.title);
  if (annotations.read_only) append_flag(hints, "readOnlyHint", true);
  if (!annotations.read_only && !annotations.destructive) append_flag(hints, "destructiveHint", false);
  if (!annotations.read_only && annotations.idempotent) append_flag(hints, "idempotentHint", true);
  if (hints.empty()) return;
  append_key(out, "annotations");
  out.append("{").append(hints).append("}");
}

}  // namespace

void append_tool(std::string& out, const ToolDefinition& tool, Version version) {
  out += '{';
  append_member(out, "name", tool.name);
  append_title(out, tool.annotations.title, version);
  append_optional(out, "description", tool.description);
  append_key(out, "inputSchema");
  if (tool.unlisted.empty()) {
    out += dump_json(tool.input_schema);
  } else {
    Json listed = tool.input_schema;
    for (const std::string& name : tool.unlisted) listed["properties"].erase(name);
    out += dump_json(listed);
  }
  // A schema that allows any object has no information. Structured content is allowed without a schema.
  if (tool.output_schema && *tool.output_schema != Json{{"type", "object"}} && has_structured_content(version)) {
    append_key(out, "outputSchema");
    out += dump_json(*tool.output_schema);
  }
  if (has_annotations(version)) append_annotations(out, tool.annotations, version);
  if (tool.tasks != ToolDefinition::Tasks::forbidden && has_core_tasks(version)) {
    append_key(out, "execution");
    out += tool.tasks == ToolDefinition::Tasks::required ? R"({"taskSupport":"required"})"
                                                         : R"({"taskSupport":"optional"})";
  }
  if (tool.meta.is_object() && !tool.meta.empty()) {
    append_key(out, "_meta");
    out += dump_json(tool.meta);
  }
  out += '}';
}

void append_prompt(std::string& out, const Prompt& prompt, Version version) {
  out += '{';
  append_member(out, "name", prompt.name);
  append_title(out, prompt.title, version);
  append_optional(out, "description", prompt.description);
  auto append_argument = [](std::string& to, const PromptArgument& argument, Version) {
    to += '{';
    append_member(to, "name", argument.name);
    append_optional(to, "description", argument.description);
    append_flag(to, "required", argument.need == PromptArgument::Need::required);
    to += '}';
  };
  if (!prompt.arguments.empty()) append_list(out, "arguments", prompt.arguments, version, append_argument);
  out += '}';
}

void append_resource(std::string& out, const Resource& resource, Version version) {
  out += '{';
  append_member(out, "uri", resource.uri);
  append_member(out, "name", resource.name);
  append_title(out, resource.title, version);
  append_optional(out, "description", resource.description);
  append_optional(out, "mimeType", resource.mime_type);
  if (resource.size) {
    append_key(out, "size");
    out += std::to_string(*resource.size);
  }
  out += '}';
}

void append_template(std::string& out, const ResourceTemplate& resource, Version version) {
  out += '{';
  append_member(out, "uriTemplate", resource.uri_template);
  append_member(out, "name", resource.name);
  append_title(out, resource.title, version);
  append_optional(out, "description", resource.description);
  append_optional(out, "mimeType", resource.mime_type);
  out += '}';
}

void append_server_info(std::string& out, const ServerInfo& info, Version version) {
  out += '{';
  append_member(out, "name", info.name);
  append_title(out, info.title, version);
  append_member(out, "version", info.version);
  out += '}';
}

}  // namespace mcp

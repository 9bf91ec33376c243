// Method: the methods of MCP that a client may call. Used by: Server, Conversation, RequestInterceptor. No errors.
#pragma once

namespace mcp {

enum class Method {
  initialize,
  ping,
  discover,
  set_level,
  tools_list,
  tools_call,
  resources_list,
  templates_list,
  resources_read,
  prompts_list,
  prompts_get,
  complete,
  subscribe,
  unsubscribe,
  listen,
  tasks_get,
  tasks_update,
  tasks_result,
  tasks_list,
  tasks_cancel,
  extension,  // a method that the program registered with add_method()
};

}  // namespace mcp

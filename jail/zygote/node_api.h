// The few names of Node-API and libuv that the addon uses. The running node provides both when it loads the addon: so
// no headers are needed, and no second libuv is loaded.
// Source: the documentation of Node-API ("C/C++ addons with Node-API"), with a stable ABI from version 1 on; libuv's
// documentation of uv_loop_fork(), from 1.12 on. Used by: jail/zygote/node.cc.
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" {

struct uv_loop_s;
// In a forked child: gives the loop new kernel objects. 0, or a negative errno.
int uv_loop_fork(uv_loop_s* loop);

using napi_env = struct napi_env__*;
using napi_value = struct napi_value__*;
using napi_callback_info = struct napi_callback_info__*;
using napi_callback = napi_value (*)(napi_env env, napi_callback_info info);
enum napi_status { napi_ok };  // any other value means that the call failed

napi_status napi_get_uv_event_loop(napi_env env, uv_loop_s** loop);
napi_status napi_get_cb_info(napi_env env, napi_callback_info info, size_t* count, napi_value* arguments,
                             napi_value* self, void** data);
// `size` includes the NUL that is written.
napi_status napi_get_value_string_utf8(napi_env env, napi_value value, char* text, size_t size, size_t* length);
napi_status napi_get_value_int32(napi_env env, napi_value value, int32_t* number);
napi_status napi_get_boolean(napi_env env, bool value, napi_value* result);
napi_status napi_create_double(napi_env env, double number, napi_value* value);
napi_status napi_create_function(napi_env env, const char* name, size_t length, napi_callback call, void* data,
                                 napi_value* function);
napi_status napi_set_named_property(napi_env env, napi_value object, const char* name, napi_value value);
napi_status napi_throw_error(napi_env env, const char* code, const char* message);

// Node calls this when it loads the addon.
__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value exports);

}  // extern "C"

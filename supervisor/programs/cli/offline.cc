#include "supervisor/programs/cli/offline.h"

#include <algorithm>
#include <array>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/version.h"

namespace cli {
namespace {

constexpr std::string_view kModern = "2026-07-28";
constexpr std::string_view kNewestLegacy = "2025-11-25";
constexpr std::array<std::string_view, 4> kLegacy = {"2024-11-05", "2025-03-26", "2025-06-18", kNewestLegacy};

constexpr int kInvalidRequest = -32600, kInternal = -32603, kUnsupportedVersion = -32022;

std::string envelope(std::string_view raw_id, std::string_view key, std::string_view raw_value) {
  std::string line = R"({"jsonrpc":"2.0",)";
  if (!raw_id.empty()) line.append(R"("id":)").append(raw_id).append(",");
  return line.append("\"").append(key).append("\":").append(raw_value).append("}");
}

std::string error_line(std::string_view raw_id, int code, std::string_view message, Json data = nullptr) {
  Json error = {{"code", code}, {"message", message}};
  if (!data.is_null()) error["data"] = std::move(data);
  return envelope(raw_id, "error", dump_json(error));
}

Json server_info() { return {{"name", "warder"}, {"title", "Warder"}, {"version", kWarderVersion}}; }
Json capabilities() { return {{"tools", {{"listChanged", true}}}, {"resources", Json::object()}}; }

std::string result_line(const Envelope& request, Json result) {
  if (request.modern()) {
    result["resultType"] = "complete";
    result["_meta"]["io.modelcontextprotocol/serverInfo"] = server_info();
  }
  return envelope(request.id, "result", dump_json(result));
}

// A result with a ttlMs of 0: a modern client asks again as soon as the daemon is back.
std::string fleeting_line(const Envelope& request, Json result) {
  if (request.modern()) {
    result["ttlMs"] = 0;
    result["cacheScope"] = "private";
  }
  return result_line(request, std::move(result));
}

std::string instructions(const Trouble& trouble) {
  return "Warder runs code in a jail (execute_code), but its daemon cannot be reached now: " + trouble.cause + "; " +
         trouble.remedy + ". Calls work as soon as the daemon runs; do not restart the client.";
}

// The tool execute_code, with its real name and parameters: a client that never lists tools again can still call it
// when the daemon is back.
Json placeholder_tools() {
  Json properties = {{"code", {{"type", "string"}, {"description", "The program to run."}}},
                     {"language", {{"type", "string"}, {"enum", {"python", "javascript", "typescript", "shell"}}}},
                     {"context_vars", {{"type", "object"}, {"description", "Variables for the program, by name."}}},
                     {"timeout_seconds", {{"type", "number"}}},
                     {"memory_mb", {{"type", "number"}}}};
  Json tool = {{"name", "execute_code"},
               {"description",
                "Runs a program in a jail and returns its output. The daemon warderd is "
                "not running now: the answer to a call names the command that starts it."},
               {"inputSchema", {{"type", "object"}, {"properties", std::move(properties)}, {"required", {"code"}}}}};
  return Json::array({std::move(tool)});
}

Json failed_call(std::string_view text, std::string_view remedy, CallRan ran) {
  Json answer = {{"success", false}, {"outcome", "internal"}, {"error", text}, {"may_have_run", ran == CallRan::maybe}};
  if (!remedy.empty()) answer["remedy"] = remedy;
  Json block = {{"type", "text"}, {"text", dump_json(answer)}};
  return {{"content", Json::array({std::move(block)})}, {"isError", true}};
}

Json trouble_data(std::string_view text, std::string_view remedy) {
  return {{"code", "unavailable"}, {"message", text}, {"remedy", remedy}};
}

}  // namespace

std::string offline_answer(const Envelope& request, const Trouble& trouble, std::string_view known_tools) {
  if (request.modern() && request.meta_version != kModern) {
    Json data = {{"supported", Json::array({kModern})}, {"requested", valid_utf8(request.meta_version)}};
    return error_line(request.id, kUnsupportedVersion, "this protocol version is not supported", std::move(data));
  }
  const auto method = request.method;
  if (method == "initialize") {
    const bool is_known_version = std::find(kLegacy.begin(), kLegacy.end(), request.version) != kLegacy.end();
    return result_line(request, {{"protocolVersion", is_known_version ? request.version : kNewestLegacy},
                                 {"capabilities", capabilities()},
                                 {"serverInfo", server_info()},
                                 {"instructions", instructions(trouble)}});
  }
  if (method == "server/discover")
    return fleeting_line(request, {{"supportedVersions", Json::array({kModern})},
                                   {"capabilities", capabilities()},
                                   {"instructions", instructions(trouble)}});
  if (method == "ping") return result_line(request, Json::object());
  if (method == "tools/list") {
    if (!known_tools.empty()) return envelope(request.id, "result", known_tools);
    return fleeting_line(request, {{"tools", placeholder_tools()}});
  }
  if (method == "resources/list") return fleeting_line(request, {{"resources", Json::array()}});
  if (method == "resources/templates/list") return fleeting_line(request, {{"resourceTemplates", Json::array()}});
  if (method == "tools/call")
    return result_line(
        request, failed_call(trouble.state + ", the call did not run: " + trouble.cause, trouble.remedy, CallRan::no));
  return error_line(request.id, kInternal, trouble.state + ": " + trouble.cause + "; " + trouble.remedy,
                    trouble_data(trouble.cause, trouble.remedy));
}

std::string interrupted_answer(std::string_view raw_id, std::string_view method, ProtocolEra era, std::string_view text,
                               std::string_view remedy, CallRan ran) {
  if (method != "tools/call") return error_line(raw_id, kInternal, text, trouble_data(text, remedy));
  Envelope request;
  request.id = raw_id;
  request.meta_version = era == ProtocolEra::modern ? kModern : std::string_view();
  return result_line(request, failed_call(text, remedy, ran));
}

std::string refused_line(std::string_view raw_id, std::string_view text) {
  return error_line(raw_id, kInvalidRequest, text);
}

}  // namespace cli

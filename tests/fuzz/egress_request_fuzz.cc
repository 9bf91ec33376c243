// Bytes of code in a jail to the proxy: the head of a request, its target and the rules' decision. Whole and cut into
// pieces, which must give the same.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "policies/egress_rules.h"
#include "policies/host_name.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/egress/connection.h"

namespace {

using http::RequestParser;

void require(bool holds) {
  if (!holds) std::abort();
}

policies::EgressRules make_rules() {
  const Json document = Json::parse(R"({"rules": [
    {"host": "api.example.com", "methods": ["GET"], "paths": ["/v1/*"], "secret": {"header": "X-Key", "file": "/k"}},
    {"host": "*.example.com", "ports": [80, 443]}], "connections": 1, "bytes_up": 1, "bytes_down": 1, "seconds": 1})");
  std::vector<Error> problems;
  policies::EgressRules rules = policies::read_egress_rules(document, problems);
  require(problems.empty());
  return rules;
}

std::optional<policies::EgressTarget> read(std::string_view bytes, size_t piece) {
  RequestParser parser(
      {.head_bytes = 2048, .fields = 16, .body_bytes = 1024, .role = http::RequestLimits::Role::proxy});
  while (!bytes.empty() &&
         (parser.state() == RequestParser::State::idle || parser.state() == RequestParser::State::head)) {
    const std::string_view part = bytes.substr(0, piece);
    const size_t used = parser.feed(part);
    if (used == 0) break;
    bytes.remove_prefix(used);
  }
  if (parser.state() != RequestParser::State::body && parser.state() != RequestParser::State::full) return std::nullopt;
  auto target = egress::read_target(parser.request());
  if (!target) return std::nullopt;
  return *std::move(target);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const policies::EgressRules rules = make_rules();
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto text = read(bytes, bytes.size() + 1), pieces = read(bytes, data[0] % 32 + 1u);
  require(text.has_value() == pieces.has_value());
  if (!text) return 0;
  require(text->host == pieces->host && text->port == pieces->port && text->path == pieces->path);
  require(policies::parse_host_name(text->host).value_or("") == text->host);  // one form
  require(text->is_tunnel() ? text->path.empty() && text->port > 0 : text->path.starts_with('/'));
  const policies::EgressDecision decision = rules.decide(*text);
  if (decision.verdict == policies::Verdict::deny) {
    require(!decision.why.empty());
    return 0;
  }
  require(text->host.ends_with(".example.com"));
  if (text->host == "api.example.com" && decision.port == 443) {
    require(!text->is_tunnel());
    require(*decision.rule == 1 || (text->path.starts_with("/v1/") && text->path.find("/../") == std::string::npos));
  }
  return 0;
}

#include "supervisor/cluster/trust/join_request.h"

#include "supervisor/base/base64.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/cluster/trust/nkey.h"
#include "supervisor/cluster/trust/signed_text.h"

namespace cluster {
namespace {

constexpr std::string_view kStart = "warder-join:";
constexpr size_t kMaxRequest = 2048;  // characters

std::string request_line(const JoinRequest& request) {
  Json line = {{"v", 1},
               {"cluster", request.cluster},
               {"node", request.node},
               {"key", request.key.text()},
               {"nats", request.nats}};
  if (request.replaces) line["replaces"] = request.replaces->text();
  return dump_json(line);
}

Result<> check_request(const JoinRequest& request) {
  if (!is_cluster_word(request.cluster))
    return fail(Code::invalid, "cluster: not 1 to 32 of a-z, 0-9 and '-', not beginning with '-'");
  if (!is_cluster_word(request.node))
    return fail(Code::invalid, "node: not 1 to 32 of a-z, 0-9 and '-', not beginning with '-'");
  CHECKED(parse_nkey_public(request.nats));
  return {};
}

Result<PublicKey> read_request_key(const std::string& text, const char* member) {
  auto key = PublicKey::parse(text);
  if (!key) return tl::unexpected<Error>(std::move(key).error().within(member));
  return key;
}

Result<JoinRequest> parse_request(const std::string& json) {
  TRY(const Json line, parse_canonical(json));
  Fields in(line, "");
  JoinRequest request;
  CHECKED(in.integer("v", 1, 1));
  TRY(request.cluster, in.string("cluster", 32));
  TRY(request.node, in.string("node", 32));
  TRY(const std::string key, in.string("key", 64));
  TRY(request.key, read_request_key(key, "key"));
  TRY(request.nats, in.string("nats", 64));
  if (in.has("replaces")) {
    TRY(const std::string old, in.string("replaces", 64));
    TRY(request.replaces, read_request_key(old, "replaces"));
  }
  CHECKED(in.done());
  CHECKED(check_request(request));
  if (request_line(request) != json) return fail(Code::invalid, "it is not in canonical form");
  return request;
}

Result<JoinRequest> read_signed_request(std::string_view text) {
  const size_t first = text.find('.');
  if (first == text.npos) return fail(Code::invalid, "it ends before its signature");
  TRY(const std::string json, from_base64(text.substr(0, first)));
  TRY(JoinRequest request, parse_request(json));
  text.remove_prefix(first + 1);
  const size_t second = text.find('.');
  TRY(const Signature own, parse_signature(text.substr(0, second)));
  if (!request.key.verifies(kJoinPurpose, json, own))
    return fail(Code::denied, "it is not signed by the key that it brings");
  if (request.replaces.has_value() != (second != text.npos))
    return fail(Code::invalid, "a second signature, by the old key, and the member replaces go together");
  if (!request.replaces) return request;
  TRY(const Signature old, parse_signature(text.substr(second + 1)));
  if (!request.replaces->verifies(kKeyChangePurpose, json, old))
    return fail(Code::denied, "it is not signed by the old key of the node");
  return request;
}

}  // namespace

Result<std::string> make_join_request(JoinRequest request, const PrivateKey& key, const PrivateKey* old) {
  request.key = key.public_key();
  request.replaces.reset();
  if (old) request.replaces = old->public_key();
  CHECKED(check_request(request));
  const std::string json = request_line(request);
  std::string line = std::string(kStart) + to_base64(json) + "." + text_of(key.sign(kJoinPurpose, json));
  if (old) line += "." + text_of(old->sign(kKeyChangePurpose, json));
  return line;
}

Result<JoinRequest> read_join_request(std::string_view line) {
  while (line.ends_with('\n') || line.ends_with(' ')) line.remove_suffix(1);
  if (!line.starts_with(kStart) || line.size() > kMaxRequest)
    return fail(Code::invalid, "the request is not one line that begins with \"warder-join:\"",
                "copy the whole line that warder cluster join printed");
  auto request = read_signed_request(line.substr(kStart.size()));
  if (request) return request;
  Error error = std::move(request).error().within("the request");
  if (error.hint.empty()) error.hint = "copy the whole line that warder cluster join printed, or make it again";
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace cluster

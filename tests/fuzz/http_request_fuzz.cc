// Bytes of an HTTP client, through the parser of requests: whole and cut into pieces, which must give the same. The
// first byte says how the rest is cut.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "supervisor/protocol/http/request_parser.h"

namespace {

using http::RequestParser;
using State = http::RequestParser::State;

void require(bool holds) {
  if (!holds) std::abort();
}

http::RequestLimits small_limits() {
  http::RequestLimits limits;
  limits.head_bytes = 2048;
  limits.fields = 16;
  limits.body_bytes = 1024;
  return limits;
}

void check(const http::IncomingRequest& request) {
  require(request.target.starts_with('/'));
  require(request.body.size() <= small_limits().body_bytes);
  require(request.fields.size() <= small_limits().fields);
  require(request.count("content-length") + request.count("transfer-encoding") <= 1);
  require(request.is_http_1_0 || request.field("host") != nullptr);
  for (const auto& [name, value] : request.fields)
    require(!name.empty() && value.find_first_of(std::string_view("\r\n\0", 3)) == value.npos);
}

struct Reading {
  std::vector<http::IncomingRequest> requests;
  State state = State::idle;
  int status = 0;
};

Reading read(std::string_view bytes, size_t piece) {
  Reading reading;
  RequestParser parser(small_limits());
  std::string rest;
  while (true) {
    const size_t used = parser.feed(rest);
    require(used <= rest.size());
    rest.erase(0, used);
    require(parser.held_bytes() <= 16384);
    if (parser.state() == State::full) {
      reading.requests.push_back(parser.take());
      check(reading.requests.back());
      continue;
    }
    if (parser.state() == State::refused) break;
    if (used > 0 && !rest.empty()) continue;
    if (bytes.empty()) break;
    require(rest.empty());
    const std::string_view more = bytes.substr(0, piece);
    rest += more;
    bytes.remove_prefix(more.size());
  }
  reading.state = parser.state();
  reading.status = parser.refused().status;
  return reading;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Reading reading = read(bytes, bytes.size() + 1), pieces = read(bytes, data[0] % 32 + 1u);
  require(reading.requests.size() == pieces.requests.size());
  for (size_t i = 0; i < reading.requests.size(); i++) {
    require(reading.requests[i].method == pieces.requests[i].method);
    require(reading.requests[i].target == pieces.requests[i].target);
    require(reading.requests[i].body == pieces.requests[i].body);
    require(reading.requests[i].fields == pieces.requests[i].fields);
  }
  require(reading.state == pieces.state && reading.status == pieces.status);
  return 0;
}

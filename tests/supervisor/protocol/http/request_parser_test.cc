#include "supervisor/protocol/http/request_parser.h"

#include <algorithm>

#include "tests/catch.h"

namespace {

using http::RequestParser;
using State = http::RequestParser::State;

constexpr std::string_view kHost = "Host: localhost\r\n";

std::string post(std::string_view fields, std::string_view rest) {
  return "POST /mcp HTTP/1.1\r\n" + std::string(kHost) + std::string(fields) + "\r\n" + std::string(rest);
}

// What came of some bytes, in pieces of `piece` bytes.
struct Reading {
  std::vector<http::IncomingRequest> requests;
  State state = State::idle;
  RequestParser::Refused refused;
  std::string rest;  // bytes that were not taken
};
Reading read(std::string_view bytes, size_t piece = 1 << 20, http::RequestLimits limits = {}) {
  Reading reading;
  RequestParser parser(limits);
  while (true) {
    const size_t used = parser.feed(reading.rest);
    reading.rest.erase(0, used);
    if (parser.state() == State::full) {
      reading.requests.push_back(parser.take());
      continue;
    }
    if (parser.state() == State::refused || (used == 0 && bytes.empty())) break;
    if (used > 0 && !reading.rest.empty()) continue;
    const std::string_view more = bytes.substr(0, piece);
    reading.rest += more;
    bytes.remove_prefix(more.size());
  }
  reading.state = parser.state();
  reading.refused = parser.refused();
  return reading;
}

int status_of(std::string_view bytes) {
  const Reading reading = read(bytes), by_bytes = read(bytes, 1);
  CHECK(reading.state == by_bytes.state);
  CHECK(reading.requests.size() == by_bytes.requests.size());
  return reading.state == State::refused ? reading.refused.status : 0;
}

}  // namespace

TEST_CASE("a request with a length is read, in pieces of any size") {
  const std::string bytes = post("Content-Length: 5\r\nX-Name:  a b \t\r\n", "hello");
  for (size_t piece : {1, 2, 3, 7, 1000}) {
    const Reading reading = read(bytes, piece);
    REQUIRE(reading.requests.size() == 1);
    const auto& request = reading.requests[0];
    CHECK(request.method == "POST");
    CHECK(request.target == "/mcp");
    CHECK(request.body == "hello");
    CHECK(request.keeps_alive);
    REQUIRE(request.field("x-name"));
    CHECK(*request.field("x-name") == "a b");
    CHECK(reading.state == State::idle);
  }
}

TEST_CASE("a chunked request is read, in pieces of any size") {
  const std::string bytes = post("Transfer-Encoding: Chunked\r\n", "5\r\nhello\r\n00A\r\n0123456789\r\n0\r\n\r\n");
  for (size_t piece : {1, 2, 3, 7, 1000}) {
    const Reading reading = read(bytes, piece);
    REQUIRE(reading.requests.size() == 1);
    CHECK(reading.requests[0].body == "hello0123456789");
  }
}

TEST_CASE("requests that follow each other are split where each ends") {
  const std::string name = post("Content-Length: 3\r\n", "abc"),
                    two = post("Transfer-Encoding: chunked\r\n", "1\r\nx\r\n0\r\n\r\n");
  const std::string three = "GET /mcp?a=1 HTTP/1.1\r\n" + std::string(kHost) + "\r\n";
  for (size_t piece : {1, 5, 1000}) {
    const Reading reading = read(name + two + three + name, piece);
    REQUIRE(reading.requests.size() == 4);
    CHECK(reading.requests[1].body == "x");
    CHECK(reading.requests[2].body.empty());
    CHECK(reading.requests[2].path() == "/mcp");
    CHECK(reading.requests[3].body == "abc");
  }
}

TEST_CASE("the caller sees the head before the body, and the client may wait for that") {
  RequestParser parser({});
  const std::string head = post("Content-Length: 5\r\nExpect: 100-Continue\r\n", "");
  CHECK(parser.feed(head + "he") == head.size());
  CHECK(parser.state() == State::body);
  CHECK(parser.request().expects_continue);
  CHECK(parser.request().body_bytes_announced == 5);
  CHECK(parser.feed("hello, and more") == 5);
  CHECK(parser.state() == State::full);
  CHECK(parser.feed("more") == 0);
  CHECK(parser.take().body == "hello");
  CHECK(parser.state() == State::idle);
}

TEST_CASE("HTTP/1.0 and Connection decide about the next request") {
  const std::string old = "GET /mcp HTTP/1.0\r\n\r\n";
  CHECK_FALSE(read(old).requests.at(0).keeps_alive);
  CHECK(read(old).requests.at(0).is_http_1_0);
  CHECK(read("GET /mcp HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").requests.at(0).keeps_alive);
  CHECK_FALSE(read("GET /mcp HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").requests.at(0).keeps_alive);
}

TEST_CASE("ambiguous requests are refused") {
  struct Row {
    const char* what;
    std::string bytes;
    int status = 400;
  };
  const std::string chunks = "5\r\nhello\r\n0\r\n\r\n";
  const Row rows[] = {
      {"a length and chunks", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", chunks)},
      {"chunks and a length", post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", chunks)},
      {"two lengths", post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello")},
      {"the same length twice", post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello")},
      {"a list of lengths", post("Content-Length: 5, 5\r\n", "hello")},
      {"a length with a sign", post("Content-Length: +5\r\n", "hello")},
      {"a negative length", post("Content-Length: -5\r\n", "hello")},
      {"a hexadecimal length", post("Content-Length: 0x5\r\n", "hello")},
      {"a length with a space inside", post("Content-Length: 5 5\r\n", "hello")},
      {"an empty length", post("Content-Length:\r\n", "hello")},
      {"a length beyond 64 bits", post("Content-Length: 18446744073709551617\r\n", "hello")},
      {"a length with many zeros", post("Content-Length: 0000000000000000005\r\n", "hello")},
      {"an encoding with another name", post("Transfer-Encoding: xchunked\r\n", chunks), 501},
      {"identity", post("Transfer-Encoding: identity\r\n", chunks), 501},
      {"chunked and identity", post("Transfer-Encoding: chunked, identity\r\n", chunks), 501},
      {"gzip and chunked", post("Transfer-Encoding: gzip, chunked\r\n", chunks), 501},
      {"chunked twice in one field", post("Transfer-Encoding: chunked, chunked\r\n", chunks), 501},
      {"chunked twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", chunks)},
      {"chunked in quotes", post("Transfer-Encoding: \"chunked\"\r\n", chunks), 501},
      {"an empty encoding", post("Transfer-Encoding:\r\n", chunks), 501},
      {"chunks in HTTP/1.0", "POST /mcp HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks},
      {"a space before the colon", post("Content-Length : 5\r\n", "hello")},
      {"a tab before the colon", post("Content-Length\t: 5\r\n", "hello")},
      {"a folded field", post("X-A: b\r\n c\r\n", "")},
      {"a folded first field", "POST /mcp HTTP/1.1\r\n Host: a\r\n\r\n"},
      {"a line end without CR", "POST /mcp HTTP/1.1\nHost: localhost\n\n"},
      {"one line end without CR", "POST /mcp HTTP/1.1\r\nHost: localhost\nX: a\r\n\r\n"},
      {"a CR alone", "POST /mcp HTTP/1.1\r\nHost: localhost\rX: a\r\n\r\n"},
      {"a NUL in a value", post(std::string("X: a\0b\r\n", 8), "")},
      {"a DEL in a value", post("X: a\x7f"
                                "b\r\n",
                                "")},
      {"a NUL in a name", post(std::string("X\0Y: a\r\n", 8), "")},
      {"a field without a name", post(": a\r\n", "")},
      {"a field without a colon", post("X\r\n", "")},
      {"two hosts", post("Host: evil\r\n", "")},
      {"the same host twice", post("Host: localhost\r\n", "")},
      {"no host", "POST /mcp HTTP/1.1\r\n\r\n"},
      {"a host with a path", "POST /mcp HTTP/1.1\r\nHost: a/b\r\n\r\n"},
      {"a host with a user", "POST /mcp HTTP/1.1\r\nHost: a@b\r\n\r\n"},
      {"two hosts in one", "POST /mcp HTTP/1.1\r\nHost: a, b\r\n\r\n"},
      {"an absolute target", "POST http://localhost/mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"an authority as target", "GET localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"an asterisk as target", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"a target with a fragment", "GET /mcp#a HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"a target with a byte beyond ASCII", "GET /mcp\xc3\xa9 HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"two spaces in the first line", "GET  /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"a tab in the first line", "GET\t/mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"a space at the end of the first line", "GET /mcp HTTP/1.1 \r\nHost: localhost\r\n\r\n"},
      {"an empty line first", "\r\nGET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"HTTP/1.2", "GET /mcp HTTP/1.2\r\nHost: localhost\r\n\r\n"},
      {"HTTP/0.9", "GET /mcp\r\n\r\n"},
      {"http/1.1 in lower case", "GET /mcp http/1.1\r\nHost: localhost\r\n\r\n"},
      {"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
      {"an unknown method", "BREW /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 501},
      {"CONNECT", "CONNECT /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 501},
      {"an unknown expectation", post("Expect: tea\r\nContent-Length: 5\r\n", "hello"), 417},
      {"a chunk with a prefix", post("Transfer-Encoding: chunked\r\n", "0x5\r\nhello\r\n0\r\n\r\n")},
      {"a chunk with a sign", post("Transfer-Encoding: chunked\r\n", "+5\r\nhello\r\n0\r\n\r\n")},
      {"a chunk without a size", post("Transfer-Encoding: chunked\r\n", "\r\nhello\r\n0\r\n\r\n")},
      {"a chunk with an extension", post("Transfer-Encoding: chunked\r\n", "5;a=b\r\nhello\r\n0\r\n\r\n")},
      {"a chunk with a space", post("Transfer-Encoding: chunked\r\n", "5 \r\nhello\r\n0\r\n\r\n")},
      {"a last chunk with an extension", post("Transfer-Encoding: chunked\r\n", "0;a\r\n\r\n")},
      {"a chunk that is longer than it says", post("Transfer-Encoding: chunked\r\n", "4\r\nhello\r\n0\r\n\r\n")},
      {"a chunk that ends with LF", post("Transfer-Encoding: chunked\r\n", "5\nhello\r\n0\r\n\r\n")},
      {"a chunk whose data ends with LF", post("Transfer-Encoding: chunked\r\n", "5\r\nhello\n0\r\n\r\n")},
      {"a chunk beyond 64 bits", post("Transfer-Encoding: chunked\r\n", "10000000000000005\r\nhello\r\n0\r\n\r\n")},
      {"a chunk with very many zeros",
       post("Transfer-Encoding: chunked\r\n", std::string(500, '0') + "5\r\nhello\r\n0\r\n\r\n")},
      {"a trailer field", post("Transfer-Encoding: chunked\r\n", "0\r\nX: a\r\n\r\n")},
      {"a trailer with a length", post("Transfer-Encoding: chunked\r\n", "0\r\nContent-Length: 5\r\n\r\nhello")},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(status_of(row.bytes) == row.status);
  }
}

TEST_CASE("a request that is too long is refused, and its bytes are not stored") {
  http::RequestLimits limits;
  limits.head_bytes = 1000;
  limits.fields = 5;
  limits.body_bytes = 100;
  CHECK(read(post("X: " + std::string(2000, 'a') + "\r\n", ""), 100, limits).refused.status == 431);
  CHECK(read("POST /" + std::string(5000, 'a'), 100, limits).refused.status == 431);
  CHECK(read(post("A: b\r\nA: b\r\nA: b\r\nA: b\r\n", ""), 100, limits).requests.size() == 1);
  CHECK(read(post("A: b\r\nA: b\r\nA: b\r\nA: b\r\nA: b\r\n", ""), 100, limits).refused.status == 431);
  CHECK(read(post("Content-Length: 101\r\n", ""), 100, limits).refused.status == 413);
  CHECK(read(post("Content-Length: 100\r\n", std::string(100, 'a')), 7, limits).requests.size() == 1);
  CHECK(read(post("Transfer-Encoding: chunked\r\n", "65\r\n"), 100, limits).refused.status == 413);
  std::string chunks;
  for (int i = 0; i < 11; i++) chunks += "a\r\n0123456789\r\n";
  CHECK(read(post("Transfer-Encoding: chunked\r\n", chunks), 100, limits).refused.status == 413);
  RequestParser parser(limits);
  CHECK(parser.feed(std::string(100'000, 'a')) > 0);
  CHECK(parser.held_bytes() < 4000);
}

TEST_CASE("a head of exactly the longest length is read") {
  http::RequestLimits limits;
  const std::string begin = "GET /mcp HTTP/1.1\r\n" + std::string(kHost) + "X: ", end = "\r\n\r\n";
  limits.head_bytes = 500;
  const std::string fits = begin + std::string(500 - begin.size() - end.size(), 'a') + end;
  CHECK(read(fits, 1, limits).requests.size() == 1);
  CHECK(read(fits, 1000, limits).requests.size() == 1);
  limits.head_bytes = 499;
  CHECK(read(fits, 1, limits).refused.status == 431);
  CHECK(read(fits, 1000, limits).refused.status == 431);
}

TEST_CASE("a body with a length of zero, and a GET with a body") {
  CHECK(read(post("Content-Length: 0\r\n", "")).requests.at(0).body.empty());
  CHECK(read("GET /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab").requests.at(0).body == "ab");
  CHECK(read(post("", "")).requests.size() == 1);
}

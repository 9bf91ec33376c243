// RequestParser: reads HTTP/1.1 requests from the bytes of one connection, strictly: a request that another reader
// could split or understand differently is refused (request smuggling). IncomingRequest: a request that was read.
// Source: untrusted bytes. Grammar: RFC 9112. Boost.Beast's parser reads the head, in request_parser.cc only; the
// checks around it close the cases in which Beast and Node.js's llhttp differ
// (tests/supervisor/protocol/http/splitting_test.py). The body is read without Beast. Used by:
// supervisor/protocol/streamable_http, supervisor/egress. Errors: Refused, with the status
// for the answer; the connection must end then.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace http {

struct RequestLimits {
  size_t head_bytes = 32 << 10;  // request line and fields, with their line ends
  size_t fields = 100;
  size_t body_bytes = 16 << 20;  // without the framing of chunks
  // server: the target is a path. proxy: it is any text of visible ASCII, the method may be CONNECT (without a body),
  // and the Host field says nothing.
  enum class Role { server, proxy };
  Role role = Role::server;
};

struct IncomingRequest {
  std::string method;  // GET, HEAD, POST, PUT, DELETE, OPTIONS or PATCH; for a proxy also CONNECT
  std::string target;  // begins with "/", except for a proxy; not decoded
  bool is_http_1_0 = false;
  bool keeps_alive = true;          // the connection may have another request after this one
  bool expects_continue = false;    // the client waits for "100 Continue" before it sends the body
  size_t body_bytes_announced = 0;  // Content-Length; 0: none, or chunked
  std::vector<std::pair<std::string, std::string>> fields;  // names in lower case, values without space around them
  std::string body;

  // The value of a field that occurs once; nullptr: it is absent, or repeated.
  const std::string* field(std::string_view name) const;
  size_t count(std::string_view name) const;
  // The target without its query.
  std::string_view path() const;
};

class RequestParser {
 public:
  explicit RequestParser(RequestLimits limits);
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  enum class State {
    idle,     // no byte of a request was read
    head,     // a part of the head was read
    body,     // the head is whole, the body is not
    full,     // the request is whole
    refused,  // no further byte is read
  };
  struct Refused {
    int status = 400;
    std::string why;  // one sentence, for people
  };

  // Reads bytes and returns how many of them it took. Stops at the end of the head and at the end of the request, so
  // that the caller can look at each. Takes no byte in the states whole and refused.
  size_t feed(std::string_view bytes);
  State state() const { return state_; }
  const Refused& refused() const { return refused_; }
  // In the states body and whole. The fields are complete.
  const IncomingRequest& request() const { return request_; }
  // In the state whole: returns the request; the parser is idle then.
  IncomingRequest take();
  // Bytes of memory that the parts of a request take now.
  size_t held_bytes() const { return head_.capacity() + request_.body.capacity(); }

 private:
  class HeadGrammar;  // Boost.Beast's parser
  // The place of the next byte in a body: in a body with a length; or in chunks.
  enum class BodyState { length, size, size_lf, data, data_cr, data_lf, end_cr, end_lf };

  size_t feed_head(std::string_view bytes);
  size_t feed_body(std::string_view bytes);
  void take_framing(char c);
  void read_head();
  bool check_head();
  bool check_framing();
  void refuse(int status, std::string why);
  void free_head();

  RequestLimits limits_;
  State state_ = State::idle;
  Refused refused_;
  std::string head_;  // until the head is whole
  IncomingRequest request_;
  BodyState body_state_ = BodyState::length;
  size_t remaining_ = 0;  // bytes of the body, or of the chunk; while its size is read, the size so far
  size_t digits_ = 0;     // of that size
};

}  // namespace http

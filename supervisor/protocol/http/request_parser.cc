#include "supervisor/protocol/http/request_parser.h"

#include <algorithm>
#include <array>
#include <boost/beast/http/basic_parser.hpp>
#include <limits>

#include "supervisor/base/ascii.h"

namespace http {
namespace {

namespace beast = boost::beast;

constexpr std::array<std::string_view, 7> kMethods = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"};
constexpr size_t kMaxLengthDigits = 15;  // of Content-Length
constexpr size_t kMaxHostBytes = 255;
constexpr size_t kMaxSizeDigits = 15;  // of a chunk's size

bool is_digits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

// The characters of a host name, an address and a port.
bool is_host(std::string_view text) {
  return text.size() <= kMaxHostBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return is_alnum(c) || std::string_view("-._:[]").find(c) != std::string_view::npos;
         });
}

bool is_visible_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

// The first byte of a head, from `from` on, that no head may have: a line end that is not CR LF, a control character,
// or a space at the start of a line (a folded field); npos: there is none. The last byte may be the first half of a
// line end.
size_t find_bad_byte(std::string_view head, size_t from) {
  for (size_t i = from; i < head.size(); i++) {
    const auto c = static_cast<unsigned char>(head[i]);
    const char before = i > 0 ? head[i - 1] : '\n';
    if (before == '\r' && c != '\n') return i - 1;
    if (c == '\n' && before != '\r') return i;
    if ((c == ' ' || c == '\t') && before == '\n') return i;
    if ((c < ' ' && c != '\t' && c != '\r' && c != '\n') || c == 0x7f) return i;
  }
  return std::string_view::npos;
}

}  // namespace

const std::string* IncomingRequest::field(std::string_view name) const {
  const std::string* match = nullptr;
  for (const auto& [key, value] : fields) {
    if (key != name) continue;
    if (match) return nullptr;
    match = &value;
  }
  return match;
}

size_t IncomingRequest::count(std::string_view name) const {
  return static_cast<size_t>(
      std::count_if(fields.begin(), fields.end(), [&](const auto& item) { return item.first == name; }));
}

std::string_view IncomingRequest::path() const { return std::string_view(target).substr(0, target.find('?')); }

// Beast calls these functions with the parts of a head. Each part is copied: the buffer is the caller's.
class RequestParser::HeadGrammar : public beast::http::basic_parser<true> {
 public:
  HeadGrammar(RequestLimits limits, IncomingRequest& request) : limits_(limits), request_(request) {
    header_limit(static_cast<std::uint32_t>(limits.head_bytes + 1));
    body_limit(std::numeric_limits<std::uint64_t>::max());  // RequestParser reads bodies
  }
  Refused refused;  // by a callback; without a reason: by Beast
  bool is_done_with_head = false;

 private:
  using error_code = beast::error_code;
  using string_view = beast::string_view;

  void stop(error_code& error, int status, std::string why) {
    refused = {status, std::move(why)};
    error = beast::http::error::bad_value;
  }

  void on_request_impl(beast::http::verb, string_view method, string_view target, int version,
                       error_code& error) override {
    error = {};
    request_.method.assign(method.data(), method.size());
    request_.target.assign(target.data(), target.size());
    request_.is_http_1_0 = version == 10;
  }
  void on_response_impl(int, string_view, int, error_code&) override {}
  void on_field_impl(beast::http::field, string_view name, string_view value, error_code& error) override {
    error = {};
    if (request_.fields.size() == limits_.fields) return stop(error, 431, "the request has too many fields");
    std::string key = lower_case({name.data(), name.size()});
    // Readers differ in the space that they allow around these two.
    const std::string_view before(name.data() + name.size(), static_cast<size_t>(value.data() - name.end()));
    if ((key == "content-length" || key == "transfer-encoding") &&
        ((before != ":" && before != ": ") || *value.end() != '\r'))
      return stop(error, 400, "the length of the request has space around it");
    request_.fields.emplace_back(std::move(key), std::string(value.data(), value.size()));
  }
  void on_header_impl(error_code& error) override {
    error = {};
    is_done_with_head = true;
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code& error) override { error = {}; }
  std::size_t on_body_impl(string_view, error_code&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view, error_code&) override { return 0; }
  void on_finish_impl(error_code& error) override { error = {}; }

  const RequestLimits limits_;
  IncomingRequest& request_;
};

RequestParser::RequestParser(RequestLimits limits) : limits_(limits) {}

// Assigning an empty text would keep the memory of the head as long as the connection is open.
void RequestParser::free_head() { std::string().swap(head_); }

void RequestParser::refuse(int status, std::string why) {
  refused_ = {status, std::move(why)};
  state_ = State::refused;
  free_head();
}

IncomingRequest RequestParser::take() {
  state_ = State::idle;
  return std::exchange(request_, {});
}

size_t RequestParser::feed(std::string_view bytes) {
  if (bytes.empty()) return 0;
  switch (state_) {
    case State::idle:
    case State::head:
      return feed_head(bytes);
    case State::body:
      return feed_body(bytes);
    case State::full:
    case State::refused:
      break;
  }
  return 0;
}

size_t RequestParser::feed_head(std::string_view bytes) {
  state_ = State::head;
  const size_t before = head_.size();
  const size_t room = limits_.head_bytes - before;
  head_.append(bytes.substr(0, room));
  const size_t end = head_.find("\r\n\r\n", before < 3 ? 0 : before - 3);
  if (end != head_.npos) head_.resize(end + 4);
  if (const size_t bad = find_bad_byte(head_, before > 0 ? before - 1 : 0); bad != head_.npos) {
    refuse(400, "the head of the request has a control character, a folded field, or a line end that is not CR LF");
    return 0;
  }
  if (end == head_.npos) {
    if (bytes.size() >= room) refuse(431, "the head of the request is too long");
    return bytes.size();
  }
  const size_t used = head_.size() - before;
  read_head();
  return used;
}

void RequestParser::read_head() {
  HeadGrammar grammar(limits_, request_);
  beast::error_code error;
  const size_t used = grammar.put({head_.data(), head_.size()}, error);
  if (!grammar.refused.why.empty()) return refuse(grammar.refused.status, std::move(grammar.refused.why));
  if (error || !grammar.is_done_with_head || used != head_.size())
    return refuse(400, "this is not an HTTP/1.1 request");
  if (!check_head() || !check_framing()) return;
  // After a request to change the protocol, some readers take the next bytes for the other protocol's.
  request_.keeps_alive = grammar.keep_alive() && request_.count("upgrade") == 0;
  free_head();
  if (request_.count("transfer-encoding") > 0) {
    body_state_ = BodyState::size;
    remaining_ = digits_ = 0;
  } else if (const auto* length = request_.field("content-length")) {
    remaining_ = static_cast<size_t>(std::stoull(*length));
    if (remaining_ > limits_.body_bytes) return refuse(413, "the body of the request is too long");
    request_.body_bytes_announced = remaining_;
    body_state_ = BodyState::length;
  } else {
    remaining_ = 0;
    body_state_ = BodyState::length;
  }
  state_ = body_state_ == BodyState::length && remaining_ == 0 ? State::full : State::body;
}

bool RequestParser::check_head() {
  const bool is_proxy = limits_.role == RequestLimits::Role::proxy;
  const bool is_tunnel = is_proxy && request_.method == "CONNECT";
  if (!is_tunnel && std::find(kMethods.begin(), kMethods.end(), request_.method) == kMethods.end()) {
    refuse(501, "this method is not known");
  } else if (!is_visible_ascii(request_.target) || request_.target.find('#') != request_.target.npos) {
    refuse(400, "the target of the request has a forbidden character");
  } else if (!is_proxy && !request_.target.starts_with('/')) {
    refuse(400, "the target of the request must be a path");
  } else if (is_tunnel && request_.count("content-length") + request_.count("transfer-encoding") > 0) {
    refuse(400, "a CONNECT request has no body");
  } else if (request_.count("host") > 1 || (request_.count("host") == 0 && !request_.is_http_1_0)) {
    refuse(400, "the request must have one Host field");
  } else if (const auto* host = request_.field("host"); host && !is_proxy && !is_host(*host)) {
    refuse(400, "the Host field is not a host");
  } else if (const auto* expected = request_.field("expect")) {
    request_.expects_continue = lower_case(*expected) == "100-continue" && !request_.is_http_1_0;
    if (!request_.expects_continue) refuse(417, "the only supported expectation is 100-continue");
  } else if (request_.count("expect") > 1) {
    refuse(400, "the request has several Expect fields");
  }
  return state_ != State::refused;
}

// The length of the body must be certain.
bool RequestParser::check_framing() {
  const size_t lengths = request_.count("content-length"), encodings = request_.count("transfer-encoding");
  if (lengths + encodings > 1) {
    refuse(400, "the length of the request is given twice");
  } else if (const auto* length = request_.field("content-length");
             length && (!is_digits(*length) || length->size() > kMaxLengthDigits)) {
    refuse(400, "the Content-Length is not a number");
  } else if (const auto* encoding = request_.field("transfer-encoding")) {
    if (request_.is_http_1_0) {
      refuse(400, "HTTP/1.0 has no Transfer-Encoding");
    } else if (lower_case(*encoding) != "chunked") {
      refuse(501, "the only supported Transfer-Encoding is chunked");
    }
  }
  return state_ != State::refused;
}

size_t RequestParser::feed_body(std::string_view bytes) {
  size_t used = 0;
  while (used < bytes.size() && state_ == State::body) {
    if (body_state_ == BodyState::length || body_state_ == BodyState::data) {
      const std::string_view part = bytes.substr(used, remaining_);
      request_.body += part;
      used += part.size();
      remaining_ -= part.size();
      if (remaining_ > 0) continue;
      if (body_state_ == BodyState::length) state_ = State::full;
      body_state_ = BodyState::data_cr;
    } else {
      take_framing(bytes[used++]);
    }
  }
  return used;
}

// One byte of the framing of chunks, RFC 9112, section 7.1, without extensions and trailer fields. Beast's parser of
// chunks is not used: it has an assertion that a request without chunks fails if it comes in pieces (Boost 1.74), and
// it takes more forms of a chunk's line than other readers.
void RequestParser::take_framing(char c) {
  const auto expect = [&](char requested, BodyState next) {
    if (c == requested) {
      body_state_ = next;
    } else {
      refuse(400, "the chunks of the request are not valid");
    }
  };
  switch (body_state_) {
    case BodyState::size:
      if (const int digit = hex_digit(c); digit >= 0 && digits_ < kMaxSizeDigits) {
        remaining_ = remaining_ * 16 + static_cast<size_t>(digit);
        digits_++;
      } else if (c == ';') {
        refuse(400, "chunk extensions are not supported");
      } else {
        expect(digits_ > 0 ? '\r' : '\0', BodyState::size_lf);
      }
      break;
    case BodyState::size_lf:
      expect('\n', remaining_ > 0 ? BodyState::data : BodyState::end_cr);
      if (remaining_ > limits_.body_bytes - request_.body.size()) refuse(413, "the body of the request is too long");
      break;
    case BodyState::data_cr:
      expect('\r', BodyState::data_lf);
      break;
    case BodyState::data_lf:
      expect('\n', BodyState::size);
      remaining_ = digits_ = 0;
      break;
    case BodyState::end_cr:
      if (c != '\r') return refuse(400, "trailer fields are not supported");
      body_state_ = BodyState::end_lf;
      break;
    case BodyState::end_lf:
      expect('\n', BodyState::length);
      if (state_ == State::body) state_ = State::full;
      break;
    case BodyState::length:
    case BodyState::data:
      break;
  }
}

}  // namespace http

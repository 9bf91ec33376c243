// Secrets in answers: hidden in each form and in any cut of the bytes, and other text stays.
#include "supervisor/egress/secret_filter.h"

#include "supervisor/base/base64.h"
#include "supervisor/egress/forwarded_headers.h"
#include "tests/catch.h"

using egress::SecretFilter;

namespace {

std::string filtered(const std::string& secret, const std::string& text, size_t piece) {
  SecretFilter filter(secret);
  std::string passed;
  for (size_t at = 0; at < text.size(); at += piece) passed += filter.feed(std::string_view(text).substr(at, piece));
  return passed + filter.finish();
}

}  // namespace

TEST_CASE("a secret is hidden in any cut") {
  const std::string text = "a Bearer abcdefgh-123 b abcdefgh-123 c abcdefgh-12 abcdefabcdefgh-123";
  for (size_t piece = 1; piece <= text.size(); piece++) {
    INFO(piece);
    CHECK(filtered("Bearer abcdefgh-123", text, piece) == "a [secret] b [secret] c abcdefgh-12 abcdef[secret]");
  }
}

TEST_CASE("further forms") {
  CHECK(filtered("pass\"word/1+2", R"({"x":"pass\"word/1+2"} pass%22word%2F1%2B2)", 5) ==
        R"({"x":"[secret]"} [secret])");
  const std::string basic = "Basic " + to_base64("user:longpassword");
  CHECK(filtered(basic, "user:longpassword, longpassword, " + basic, 4) == "[secret], [secret], [secret]");
  CHECK(SecretFilter("Bearer abcdefgh-123").hide("x abcdefgh-123") == "x [secret]");
  CHECK(filtered("abcdefgh", "nothing here", 3) == "nothing here");
}

TEST_CASE("headers that are passed on") {
  const http::Headers fields = {
      {"connection", "X-One, keep-alive"}, {"x-one", "1"},   {"host", "a"},    {"content-length", "3"},
      {"accept-encoding", "gzip"},         {"x-key", "own"}, {"x-two", "2"},   {"te", "trailers"},
      {"proxy-authorization", "x"},        {"range", "1-"},  {"expect", "100"}};
  CHECK(egress::forwarded_headers(fields, "") ==
        http::Headers{{"accept-encoding", "gzip"}, {"x-key", "own"}, {"x-two", "2"}, {"range", "1-"}});
  CHECK(egress::forwarded_headers(fields, "X-Key") == http::Headers{{"x-two", "2"}});
  http::Headers overrides = {{"x-http-method-override", "DELETE"}, {"x-original-url", "/v2"}, {"x-two", "2"}};
  egress::drop_overrides(overrides);
  CHECK(overrides == http::Headers{{"x-two", "2"}});
  const http::Headers split = {{"x-a", "1\rTransfer-Encoding: chunked"}, {"x b", "1"}, {"x-c", "2"}};
  CHECK(egress::returned_headers(split, nullptr, true) == "x-c: 2\r\n");
  const SecretFilter filter("Bearer abcdefgh-123");
  const http::Headers returned = {
      {"content-length", "5"}, {"transfer-encoding", "chunked"}, {"x-echo", "abcdefgh-123"}};
  CHECK(egress::returned_headers(returned, &filter, true) == "x-echo: [secret]\r\n");
  CHECK(egress::returned_headers(returned, nullptr, false) == "content-length: 5\r\nx-echo: abcdefgh-123\r\n");
}

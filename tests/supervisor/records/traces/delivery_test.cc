#include "supervisor/records/traces/delivery.h"

#include "tests/catch.h"

using namespace traces;
using namespace std::chrono_literals;
using Verdict = Judgement::Verdict;

namespace {

http::HttpReply reply_of(int status, const std::string& body = "{}", const char* retry_after = nullptr) {
  http::HttpReply reply;
  reply.head.status = status;
  if (retry_after) reply.head.headers.emplace_back("retry-after", retry_after);
  reply.body = body;
  return reply;
}

}  // namespace

TEST_CASE("what a collector answers decides about a batch", "[traces]") {
  for (int status : {200, 202, 204}) CHECK(judge(reply_of(status), 3).verdict == Verdict::accepted);
  for (int status : {429, 502, 503, 504}) CHECK(judge(reply_of(status), 3).verdict == Verdict::again);
  for (int status : {301, 307, 400, 401, 404, 413, 500, 501, 505, 599})
    CHECK(judge(reply_of(status), 3).verdict == Verdict::refused);
  CHECK(judge(reply_of(400, R"({"message":"secret"})"), 3).why == "HTTP status 400");
  CHECK(judge(reply_of(200), 3).why.empty());
}

TEST_CASE("without an answer it is tried again, after a flood it is not", "[traces]") {
  const Judgement away = judge(fail(Code::unavailable, "not there", "start it"), 3);
  CHECK(away.verdict == Verdict::again);
  CHECK(away.pause == -1ms);
  CHECK(away.why == "not there; start it");
  CHECK(judge(fail(Code::exhausted, "too much"), 3).verdict == Verdict::refused);
  CHECK(judge(fail(Code::invalid, "no URL"), 3).verdict == Verdict::refused);
}

TEST_CASE("of a batch no more can be rejected than was sent", "[traces]") {
  auto [body, rejected] = GENERATE(table<std::string, size_t>({
      {R"({"partialSuccess":{"rejectedSpans":"2","errorMessage":"x"}})", 2},
      {R"({"partialSuccess":{"rejectedSpans":1}})", 1},
      {R"({"partialSuccess":{"rejectedSpans":"99999999999999999999999"}})", 0},
      {R"({"partialSuccess":{"rejectedSpans":4000000000}})", 3},
      {R"({"partialSuccess":{"rejectedSpans":-1}})", 0},
      {R"({"partialSuccess":{"rejectedSpans":[1]}})", 0},
      {R"({"partialSuccess":{}})", 0},
      {R"({"partialSuccess":7})", 0},
      {R"([1])", 0},
      {"<html>", 0},
      {"", 0},
  }));
  CAPTURE(body);
  const Judgement judged = judge(reply_of(200, body), 3);
  CHECK(judged.verdict == Verdict::accepted);
  CHECK(judged.rejected == rejected);
  CHECK(judged.why.empty() == (rejected == 0));
}

TEST_CASE("a collector says how long it wants to be left alone, within reason", "[traces]") {
  auto [header, pause] = GENERATE(table<const char*, std::chrono::milliseconds>({
      {"7", 7000ms},
      {"0", 0ms},
      {"301", 300'000ms},
      {"99999999999999999999999", 300'000ms},
      {"-1", -1ms},
      {"", -1ms},
      {"7s", -1ms},
      {"Wed, 21 Oct 2026 07:28:00 GMT", -1ms},
  }));
  CAPTURE(header);
  CHECK(judge(reply_of(503, "", header), 3).pause == pause);
  CHECK(judge(reply_of(503), 3).pause == -1ms);
}

TEST_CASE("pauses grow, by chance, up to half a minute", "[traces]") {
  for (unsigned failures : {1U, 2U, 3U, 6U, 7U, 100U, 4'000'000'000U}) {
    const auto full = std::min<int64_t>(1000LL << std::min(failures - 1, 8U), 32'000);
    for (int i = 0; i < 20; i++) {
      const auto pause = back_off(failures).count();
      CHECK(pause >= full / 2);
      CHECK(pause <= full);
    }
  }
}

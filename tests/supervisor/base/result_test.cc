#include "supervisor/base/result.h"

#include <fcntl.h>

#include <memory>

#include "supervisor/base/fd.h"
#include "supervisor/base/task.h"
#include "tests/catch.h"

namespace {
Result<int> half(int n) {
  if (n % 2 != 0) return fail(Code::invalid, "odd", "give an even number", "numbers.even");
  return n / 2;
}
Result<int> quarter(int n) {
  TRY(int h, half(n));
  TRY(int q, half(h));
  return q;
}
Result<> check(int n) {
  CHECKED(half(n));
  return {};
}
Task<Result<std::unique_ptr<int>>> boxed(int n) {
  CO_CHECKED(check(n));
  CO_TRY(int h, half(n));
  co_return std::make_unique<int>(h);
}
}  // namespace

TEST_CASE("TRY hands on the first error, whole", "[result]") {
  CHECK(quarter(8).value() == 2);
  auto failed = quarter(6);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().what == "odd");
  CHECK(failed.error().hint == "give an even number");
  CHECK(failed.error().rule == "numbers.even");
  CHECK_FALSE(check(3));
  CHECK(check(4));
}

TEST_CASE("CO_TRY does the same in a task, for values that only move", "[result]") {
  auto good = boxed(4);
  good.resume();
  auto value = std::move(good).operator co_await().await_resume();
  REQUIRE(value);
  CHECK(**value == 2);
  auto bad = boxed(5);
  bad.resume();
  CHECK(std::move(bad).operator co_await().await_resume().error().what == "odd");
}

TEST_CASE("a failed system call tells what and why", "[result]") {
  Result<> failed = fail_errno(ENOENT, "open '/srv/a'", Code::not_found);
  CHECK(failed.error().what == "open '/srv/a': No such file or directory");
  CHECK(failed.error().err == ENOENT);
  CHECK(std::move(failed.error()).within("tenant 'acme'").what ==
        "tenant 'acme': open '/srv/a': No such file or directory");
}

TEST_CASE("every code has a name", "[result]") {
  CHECK(code_name(Code::invalid) == "invalid");
  CHECK(code_name(Code::not_found) == "not_found");
  CHECK(code_name(Code::denied) == "denied");
  CHECK(code_name(Code::exhausted) == "exhausted");
  CHECK(code_name(Code::unavailable) == "unavailable");
  CHECK(code_name(Code::internal) == "internal");
}

TEST_CASE("an Fd closes once, when its last owner goes", "[fd]") {
  int pair[2];
  REQUIRE(::pipe2(pair, O_CLOEXEC) == 0);
  auto is_open = [](int fd) { return ::fcntl(fd, F_GETFD) >= 0; };
  {
    Fd first(pair[0]);
    Fd second(std::move(first));
    CHECK_FALSE(first);
    CHECK(second.get() == pair[0]);
    second = Fd(pair[1]);
    CHECK_FALSE(is_open(pair[0]));
    Fd& same = second;
    second = std::move(same);
    CHECK(is_open(pair[1]));
    CHECK(Fd(second.release()).get() == pair[1]);
    CHECK_FALSE(second);
  }
  CHECK_FALSE(is_open(pair[1]));
}

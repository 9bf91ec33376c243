// Result<T>: a value, or the Error why there is no value. The whole daemon has one error type.
// Source: the function that could not do its work. Handled by: the owner of the request, which logs it once. A Result
// is for "this could not be done". The end of a jailed program (exit 1, killed for memory, timed out) is not an error:
// see jail/execution/outcome.h.
#pragma once
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <tl/expected.hpp>
#include <utility>

// Error codes, by the action that the caller can take.
enum class Code {
  invalid,      // the request is wrong: correct it
  not_found,    // the named thing does not exist
  denied,       // a policy or the kernel forbids the request
  exhausted,    // a limit or quota is reached: free resources or wait
  unavailable,  // this machine or moment cannot do it: try later or elsewhere
  internal,     // the daemon failed
};

// The name of a code in messages: "invalid", "not_found", ...
constexpr std::string_view code_name(Code code) {
  switch (code) {
    case Code::invalid:
      return "invalid";
    case Code::not_found:
      return "not_found";
    case Code::denied:
      return "denied";
    case Code::exhausted:
      return "exhausted";
    case Code::unavailable:
      return "unavailable";
    case Code::internal:
      return "internal";
  }
  return "internal";
}

struct [[nodiscard]] Error {
  Code code = Code::internal;
  int err = 0;       // errno, positive; 0 when no system call failed
  std::string what;  // "open workspace '/srv/a': Permission denied"
  std::string hint;  // the reader's next action; may be empty
  std::string rule;  // the policy rule behind a refusal, "limits.executions"; may be empty
  // The step that failed, where the work has named steps (jail/init_report.h): "root_overlay". A constant; may be
  // empty.
  std::string_view step = {};

  // Adds the place of the error, outermost first: "tenant 'acme': open ...".
  Error within(std::string_view context) && {
    what.insert(0, std::string(context) + ": ");
    return std::move(*this);
  }
};

template <class T = void>
using Result = tl::expected<T, Error>;

inline auto fail(Code code, std::string problem, std::string hint = {}, std::string rule = {}) {
  return tl::unexpected<Error>(Error{code, 0, std::move(problem), std::move(hint), std::move(rule)});
}

// A failed system call as an Error: fail_errno(errno, "open '/srv/a'"). errno is an argument, so that the construction
// of the text cannot change it first.
inline auto fail_errno(int err, std::string_view problem, Code code = Code::internal) {
  std::string text(problem);
  text += ": ";
  text += std::generic_category().message(err);
  return tl::unexpected<Error>(Error{code, err, std::move(text), {}, {}});
}

// TRY(auto fd, open_dir(path));   in functions.    CO_TRY(...) in coroutines.
// Statements, not expressions: g++ 12 miscompiles statement-expressions that hold co_await or
// co_return (GCC PR 115851).
#define TRY_CAT2(a, b) a##b
#define TRY_CAT(a, b) TRY_CAT2(a, b)
#define TRY_IMPL(ret, tmp, decl, ...)                  \
  auto tmp = (__VA_ARGS__);                            \
  if (!tmp) [[unlikely]]                               \
    ret tl::unexpected<Error>(std::move(tmp).error()); \
  decl = *std::move(tmp)
#define TRY(decl, ...) TRY_IMPL(return, TRY_CAT(try_, __COUNTER__), decl, __VA_ARGS__)
#define CO_TRY(decl, ...) TRY_IMPL(co_return, TRY_CAT(try_, __COUNTER__), decl, __VA_ARGS__)
#define TRY_VOID_IMPL(ret, tmp, ...)                     \
  do {                                                   \
    auto tmp = (__VA_ARGS__);                            \
    if (!tmp) [[unlikely]]                               \
      ret tl::unexpected<Error>(std::move(tmp).error()); \
  } while (0)
#define CHECKED(...) TRY_VOID_IMPL(return, TRY_CAT(try_, __COUNTER__), __VA_ARGS__)
#define CO_CHECKED(...) TRY_VOID_IMPL(co_return, TRY_CAT(try_, __COUNTER__), __VA_ARGS__)

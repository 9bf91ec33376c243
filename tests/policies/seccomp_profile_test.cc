#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "policies/seccomp.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"
#include "tests/policies/bpf_evaluator.h"

using namespace policies;

namespace {
Json profile(Json more = Json::object()) {
  Json document = {{"comment", "c"}, {"newest", "set_mempolicy_home_node"}};
  document.update(more);
  return document;
}
Json rule(Json calls, Json when = {}) {
  Json r = {{"comment", "c"}, {"calls", std::move(calls)}};
  if (!when.is_null()) r["when"] = std::move(when);
  return r;
}
std::string profile_problems(const Json& document) {
  auto parsed = parse_seccomp("p", document, nullptr);
  if (parsed) return "";
  std::string all;
  for (const auto& problem : parsed.error()) all += (all.empty() ? "" : "\n") + problem.what;
  return all;
}
std::string with_test(Json test) {
  return profile_problems(profile({{"allow", Json::array({rule({"socket"}, Json::array({test}))})}}));
}
}  // namespace

TEST_CASE("a profile that is not understood in full is refused", "[seccomp]") {
  CHECK(profile_problems(Json::array()) == "a list is not an object");
  CHECK(profile_problems(Json::object()) == "comment: missing\nnewest: missing");
  CHECK(profile_problems(profile({{"newest", "zzz"}})) == "newest: \"zzz\" is not a system call of this machine");
  CHECK(profile_problems(profile({{"allow", 5}})) == "allow: not a list");
  CHECK(profile_problems(profile({{"allow", Json::array({5})}})) == "allow[0]: 5 is not an object");
  CHECK(profile_problems(profile({{"allow", Json::array({rule(Json::array())})}})) ==
        "allow[0].calls: not a list of 1 to 512 names");
  CHECK(profile_problems(profile({{"kill", Json::array({rule({"ptrace"}, Json::array())})}})) ==
        "kill[0].when: unknown key; known keys: calls, comment");
  CHECK(profile_problems(profile({{"allow", Json::array({rule({"ptraze"})})}}))
            .starts_with("allow[0].calls: \"ptraze\" is not a system call that libseccomp"));
  CHECK(profile_problems(profile({{"log", 1}})) == "log: 1 is not true or false");
  for (const char* call : {"io_uring_setup", "bpf", "mount", "keyctl", "unshare"}) {
    CHECK(profile_problems(profile({{"allow", Json::array({rule({"read", call})})}})) ==
          std::string("allow[0].calls: \"") + call + "\" is refused in every jail: remove it from `allow`");
    CHECK(profile_problems(profile({{"deny", Json::array({rule({call})})}})) == "");
  }
}

TEST_CASE("a test of an argument that is not understood is refused", "[seccomp]") {
  CHECK(with_test({{"argument", 0}, {"one_of", {"AF_UNIX"}}}) == "");
  CHECK(with_test({{"argument", 6}, {"one_of", {1}}}) == "allow[0].when[0].argument: 6 is outside 0..5");
  CHECK(with_test({{"argument", 0}}) ==
        "allow[0].when[0]: needs one_of (with or without mask) or without, and not both");
  CHECK(with_test({{"argument", 0}, {"one_of", {"AF_UNIXX"}}}) ==
        "allow[0].when[0].one_of[0]: \"AF_UNIXX\" is not a known constant");
  CHECK(with_test({{"argument", 0}, {"one_of", {4294967296}}}) ==
        "allow[0].when[0].one_of[0]: not the name of a constant or a number in 0..4294967295");
  CHECK(with_test({{"argument", 0}, {"one_of", Json::array()}}) ==
        "allow[0].when[0].one_of: not a list of 1 to 64 values");
  CHECK(with_test({{"argument", 0}, {"mask", {1}}, {"one_of", {2}}}) ==
        "allow[0].when[0].one_of: 0x2 has bits outside of the mask 0x1");
  CHECK(with_test({{"argument", 0}, {"without", {1}}, {"mask", {1}}}) ==
        "allow[0].when[0].mask: unknown key; known keys: argument, without");
  Json twice = Json::array({{{"argument", 0}, {"one_of", {1}}}, {{"argument", 0}, {"without", {2}}}});
  CHECK(profile_problems(profile({{"allow", Json::array({rule({"socket"}, twice)})}})) ==
        "allow[0].when: tests argument 0 twice");
}

TEST_CASE("an errno that is not understood is refused", "[seccomp]") {
  const Json test = Json::array({{{"argument", 0}, {"one_of", {1}}}});
  auto with_errno = [](Json item, Json error) {
    item["errno"] = std::move(error);
    return item;
  };
  CHECK(profile_problems(profile({{"deny", {with_errno(rule({"read"}), "ENOTTY")}}})) == "");
  CHECK(profile_problems(profile({{"allow", {with_errno(rule({"read"}, test), "ENOTTY")}}})) == "");
  CHECK(profile_problems(profile({{"deny", {with_errno(rule({"read"}), "ESUCCESS")}}})) ==
        "deny[0].errno: \"ESUCCESS\" is not one of: EPERM, EACCES, EAFNOSUPPORT, EINVAL, ENODEV, ENOSYS, ENOTTY, "
        "EOPNOTSUPP, EPROTONOSUPPORT");
  CHECK(profile_problems(profile({{"deny", {with_errno(rule({"read"}), 0)}}})).starts_with("deny[0].errno: "));
  CHECK(profile_problems(profile({{"missing", {with_errno(rule({"read"}), "EPERM")}}})) ==
        "missing[0].errno: unknown key; known keys: calls, comment");
  CHECK(profile_problems(profile({{"allow", {with_errno(rule({"read"}), "EPERM")}}})) ==
        "allow[0].errno: is for calls that are allowed under conditions (`when`) only");
  CHECK(profile_problems(profile({{"allow",
                                   {with_errno(rule({"read"}, test), "EINVAL"), rule({"read"}, test),
                                    with_errno(rule({"read"}, test), "ENOTTY")}}})) ==
        "read: is allowed by two rules that name different values of errno");
}

TEST_CASE("a call answers the errno that its rules name, whatever the other calls answer", "[seccomp]") {
  const Json item = Json::array({{{"argument", 0}, {"one_of", {1}}}}),
             two = Json::array({{{"argument", 0}, {"one_of", {2}}}});
  Json socket = rule({"socket"}, item), call = rule({"fcntl", "prctl"}, item), denied = rule({"setxattr"});
  socket["errno"] = "EAFNOSUPPORT";
  call["errno"] = "EINVAL";
  denied["errno"] = "EOPNOTSUPP";
  auto parsed =
      parse_seccomp("p",
                    profile({{"allow", {rule({"read"}), socket, rule({"socket"}, two), call, rule({"chmod"}, item)}},
                             {"deny", {denied, rule({"chroot"})}}}),
                    nullptr);
  REQUIRE(parsed);
  auto program = compile_seccomp(*parsed);
  REQUIRE(program);
  auto answer = [&](int number, uint64_t argument) {
    seccomp_data data{};
    data.nr = number;
    data.arch = seccomp_arch_native();
    data.args[0] = argument;
    return evaluate(*program, data).action;
  };
  constexpr uint32_t kAllow = SECCOMP_RET_ALLOW, kErrno = SECCOMP_RET_ERRNO;
  CHECK(answer(SYS_read, 5) == kAllow);
  CHECK(answer(SYS_socket, 1) == kAllow);
  CHECK(answer(SYS_socket, 2) == kAllow);
  CHECK(answer(SYS_socket, 3) == (kErrno | EAFNOSUPPORT));
  for (int number : {SYS_fcntl, SYS_prctl}) {
    CHECK(answer(number, 1) == kAllow);
    CHECK(answer(number, 2) == (kErrno | EINVAL));
  }
  CHECK(answer(SYS_chmod, 1) == kAllow);
  CHECK(answer(SYS_chmod, 2) == (kErrno | EPERM));
  CHECK(answer(SYS_setxattr, 1) == (kErrno | EOPNOTSUPP));
  CHECK(answer(SYS_chroot, 1) == (kErrno | EPERM));
  CHECK(answer(SYS_write, 1) == (kErrno | EPERM));
}

TEST_CASE("a profile may not contradict itself", "[seccomp]") {
  const Json test = Json::array({{{"argument", 0}, {"one_of", {1}}}});
  CHECK(profile_problems(profile({{"allow", {rule({"read"})}}, {"kill", {rule({"read"})}}})) ==
        "read: is listed in two rules, and one of them has no conditions");
  CHECK(profile_problems(profile({{"allow", {rule({"read"}, test), rule({"read"})}}})) ==
        "read: is listed in two rules, and one of them has no conditions");
  CHECK(profile_problems(profile({{"allow", {rule({"read"}, test), rule({"read"}, test)}}})) == "");
}

TEST_CASE("what an extending profile says about a call replaces what was said", "[seccomp]") {
  auto base =
      parse_seccomp("base", profile({{"allow", {rule({"read", "write"})}}, {"kill", {rule({"ptrace"})}}}), nullptr);
  REQUIRE(base);
  Json child = {{"comment", "c"}, {"log", true}, {"allow", {rule({"ptrace"})}}, {"deny", {rule({"write"})}}};
  auto parsed = parse_seccomp("child", child, &*base);
  REQUIRE(parsed);
  CHECK(parsed->newest == "set_mempolicy_home_node");
  CHECK(seccomp_flags(*parsed) == SECCOMP_FILTER_FLAG_LOG);
  CHECK(seccomp_flags(*base) == 0);
  std::vector<std::string> allowed;
  for (const auto& r : parsed->allow) allowed.insert(allowed.end(), r.calls.begin(), r.calls.end());
  CHECK(allowed == std::vector<std::string>{"ptrace", "read"});
  CHECK(parsed->kill.empty());
  // And a profile that extends that one inherits the logging.
  auto third = parse_seccomp("third", {{"comment", "c"}}, &*parsed);
  REQUIRE(third);
  CHECK(third->log);
}

TEST_CASE("constants have the values of the headers", "[seccomp]") {
  CHECK(seccomp_constant("AF_INET6") == AF_INET6);
  CHECK(seccomp_constant("TIOCSTI") == 0x5412u);
  CHECK(seccomp_constant("CLONE_NEWUSER") == 0x10000000u);
  CHECK_FALSE(seccomp_constant("NO_SUCH"));
}

TEST_CASE("a profile that compiles to more than the kernel takes is refused", "[seccomp]") {
  // Values of its own for each call: equal chains would be shared.
  Json rules = Json::array();
  for (int number = 0; number < 64; number++) {
    const std::unique_ptr<char, decltype(&std::free)> name(seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, number),
                                                           &std::free);
    Json values = Json::array();
    for (int i = 0; i < 64; i++) values.push_back(2 * (number * 64 + i));  // neighbours would be one range
    rules.push_back(rule({name.get()}, Json::array({{{"argument", 0}, {"one_of", values}}})));
  }
  auto parsed = parse_seccomp("huge", profile({{"allow", rules}}), nullptr);
  REQUIRE(parsed);
  auto program = compile_seccomp(*parsed);
  REQUIRE_FALSE(program);
  CHECK(program.error().code == Code::invalid);
  CHECK(program.error().what.find("instructions are more than the kernel's limit of 4096") != std::string::npos);
}

TEST_CASE("many combinations of values are a short filter, and too many values are refused", "[seccomp]") {
  Json values = Json::array(), tests = Json::array();
  for (int i = 0; i < 64; i++) values.push_back(2 * i);
  for (int argument = 0; argument < 6; argument++) tests.push_back({{"argument", argument}, {"one_of", values}});
  auto parsed = parse_seccomp("long", profile({{"allow", Json::array({rule({"socket"}, tests)})}}), nullptr);
  REQUIRE(parsed);
  auto program = compile_seccomp(*parsed);
  REQUIRE(program);
  CHECK(program->size() < 500);

  std::vector<std::string> calls;
  for (const char* call :
       {"socket", "bind",     "listen",  "accept",  "accept4",  "connect", "getsockname", "getpeername",
        "sendto", "recvfrom", "sendmsg", "recvmsg", "shutdown", "dup",     "dup2",        "dup3",
        "pipe",   "pipe2",    "poll",    "ppoll",   "fcntl",    "ioctl"})
    calls.emplace_back(call);
  CHECK(profile_problems(profile({{"allow", Json::array({rule(calls, tests)})}})) ==
        "allow: calls multiplied by values are more than 8192");
}

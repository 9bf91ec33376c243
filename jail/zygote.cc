#include "jail/zygote.h"

#include <fmt/format.h>

#include <algorithm>

#include "jail/sealed_plan.h"
#include "jail/talk/guest_message.h"
#include "supervisor/base/json/json_value.h"

namespace jail {
namespace {

using namespace std::chrono_literals;

constexpr auto kZygoteReadyLimit = 60s;  // whole seconds are needed only under emulation
constexpr auto kProofLimit = 20s;        // likewise; a copy that hangs stops the pool from building other jails

std::vector<std::string> python_command(const std::vector<std::string>& modules) {
  std::vector<std::string> command = {"/usr/bin/python3", "-I", "-B", "-u", "/warder/python/zygote.py"};
  std::string list;
  for (const auto& name : modules) list += (list.empty() ? "" : ",") + name;
  if (!list.empty()) command.push_back(std::move(list));
  return command;
}

// Node takes the lowest free descriptors, and libuv replaces some of its own after a fork. So the shell first occupies
// the numbers that a jail's init uses (plan.h). The preloaded object handles Node's threads (zygote/threads.h). The
// shell's own addition to the environment is removed.
constexpr const char* kBeginNode =
    "unset PWD; LD_PRELOAD=/warder/zygote/_warder_fork.node exec \"$0\" \"$@\" 4<&0 5<&0";

// The runner's command, with another entry file, and with flags that keep V8 to one thread and stop its memory reducer.
std::vector<std::string> node_command(Language language, const policies::Limits& limits) {
  auto node = command_of(language, limits);
  *std::find(node.begin(), node.end(), "/warder/javascript/runner.js") = "/warder/javascript/zygote.js";
  node.insert(node.begin() + 1, {"--single-threaded", "--v8-pool-size=1", "--no-memory-reducer"});
  node.insert(node.begin(), {"/bin/sh", "-c", kBeginNode});
  for (auto& word : warming_of(language)) node.push_back(std::move(word));
  return node;
}

// Exercises what breaks if a Node version cannot be forked: garbage collector, optimising compiler, event loop,
// threads.
constexpr const char* kProof = R"(
const list = Array.from({length: 50000}, (_, i) => ({i, text: `n${i}`}));
let sum = 0;
for (let round = 0; round < 10; round++) for (const {i, text} of list) sum = (sum * 31 + i + text.length) % 1000003;
const text = await fs.promises.readFile("/etc/hostname", "utf8");
require("v8").setFlagsFromString("--expose-gc");
require("vm").runInNewContext("gc")();
const {Worker} = require("worker_threads");
await new Promise((end, fail) => new Worker("0", {eval: true}).on("exit", end).on("error", fail));
return [sum, text.trim(), await new Promise((resolve) => setTimeout(resolve, 1, "timer"))];
)";
constexpr const char* kProved = R"([243938,"jail","timer"])";

}  // namespace

// Node does not promise to work after a fork: a newer version may end, hang, or compute wrongly. Each zygote's first
// copy is tested.
Task<Result<>> Zygote::prove(Host& host, std::shared_ptr<Zygote> zygote, Spec spec) {
  spec.name += "-proof";
  Deadline forked(host.loop, kProofLimit, [&zygote] { zygote->home().kill(); });
  CO_TRY(auto jail, co_await Jail::fork(host, zygote, std::move(spec), JailPurpose::stock));
  Deadline limit(host.loop, kProofLimit, [&jail] { jail->kill(); });
  CO_CHECKED(co_await jail->wait_until_ready());
  const Json order = {{"type", "run"}, {"code", kProof}, {"workspace", "/"}, {"context_vars", Json::object()}};
  CO_CHECKED(co_await jail->guest().send(order.dump()));
  CO_TRY(auto message, co_await jail->guest().receive());
  if (!message) co_return fail(Code::unavailable, "the first fork ended in the middle of a program");
  const std::string text = message->dump();
  CO_TRY(GuestMessage guest_message, read_guest_message(*std::move(message)));
  const auto* result = std::get_if<GuestResult>(&guest_message);
  if (!result || !result->value || result->value->dump() != kProved)
    co_return fail(Code::unavailable, "the first fork did not run its program correctly: " + text);
  co_return Result<>{};
}

Task<Result<std::shared_ptr<Zygote>>> Zygote::start(Host& host, Spec spec, std::vector<std::string> modules) {
  const Spec copies = spec;
  spec.command =
      runs_in_node(spec.language) ? node_command(spec.language, spec.limits) : python_command(std::move(modules));
  auto zygote = std::shared_ptr<Zygote>(new Zygote);
  CO_TRY(zygote->fork_plan_, seal_plan(host, copies, Role::forked));
  CO_TRY(zygote->home_, co_await Jail::build_home(host, std::move(spec)));
  Jail* home = zygote->home_.get();
  Deadline limit(host.loop, kZygoteReadyLimit, [home] { home->kill(); });
  CO_CHECKED(co_await home->wait_until_ready());
  auto lost = [alive = zygote->alive_] { *alive = false; };
  zygote->orders_ = JailerClient::start_of_zygote(host.loop, home->guest().take_socket(), std::move(lost));
  if (runs_in_node(copies.language)) {
    auto proved = co_await prove(host, zygote, copies);
    if (!proved) {
      co_await next_turn(host.loop);  // the caller may run inside the handler of the zygote's own message, and
                                      // destroying the zygote ends that handler
      co_return tl::unexpected<Error>(std::move(proved).error());
    }
  }
  co_return zygote;
}

}  // namespace jail

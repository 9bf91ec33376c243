#include "jail/zygote.h"

#include <fmt/format.h>

#include "jail/sealed_plan.h"

namespace jail {
namespace {

using namespace std::chrono_literals;

constexpr auto kReadyLimit = 60s;  // seconds only under emulation

}  // namespace

Task<Result<std::shared_ptr<Zygote>>> Zygote::start(Host& host, Spec spec, std::vector<std::string> modules) {
  auto zygote = std::shared_ptr<Zygote>(new Zygote);
  CO_TRY(zygote->fork_plan_, seal_plan(host, spec, Role::forked));
  spec.command = {"/usr/bin/python3", "-I", "-u", "/warder/python/zygote.py"};
  std::string list;
  for (const auto& name : modules) list += (list.empty() ? "" : ",") + name;
  if (!list.empty()) spec.command.push_back(std::move(list));
  CO_TRY(zygote->home_, co_await Jail::build_home(host, std::move(spec)));
  Jail* home = zygote->home_.get();
  Deadline limit(host.loop, kReadyLimit, [home] { home->kill(); });
  CO_CHECKED(co_await home->wait_until_ready());
  auto lost = [alive = zygote->alive_] { *alive = false; };
  zygote->orders_ = JailerClient::start(host.loop, home->guest().take_socket(), std::move(lost));
  co_return zygote;
}

}  // namespace jail

#include "jail/network_view.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/base/fd.h"
#include "tests/catch.h"
#include "tests/jail/planted_network.h"

namespace {

// What view_network() says of a fresh network namespace with lo, after `plant` changed it: "counts|foreign|foreign", or
// "cannot: reason". A child process does this, because a user namespace needs a process with one thread.
std::string seen_with(std::string (*plant)()) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::string said;
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) {
      said = "cannot: no network namespace";
    } else if (std::string why = raise_lo() + (plant ? plant() : ""); !why.empty()) {
      said = "cannot: " + why;
    } else if (auto view = jail::view_network(open_netlink()); !view) {
      said = view.error().what;
    } else {
      said = counts_of(*view);
      for (const auto& one : view->foreign) said += "|" + one;
    }
    (void)!::write(theirs.get(), said.data(), said.size());
    ::_exit(0);
  }
  theirs.reset();
  std::string said(4096, '\0');
  size_t size = 0;
  for (ssize_t got; (got = ::read(ours.get(), said.data() + size, said.size() - size)) > 0;)
    size += static_cast<size_t>(got);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  said.resize(size);
  return said;
}

}  // namespace

TEST_CASE("a network namespace with lo only holds nothing else", "[jail]") {
  const std::string said = seen_with(nullptr);
  if (said.starts_with("cannot: ")) {
    WARN("skipped: " << said);
    return;
  }
  CHECK(said.starts_with("1 link, "));
  CHECK(said.find('|') == said.npos);
}

TEST_CASE("what is planted beside lo in a network namespace is named", "[jail]") {
  struct Plant {
    std::string (*run)();
    const char* shown;
  };
  const auto plant =
      GENERATE(values<Plant>({{plant_link, "|link planted"},
                              {plant_address, "|address 192.0.2.1"},
                              {plant_route, "|route 198.51.100.0/24 in table 254"},
                              {plant_neighbour, "|neighbour 0.0.0.0"},  // arp(7): on lo the kernel keeps one address
                              {plant_rule, "|rule 77 to table 100"}}));
  const std::string said = seen_with(plant.run);
  INFO(said << " for " << plant.shown);
  if (said.starts_with("cannot: ")) {
    WARN("skipped: " << plant.shown << ": " << said);
    return;
  }
  CHECK(said.find(plant.shown) != said.npos);
}

TEST_CASE("a descriptor that is no netlink socket shows no network", "[jail]") {
  auto view = jail::view_network(Fd(::dup(STDERR_FILENO)));
  REQUIRE_FALSE(view);
  CHECK(view.error().code == Code::unavailable);
}

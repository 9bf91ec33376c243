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
    std::string text;
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) {
      text = "cannot: no network namespace";
    } else if (std::string why = raise_lo() + (plant ? plant() : ""); !why.empty()) {
      text = "cannot: " + why;
    } else if (auto view = jail::view_network(open_netlink()); !view) {
      text = view.error().what;
    } else {
      text = counts_of(*view);
      for (const auto& item : view->foreign) text += "|" + item;
    }
    (void)!::write(theirs.get(), text.data(), text.size());
    ::_exit(0);
  }
  theirs.reset();
  std::string text(4096, '\0');
  size_t size = 0;
  for (ssize_t got; (got = ::read(ours.get(), text.data() + size, text.size() - size)) > 0;)
    size += static_cast<size_t>(got);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  text.resize(size);
  return text;
}

}  // namespace

TEST_CASE("a network namespace with lo only holds nothing else", "[jail]") {
  const std::string text = seen_with(nullptr);
  if (text.starts_with("cannot: ")) {
    WARN("skipped: " << text);
    return;
  }
  CHECK(text.starts_with("1 link, "));
  CHECK(text.find('|') == text.npos);
}

TEST_CASE("what is planted beside lo in a network namespace is named", "[jail]") {
  struct Plant {
    std::string (*run)();
    const char* displayed;
  };
  const auto plant =
      GENERATE(values<Plant>({{plant_link, "|link planted"},
                              {plant_address, "|address 192.0.2.1"},
                              {plant_route, "|route 198.51.100.0/24 in table 254"},
                              {plant_neighbour, "|neighbour 0.0.0.0"},  // arp(7): on lo the kernel keeps one address
                              {plant_rule, "|rule 77 to table 100"}}));
  const std::string text = seen_with(plant.run);
  INFO(text << " for " << plant.displayed);
  if (text.starts_with("cannot: ")) {
    WARN("skipped: " << plant.displayed << ": " << text);
    return;
  }
  CHECK(text.find(plant.displayed) != text.npos);
}

TEST_CASE("a descriptor that is no netlink socket shows no network", "[jail]") {
  auto view = jail::view_network(Fd(::dup(STDERR_FILENO)));
  REQUIRE_FALSE(view);
  CHECK(view.error().code == Code::unavailable);
}

#include "supervisor/programs/cli/servers/network.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "supervisor/programs/cli/servers/drop_ins.h"
#include "supervisor/programs/cli/servers/started_program.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

constexpr char kUnitFolder[] = "/etc/systemd/system/warder.service.d";
constexpr char kUnitDropIn[] = "/etc/systemd/system/warder.service.d/network.conf";
// All addresses: those of a server's name change. Jails still have no network.
constexpr char kUnitText[] =
    "# Written by `warder servers add --open-network`: the daemon calls upstream servers over HTTP.\n"
    "# Name addresses with IPAddressAllow= and remove IPAddressDeny= to allow less: units/README.md.\n"
    "[Service]\nPrivateNetwork=no\nIPAddressDeny=\n";

bool has_file(const char* path) {
  struct stat status {};
  return ::stat(path, &status) == 0;
}

Result<> apply_unit() {
  CHECKED(run_program({"systemctl", "daemon-reload"}));
  // Clients stay connected over a restart: the service manager holds their connections.
  return run_program({"systemctl", "try-restart", "warder.service"});
}

}  // namespace

std::string network_advice(const std::string& url) {
  if (url.starts_with("unix://") || !has_file("/run/systemd/system") || has_file(kUnitDropIn)) return {};
  return "warder.service has no network, so it cannot reach " + url +
         ". To give it one, as root:\n"
         "  mkdir -p /etc/systemd/system/warder.service.d\n"
         "  printf '[Service]\\nPrivateNetwork=no\\nIPAddressDeny=\\n' > "
         "/etc/systemd/system/warder.service.d/network.conf\n"
         "  systemctl daemon-reload && systemctl restart warder\n"
         "or add the server with --open-network, which does this. Jails still have no network\n";
}

OpenedNetwork::OpenedNetwork(OpenedNetwork&& other) noexcept { *this = std::move(other); }

OpenedNetwork& OpenedNetwork::operator=(OpenedNetwork&& other) noexcept {
  std::swap(written_, other.written_);
  return *this;
}

OpenedNetwork::~OpenedNetwork() {
  if (!written_) return;
  Result<> closed;
  if (::unlink(kUnitDropIn) < 0 && errno != ENOENT) closed = fail_errno(errno, std::string("remove ") + kUnitDropIn);
  if (closed) closed = apply_unit();
  if (closed) {
    cli::print_text(stderr, std::string(kUnitDropIn) + " was removed again: the service has no network, as before\n");
    return;
  }
  cli::print_text(stderr, "the service may still have a network: " + closed.error().what + "; rm " + kUnitDropIn +
                              ", then: systemctl daemon-reload && systemctl try-restart warder\n");
}

Result<OpenedNetwork> OpenedNetwork::open() {
  if (::geteuid() != 0) return fail(Code::denied, "--open-network changes a unit of the system", "call as root");
  if (!has_file("/run/systemd/system"))
    return fail(Code::unavailable, "--open-network: no systemd runs here",
                "a daemon without a unit has the network of its user");
  std::error_code error;
  std::filesystem::create_directories(kUnitFolder, error);
  if (error) return fail_errno(error.value(), std::string("make the folder ") + kUnitFolder);
  OpenedNetwork network;
  if (has_file(kUnitDropIn)) {
    cli::print_text(stderr, std::string(kUnitDropIn) + " exists and stays as it is\n");
    return network;
  }
  CHECKED(replace_text_file(kUnitDropIn, kUnitText, 0644));
  network.written_ = true;
  CHECKED(apply_unit());
  cli::print_text(stderr, std::string(kUnitDropIn) + " was written, and the service restarted: it has a network now\n");
  return network;
}

}  // namespace admin

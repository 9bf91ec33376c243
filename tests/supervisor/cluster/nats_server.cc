#include "nats_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace cluster {
namespace {

sockaddr_in loopback_address(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A socket with a port that the kernel gives to nobody else. nats-server sets SO_REUSEADDR, and so listens there beside
// it.
Fd held_loopback_port() {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback_address(0);
  const int on = 1;
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
    throw std::system_error(errno, std::generic_category(), "find a free port");
  return socket;
}

int port_of(const Fd& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) < 0)
    throw std::system_error(errno, std::generic_category(), "find a free port");
  return ntohs(address.sin_port);
}

bool is_listening(int port) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback_address(port);
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

std::string NatsServerProcess::program() {
  for (const char* path : {"/usr/sbin/nats-server", "/usr/bin/nats-server", "/usr/local/bin/nats-server"})
    if (::access(path, X_OK) == 0) return path;
  return {};
}

NatsServerProcess::NatsServerProcess(std::string configuration)
    : configuration_(std::move(configuration)), holder_(held_loopback_port()), port_(port_of(holder_)) {
  restart();
}

std::string NatsServerProcess::url(const std::string& scheme) const {
  return fmt::format("{}://127.0.0.1:{}", scheme, port_);
}

void NatsServerProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

void NatsServerProcess::restart() {
  kill();
  const std::string file = folder() / "nats.conf", log = folder() / "nats.log", path = program();
  std::ofstream(file) << fmt::format("listen: 127.0.0.1:{}\njetstream: {{store_dir: \"{}\"}}\n{}\n", port_,
                                     (folder() / "store").string(), configuration_);
  pid_ = ::fork();
  if (pid_ == 0) {  // only what is safe after fork(2) in a process with threads
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(out, 1);
    ::dup2(out, 2);
    ::execl(path.c_str(), path.c_str(), "-c", file.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  for (int i = 0; i < 2'000; i++) {
    if (is_listening(port_)) return;
    if (::waitpid(pid_, nullptr, WNOHANG) != 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::ostringstream text;
  text << std::ifstream(log).rdbuf();
  throw std::runtime_error("nats-server does not listen: " + text.str());
}

void NatsServerProcess::stop() { ::kill(pid_, SIGSTOP); }
void NatsServerProcess::go_on() { ::kill(pid_, SIGCONT); }
void NatsServerProcess::send_raw(const std::string& lines) const {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback_address(port_);
  const std::string text = "CONNECT {\"verbose\":false,\"headers\":true}\r\n" + lines + "PING\r\n";
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0 ||
      ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
    throw std::system_error(errno, std::generic_category(), "send to nats-server");
  std::string answer;
  for (char c = 0; !answer.ends_with("PONG\r\n"); answer += c)
    if (::recv(socket.get(), &c, 1, 0) != 1) throw std::runtime_error("nats-server refuses the lines: " + answer);
}

void NatsServerProcess::forget_buckets() { std::filesystem::remove_all(folder() / "store"); }

void NatsServerProcess::save_buckets() {
  std::filesystem::copy(folder() / "store", folder() / "saved", std::filesystem::copy_options::recursive);
}

void NatsServerProcess::restore_buckets() {
  forget_buckets();
  std::filesystem::copy(folder() / "saved", folder() / "store", std::filesystem::copy_options::recursive);
}

}  // namespace cluster

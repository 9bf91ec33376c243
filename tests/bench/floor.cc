// The floor: the least that a used-once jail around a warm Python costs on this machine. One process takes requests
// from a Unix socket. A zygote copies itself into new namespaces for each of them: a private root and /tmp, a /proc of
// its own, `lo` down, a user without capabilities, a list of forbidden system calls. There is no MCP, policy, init,
// Landlock, journal, quota or cgroup: whatever Warder takes beyond the floor is the price of these. A Python module, so
// that the interpreter is the same as in Warder's jails: floor.py calls serve(). Run as root.
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr unsigned kUser = 200000;
constexpr int kChannel = 3;
constexpr size_t kMaxText = 65536;
constexpr const char* kForbidden[] = {"mount",
                                      "umount2",
                                      "pivot_root",
                                      "move_mount",
                                      "open_tree",
                                      "fsopen",
                                      "fsmount",
                                      "fsconfig",
                                      "fspick",
                                      "mount_setattr",
                                      "setns",
                                      "unshare",
                                      "clone3",
                                      "chroot",
                                      "ptrace",
                                      "bpf",
                                      "perf_event_open",
                                      "keyctl",
                                      "add_key",
                                      "request_key",
                                      "io_uring_setup",
                                      "io_uring_enter",
                                      "io_uring_register",
                                      "kexec_load",
                                      "init_module",
                                      "finit_module",
                                      "delete_module",
                                      "reboot",
                                      "swapon",
                                      "swapoff",
                                      "userfaultfd",
                                      "process_vm_readv",
                                      "process_vm_writev",
                                      "quotactl",
                                      "acct",
                                      "settimeofday",
                                      "clock_settime",
                                      "open_by_handle_at",
                                      "syslog"};

[[noreturn]] void give_up(const char* kind) {
  fprintf(stderr, "floor: %s: %s\n", kind, strerror(errno));
  _exit(70);
}
long checked(long result, const char* kind) {
  if (result < 0) give_up(kind);
  return result;
}

// Filter: the program of a seccomp filter that allows all known calls but the forbidden ones. Made once.
std::vector<sock_filter> make_filter() {
  scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(EPERM));
  seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
  constexpr int kCalls = 460;
  std::vector<bool> forbidden(kCalls);
  for (const char* name : kForbidden)
    if (int number = seccomp_syscall_resolve_name(name); number >= 0 && number < kCalls)
      forbidden[static_cast<size_t>(number)] = true;
  for (int number = 0; number < kCalls; number++) {
    char* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, static_cast<int>(number));
    if (name && !forbidden[static_cast<size_t>(number)]) seccomp_rule_add(context, SCMP_ACT_ALLOW, number, 0);
    free(name);
  }
  const int fd = static_cast<int>(checked(memfd_create("filter", MFD_CLOEXEC), "memfd_create"));
  if (seccomp_export_bpf(context, fd) != 0) give_up("seccomp_export_bpf");
  seccomp_release(context);
  std::vector<sock_filter> code(static_cast<size_t>(lseek(fd, 0, SEEK_END)) / sizeof(sock_filter));
  const ssize_t bytes = static_cast<ssize_t>(code.size() * sizeof(sock_filter));
  if (pread(fd, code.data(), static_cast<size_t>(bytes), 0) != bytes) give_up("read the filter");
  close(fd);
  return code;
}

void write_file(const char* path, const std::string& text) {
  const int fd = static_cast<int>(checked(open(path, O_WRONLY | O_CLOEXEC), path));
  if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) give_up(path);
  close(fd);
}

// The root of the zygote, which every copy has, too: /usr, three devices, a /proc, a workspace.
void enter_root(const std::string& folder) {
  checked(unshare(CLONE_NEWNS), "unshare");
  checked(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "make mounts private");
  const std::string root = folder + "/root", workspace = folder + "/workspace";
  mkdir(root.c_str(), 0755);
  mkdir(workspace.c_str(), 0777);
  checked(chmod(workspace.c_str(), 0777), "chmod");
  checked(mount("tmpfs", root.c_str(), "tmpfs", 0, "size=1m,mode=755"), "mount the root");
  for (const char* name : {"/usr", "/etc", "/dev", "/proc", "/tmp", "/workspace"}) mkdir((root + name).c_str(), 0755);
  for (const char* name : {"bin", "lib", "lib64", "sbin"})
    checked(symlink((std::string("usr/") + name).c_str(), (root + "/" + name).c_str()), "symlink");
  const std::string usr = root + "/usr";
  checked(mount("/usr", usr.c_str(), nullptr, MS_BIND, nullptr), "mount /usr");
  checked(mount(nullptr, usr.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr),
          "/usr");
  for (const char* name : {"/dev/null", "/dev/zero", "/dev/urandom"}) {
    close(open((root + name).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666));
    checked(mount(name, (root + name).c_str(), nullptr, MS_BIND, nullptr), name);
  }
  checked(mount("proc", (root + "/proc").c_str(), "proc", 0, nullptr), "mount /proc");
  checked(mount(workspace.c_str(), (root + "/workspace").c_str(), nullptr, MS_BIND, nullptr), "mount the workspace");
  checked(chdir(root.c_str()), "chdir");
  checked(syscall(SYS_pivot_root, ".", "."), "pivot_root");
  checked(umount2(".", MNT_DETACH), "umount");
  checked(chdir("/"), "chdir");
  checked(mount(nullptr, "/", nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr), "make the root read-only");
}

// What a copy gives up before it takes a program.
void become_jail(const std::vector<sock_filter>& filter, int channel) {
  checked(mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=16m"), "mount /tmp");
  checked(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr), "mount /proc");
  checked(sethostname("jail", 4), "sethostname");
  checked(syscall(SYS_setgroups, 0, nullptr), "setgroups");
  checked(syscall(SYS_setresgid, kUser, kUser, kUser), "setresgid");
  checked(syscall(SYS_setresuid, kUser, kUser, kUser), "setresuid");
  checked(prctl(PR_SET_DUMPABLE, 1), "prctl");
  checked(unshare(CLONE_NEWUSER), "unshare");
  const std::string map = "1000 " + std::to_string(kUser) + " 1\n";
  write_file("/proc/self/uid_map", map);
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/gid_map", map);
  if (channel != kChannel) checked(dup2(channel, kChannel), "dup2");
  syscall(SYS_close_range, kChannel + 1, ~0u, 0);
  const rlimit memory{512 << 20, 512 << 20}, files{64, 64}, none{0, 0};
  checked(setrlimit(RLIMIT_DATA, &memory), "setrlimit");
  checked(setrlimit(RLIMIT_NOFILE, &files), "setrlimit");
  checked(setrlimit(RLIMIT_CORE, &none), "setrlimit");
  checked(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl");
  checked(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl");
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  checked(syscall(SYS_capset, &header, data), "capset");
  sock_fprog program{static_cast<unsigned short>(filter.size()), const_cast<sock_filter*>(filter.data())};
  checked(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), "seccomp");
}

int receive_descriptor(int socket) {
  char byte;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t n;
  do n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n <= 0) _exit(0);
  int fd;
  memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  return fd;
}
void send_descriptor(int socket, int fd) {
  char byte = 'j';
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(header), &fd, sizeof fd);
  checked(sendmsg(socket, &message, MSG_NOSIGNAL), "sendmsg");
}

void answer(PyObject* result) {
  Py_ssize_t size = 0;
  char* text = nullptr;
  if (!result || PyBytes_AsStringAndSize(result, &text, &size) < 0) {
    PyErr_Print();
    _exit(1);
  }
  if (write(kChannel, text, static_cast<size_t>(size)) != size) _exit(1);
}

// The copy runs one program and ends. `warm` is called first if no program waits.
[[noreturn]] void live(PyObject* run, PyObject* warm, bool is_wanted) {
  PyOS_AfterFork_Child();
  if (!is_wanted) {
    if (!PyObject_CallNoArgs(warm)) PyErr_Print();
  }
  if (write(kChannel, "R", 1) != 1) _exit(1);
  static char text[kMaxText];
  const ssize_t size = read(kChannel, text, sizeof text);
  if (size <= 0) _exit(0);
  answer(PyObject_CallFunction(run, "y#", text, static_cast<Py_ssize_t>(size)));
  _exit(0);
}

// Takes orders until the socket closes: one descriptor, the channel of the jail to make.
[[noreturn]] void be_zygote(int orders, const std::string& folder, PyObject* run, PyObject* warm) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGCHLD, SIG_IGN);
  const auto filter = make_filter();
  enter_root(folder);
  if (write(orders, "up", 2) != 2) _exit(1);
  for (;;) {
    const int channel = receive_descriptor(orders);
    PyOS_BeforeFork();
    clone_args args{};
    args.flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
    args.exit_signal = SIGCHLD;
    const long pid = checked(syscall(SYS_clone3, &args, sizeof args), "clone3");
    if (pid == 0) {
      char requested = 0;
      const bool is_wanted = recv(channel, &requested, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
      become_jail(filter, channel);
      live(run, warm, is_wanted);
    }
    PyOS_AfterFork_Parent();
    close(channel);
  }
}

// Server: takes requests, one line each, gives each to a jail, and keeps some jails waiting. One thread.
class Server {
 public:
  Server(int listener, int orders, size_t requested)
      : events_(static_cast<int>(checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1"))),
        listener_(listener),
        orders_(orders),
        requested_(requested) {
    watch(listener_);
  }

  [[noreturn]] void serve() {
    for (;;) {
      refill();
      epoll_event events[64];
      const int count = epoll_wait(events_, events, 64, -1);
      for (int i = 0; i < count; i++) handle(events[i].data.fd);
    }
  }

 private:
  struct Jail {
    int client = -1;  // that waits for its answer
    bool is_ready = false;
  };

  void watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    checked(epoll_ctl(events_, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
  }

  // As Warder does, jails are made ahead only while no program runs.
  void refill() {
    if (running_ == 0 && making_ == 0 && ready_.size() < requested_) make();
  }

  int make() {
    int ends[2];
    checked(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "socketpair");
    send_descriptor(orders_, ends[1]);
    close(ends[1]);
    watch(ends[0]);
    jails_[ends[0]] = {};
    making_++;
    return ends[0];
  }

  void handle(int fd) {
    if (fd == listener_) {
      if (const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC); client >= 0) watch(client);
    } else if (auto jail = jails_.find(fd); jail != jails_.end()) {
      from_jail(fd, jail->second);
    } else {
      from_client(fd);
    }
  }

  void from_client(int client) {
    static char text[kMaxText];
    const ssize_t size = read(client, text, sizeof text);
    if (size <= 0) {
      close(client);
      return;
    }
    int jail;
    if (ready_.empty()) {
      jail = make();
    } else {
      jail = ready_.front();
      ready_.pop_front();
    }
    running_++;
    jails_[jail].client = client;
    if (write(jail, text, static_cast<size_t>(size)) != size) give_up("send a program");
  }

  void from_jail(int fd, Jail& jail) {
    static char text[kMaxText];
    const ssize_t size = read(fd, text, sizeof text);
    if (size > 0 && !jail.is_ready) {  // "R"
      jail.is_ready = true;
      making_--;
      if (jail.client < 0) ready_.push_back(fd);
      return;
    }
    if (size > 0 && write(jail.client, text, static_cast<size_t>(size)) != size) give_up("send an answer");
    if (size <= 0) give_up("a jail ended without an answer");
    running_--;
    close(fd);
    jails_.erase(fd);
  }

  int events_, listener_, orders_;
  size_t requested_;
  size_t making_ = 0, running_ = 0;
  std::map<int, Jail> jails_;
  std::deque<int> ready_;  // oldest first
};

int listen_at(const char* path) {
  const int fd = static_cast<int>(checked(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (strlen(path) >= sizeof name.sun_path) give_up("the path of the socket is too long");
  memcpy(name.sun_path, path, strlen(path));
  checked(bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof name), "bind");
  checked(listen(fd, 1024), "listen");
  return fd;
}

// serve(folder, waiting, run, warm): does not return. The socket is folder/socket. run(code) is called with the bytes
// of a line, and returns those of the answer; warm() touches what run() will need.
PyObject* serve(PyObject*, PyObject* arguments) {
  const char* folder = nullptr;
  int waiting = 0;
  PyObject *run = nullptr, *warm = nullptr;
  if (!PyArg_ParseTuple(arguments, "siOO", &folder, &waiting, &run, &warm)) return nullptr;
  const int listener = listen_at((std::string(folder) + "/socket").c_str());
  int ends[2];
  checked(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "socketpair");
  PyOS_BeforeFork();
  const pid_t pid = fork();
  if (pid == 0) {
    PyOS_AfterFork_Child();
    close(listener);
    close(ends[0]);
    be_zygote(ends[1], folder, run, warm);
  }
  PyOS_AfterFork_Parent();
  checked(pid, "fork");
  close(ends[1]);
  signal(SIGPIPE, SIG_IGN);
  char up[2];
  if (read(ends[0], up, sizeof up) != sizeof up) give_up("the zygote did not start");
  Server(listener, ends[0], static_cast<size_t>(waiting)).serve();
}

PyMethodDef methods[] = {{"serve", serve, METH_VARARGS, "Serves programs until it is killed."},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "_warder_floor", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__warder_floor() { return PyModule_Create(&module); }

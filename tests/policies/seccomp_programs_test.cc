// The shipped profile around real programs: what it must let pass, passes; what it must stop, stops.
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "policies/seccomp.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

using namespace policies;
namespace fs = std::filesystem;

namespace {

const std::vector<sock_filter>& installed_filter() {
  static const std::vector<sock_filter> program = [] {
    auto profile = parse_seccomp(
        "default", Json::parse(std::ifstream(WARDER_SOURCE_DIR "/policies/seccomp/default.json")), nullptr);
    if (!profile) throw std::runtime_error(profile.error().front().what);
    return compile_seccomp(*profile).value();
  }();
  return program;
}

struct Ran {
  int status = 0;
  std::string output;
  bool good() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
};

// Runs a program as a jail does: no new privileges, the filter, execve. Output is stdout and stderr.
Ran run(const std::vector<std::string>& arguments, const fs::path& directory) {
  std::vector<char*> argv;
  for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const std::string home = "HOME=" + directory.string();
  const char* environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", home.c_str(),
                               "GIT_CONFIG_NOSYSTEM=1", nullptr};
  const sock_fprog program{static_cast<unsigned short>(installed_filter().size()),
                           const_cast<sock_filter*>(installed_filter().data())};
  int pair[2];
  REQUIRE(::pipe2(pair, O_CLOEXEC) == 0);
  Fd read_end(pair[0]), write_end(pair[1]);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(60);  // kept by execve
    ::dup2(write_end.get(), STDOUT_FILENO);
    ::dup2(write_end.get(), STDERR_FILENO);
    if (::chdir(directory.c_str()) != 0) ::_exit(125);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) ::_exit(126);
    if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) ::_exit(126);
    ::execve(argv[0], argv.data(), const_cast<char**>(environment));
    ::_exit(127);
  }
  write_end.reset();
  Ran ran;
  char block[4096];
  for (ssize_t n; (n = ::read(read_end.get(), block, sizeof block)) > 0;)
    ran.output.append(block, static_cast<size_t>(n));
  REQUIRE(::waitpid(child, &ran.status, 0) == child);
  return ran;
}

struct Directory {
  fs::path path;
  Directory() {
    char name[] = "/tmp/warder-seccomp-XXXXXX";
    REQUIRE(::mkdtemp(name));
    path = name;
  }
  ~Directory() { fs::remove_all(path); }
};

// True, and said, where this machine lacks the program or cannot filter.
bool lacks(const char* program) {
  if (::access(program, X_OK) != 0) {
    WARN("not tried, this machine has no " << program);
    return true;
  }
  Directory directory;
  if (WEXITSTATUS(run({"/bin/true"}, directory.path).status) == 126) {
    WARN("not tried, this kernel takes no seccomp filters");
    return true;
  }
  return false;
}

void must_print(const std::vector<std::string>& arguments, const std::string& expected) {
  Directory directory;
  const Ran ran = run(arguments, directory.path);
  CAPTURE(arguments.back(), ran.status);
  CHECK(ran.output == expected);
  CHECK(ran.good());
}

void python_prints(const std::string& code, const std::string& expected) {
  must_print({"/usr/bin/python3", "-I", "-c", code}, expected);
}

}  // namespace

TEST_CASE("Python runs under the filter", "[seccomp]") {
  if (lacks("/usr/bin/python3")) return;
  python_prints(
      "import json, re, math, statistics, collections, datetime, random, hashlib, uuid, time\n"
      "time.sleep(0.001); print(len(uuid.uuid4().hex), math.pi > 3)",
      "32 True\n");
  python_prints(
      "import sqlite3\n"
      "d = sqlite3.connect('x.db'); d.execute('pragma journal_mode=wal'); d.execute('create table t(a)')\n"
      "d.executemany('insert into t values (?)', [(i,) for i in range(1000)]); d.commit()\n"
      "print(d.execute('select sum(a) from t').fetchone()[0])",
      "499500\n");
  python_prints(
      "import os, shutil, tempfile, pathlib, stat\n"
      "d = tempfile.mkdtemp(); p = pathlib.Path(d, 'a'); p.write_text('x'); shutil.copy2(p, d + '/b')\n"
      "os.link(p, d + '/c'); os.symlink('a', d + '/d'); os.chmod(p, 0o750); os.mkfifo(d + '/f')\n"
      "os.rename(d + '/b', d + '/e'); print(sorted(os.listdir(d)), oct(stat.S_IMODE(os.stat(p).st_mode)))\n"
      "shutil.rmtree(d)",
      "['a', 'c', 'd', 'e', 'f'] 0o750\n");
}

TEST_CASE("Python's processes and threads run under the filter", "[seccomp]") {
  if (lacks("/usr/bin/python3")) return;
  python_prints(
      "import subprocess\n"
      "print(subprocess.run('echo $((6*7)) | cat', shell=True, capture_output=True, text=True).stdout.strip())",
      "42\n");
  python_prints(
      "import threading, queue, concurrent.futures as f\n"
      "with f.ThreadPoolExecutor(4) as e: print(sum(e.map(lambda x: x * x, range(100))))",
      "328350\n");
  Directory directory;
  std::ofstream(directory.path / "m.py")
      << "import multiprocessing as m\ndef f(x): return x * x\n"
         "if __name__ == '__main__':\n"
         "  for how in ('fork', 'spawn', 'forkserver'):\n"
         "    with m.get_context(how).Pool(2) as p: print(sum(p.map(f, range(10))))\n"
         "  s = m.shared_memory.SharedMemory(create=True, size=64) if hasattr(m, 'shared_memory') else None\n"
         "  v = m.Value('i', 5); print(v.value)\n";
  const Ran ran = run({"/usr/bin/python3", (directory.path / "m.py").string()}, directory.path);
  CHECK(ran.output == "285\n285\n285\n5\n");
}

TEST_CASE("asyncio with processes and sockets runs under the filter", "[seccomp]") {
  if (lacks("/usr/bin/python3")) return;
  python_prints(
      "import asyncio\n"
      "async def echo(r, w): w.write(await r.readline()); await w.drain(); w.close()\n"
      "async def main():\n"
      "  s = await asyncio.start_server(echo, '127.0.0.1', 0)\n"
      "  r, w = await asyncio.open_connection(*s.sockets[0].getsockname())\n"
      "  w.write(b'hello\\n'); print((await r.readline()).decode().strip())\n"
      "  p = await asyncio.create_subprocess_exec('/bin/echo', 'child', stdout=-1)\n"
      "  print((await p.communicate())[0].decode().strip())\n"
      "  print(await asyncio.to_thread(lambda: 'thread'))\n"
      "asyncio.run(main())",
      "hello\nchild\nthread\n");
}

TEST_CASE("a virtual environment is made under the filter", "[seccomp]") {
  if (lacks("/usr/bin/python3")) return;
  must_print({"/bin/sh", "-c",
              "/usr/bin/python3 -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.prefix != "
              "sys.base_prefix)'"},
             "True\n");
}

TEST_CASE("node runs under the filter", "[seccomp]") {
  if (lacks("/usr/bin/node")) return;
  must_print({"/usr/bin/node", "-e",
              "const fs = require('fs'), cp = require('child_process'), http = require('http');"
              "const { Worker } = require('worker_threads');"
              "fs.promises.writeFile('a', 'x').then(() => fs.promises.copyFile('a', 'b')).then(() => {"
              "console.log(fs.readdirSync('.').join());"
              "console.log(cp.execFileSync('/bin/echo', ['child']).toString().trim());"
              "const s = http.createServer((q, r) => r.end('served')).listen(0, '127.0.0.1', () =>"
              " http.get({ port: s.address().port, host: '127.0.0.1' }, r => r.on('data', d => {"
              " console.log(String(d)); s.close(); s.closeAllConnections();"
              " new Worker('require(\"worker_threads\").parentPort.postMessage(7)', { eval: true })"
              ".on('message', m => console.log(m)); })));"
              "});"},
             "a,b\nchild\nserved\n7\n");
}

TEST_CASE("git, sqlite3 and bash run under the filter", "[seccomp]") {
  if (!lacks("/usr/bin/git"))
    must_print(
        {"/bin/sh", "-c",
         "git init -q r && cd r && git config user.email a@b && git config user.name n && echo x > f && git add f"
         " && git commit -q -m one && git clone -q . ../c && git -C ../c log --format=%s && git gc -q && git status "
         "--short"},
        "one\n");
  if (!lacks("/usr/bin/sqlite3"))
    must_print({"/usr/bin/sqlite3", "x.db",
                "pragma journal_mode=wal; create table t(a); insert into t values(1),(2); select sum(a) from t;"},
               "wal\n3\n");
  if (!lacks("/bin/bash"))
    must_print({"/bin/bash", "-c",
                "set -e; f() { cat <(echo a) <(echo b); }; f | sort -r | tr '\\n' ' '; (sleep 0.01; echo late) & wait;"
                " trap 'echo trapped' USR1; kill -USR1 $$; coproc cat; echo hi >&${COPROC[1]}; read -r x "
                "<&${COPROC[0]}; echo $x;"
                " mkfifo p; echo piped > p & cat p; ulimit -n 100; ls -l p | cut -c1; umask 027; cp -p p.x q "
                "2>/dev/null || echo no; tar cf t.tar p; gzip t.tar; ls t.tar.gz"},
               "b a late\ntrapped\nhi\npiped\np\nno\nt.tar.gz\n");
}

TEST_CASE("a call on the kill list ends the program with SIGSYS", "[seccomp]") {
  if (lacks("/usr/bin/python3")) return;
  Directory directory;
  for (long call : {SYS_reboot, SYS_mount, SYS_bpf}) {
    CAPTURE(call);
    const Ran ran = run({"/usr/bin/python3", "-I", "-c",
                         "import ctypes; print('before', flush=True); ctypes.CDLL(None).syscall(" +
                             std::to_string(call) + ", 0, 0, 0, 0, 0); print('after')"},
                        directory.path);
    CHECK(ran.output == "before\n");
    CHECK(WIFSIGNALED(ran.status));
    CHECK(WTERMSIG(ran.status) == SIGSYS);
  }
}

TEST_CASE("what programs probe for is refused, and they live on", "[seccomp]") {
  if (lacks("/usr/bin/python3")) return;
  python_prints(
      "import ctypes, errno\nc = ctypes.CDLL(None, use_errno=True)\n"
      "def ask(*a):\n  c.syscall(*a); return errno.errorcode[ctypes.get_errno()]\n"
      "print(ask(" +
          std::to_string(SYS_unshare) + ", 0x10000000), ask(" + std::to_string(SYS_clone3) +
          ", 0, 0), ask(451, 0), ask(" + std::to_string(SYS_socket) + ", 38, 5, 0), ask(" + std::to_string(SYS_ptrace) +
          ", 0, 0, 0, 0), ask(" + std::to_string(SYS_perf_event_open) + ", 0))",
      "EPERM ENOSYS ENOSYS EAFNOSUPPORT EPERM EPERM\n");
}

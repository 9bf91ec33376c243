// What a program meets in a jail is what it meets on an ordinary machine: the programs that people use every day, with
// the errno, the files and the devices that they expect.
#include "tests/catch.h"
#include "tests/jail/shared_jails.h"

using jail::Language;
using jail::Outcome;

namespace {

jail::Report run_shell(std::string script) {
  auto report = jails().run(jails().request(Language::shell, std::move(script)));
  REQUIRE(report);
  return *std::move(report);
}

// The script prints this to stdout, nothing to stderr, and its status is 0.
void must_print(const std::string& script, const std::string& expected) {
  const auto report = run_shell("set -e\n" + script);
  CAPTURE(script, report.message);
  CHECK(report.out.text == expected);
  CHECK(report.err.text.empty());
  CHECK(report.outcome == Outcome::ok);
}

}  // namespace

TEST_CASE("files are copied, moved and installed with their modes and times", "[real]") {
  const char* index = GENERATE("/tmp", "/workspace");
  CAPTURE(index);
  const std::string begin = std::string("cd ") + index + "; rm -rf machine; mkdir machine; cd machine\n" +
                            "mkdir d; echo one > a; echo two > d/b; chmod 640 a; chmod 750 d; touch -d 2001-02-03 a\n";
  const std::string end = "\ncd ..; rm -rf machine\n";
  must_print(begin + "cp -p a c; stat -c '%a %y' c | cut -c1-14" + end, "640 2001-02-03\n");
  must_print(begin + "cp -a d e; stat -c %a e; cat e/b" + end, "750\ntwo\n");
  must_print(begin + "cp --preserve=all a c; cp --preserve=mode a f; stat -c %a c f" + end, "640\n640\n");
  must_print(begin + "install -m 711 a i; install -d -m 700 j/k; install -D a l/m; stat -c %a i j/k l/m" + end,
             "711\n700\n755\n");
  must_print(begin + "sed -i s/one/three/ a; stat -c %a a; cat a" + end, "640\nthree\n");
  must_print(
      begin + "mv a /dev/shm/a; mv d /home/agent/d; stat -c %a /dev/shm/a /home/agent/d; rm -r /home/agent/d" + end,
      "640\n750\n");
  must_print(begin + "tar cf t.tar a d; mkdir x; tar xpf t.tar -C x; stat -c %a x/a x/d" + end, "640\n750\n");
}

TEST_CASE("make install installs", "[real]") {
  if (::access("/usr/bin/make", X_OK) != 0) {
    WARN("not tried, this machine has no make");
    return;
  }
  must_print(
      "cd /workspace; mkdir -p made; cd made; echo 'echo hi' > tool; echo page > tool.1\n"
      "printf 'install:\\n\\t@install -d $(DESTDIR)/bin $(DESTDIR)/man\\n\\t@install -m 755 tool $(DESTDIR)/bin\\n"
      "\\t@install -p -m 644 tool.1 $(DESTDIR)/man\\n' > Makefile\n"
      "make install DESTDIR=/workspace/made/out; stat -c '%a %n' out/bin/tool out/man/tool.1; cd ..; rm -r made",
      "755 out/bin/tool\n644 out/man/tool.1\n");
}

TEST_CASE("a debugger is refused, and the program that starts it goes on", "[real]") {
  const auto report = run_shell(
      "python3 -c 'import ctypes, os; c = ctypes.CDLL(None, use_errno=True)\n"
      "print(c.ptrace(0, 0, 0, 0), os.strerror(ctypes.get_errno()))'");
  CHECK(report.outcome == Outcome::ok);
  CHECK(report.out.text == "-1 Operation not permitted\n");
}

TEST_CASE("the machine that /proc shows has the jail's limits", "[real]") {
  auto request = jails().request(Language::shell,
                                 "grep -c ^processor /proc/cpuinfo; grep -c '^cpu[0-9]' /proc/stat; grep ^MemTotal "
                                 "/proc/meminfo; cat /proc/loadavg; cat /proc/sys/kernel/hostname");
  request.spec.limits.memory_bytes = 300 << 20;
  request.spec.limits.cpus = 0.5;
  auto report = jails().run(std::move(request));
  REQUIRE(report);
  CAPTURE(report->err.text);
  CHECK(report->out.text == "1\n1\nMemTotal: 307200 kB\n0.00 0.00 0.00 1/1 1\njail\n");
  CHECK(report->receipt.applied.proc == jail::ProcView::machine);
}

TEST_CASE("programs that ask about processes and the machine answer", "[real]") {
  must_print("ps aux | sed -n 1p | tr -s ' '; ps -o comm= -p $$ | grep -c .",
             "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\n1\n");
  must_print("free -b | sed -n 's/^\\(Mem\\|Swap\\):.*/\\1/p'", "Mem\nSwap\n");
  must_print("uptime | grep -c 'load average: 0.00, 0.00, 0.00'; uptime -p | cut -c1-2", "1\nup\n");
  must_print("vmstat | sed -n 3p | wc -w; top -b -n1 | grep -c '%Cpu(s)'", "17\n1\n");
  must_print("lscpu | grep -c '^Model name'; nproc | grep -c .; df / | tail -1 | tr -s ' ' | cut -d' ' -f6",
             "1\n1\n/\n");
  must_print("df . /tmp | tail -2 | tr -s ' ' | cut -d' ' -f6; sed -n 's/^ID=//p' /etc/os-release",
             "/workspace\n/tmp\ndebian\n");
  must_print(
      "cat /proc/sys/kernel/pid_max /proc/sys/vm/overcommit_memory /proc/sys/net/core/somaxconn | wc -l; "
      "cat /proc/sys/kernel/ostype; getconf _NPROCESSORS_CONF | grep -c .",
      "3\nLinux\n1\n");
  must_print(
      "python3 -c 'import os, time; t = float(open(\"/proc/uptime\").read().split()[0]); "
      "print(abs(t - time.clock_gettime(time.CLOCK_BOOTTIME)) < 5, os.cpu_count() > 0)'",
      "True True\n");
}

TEST_CASE("node counts the jail's processors and memory", "[real]") {
  if (::access("/usr/bin/node", X_OK) != 0) {
    WARN("not tried, this machine has no node");
    return;
  }
  auto request = jails().request(Language::javascript,
                                 "const os = require('os'); return [os.cpus().length, os.cpus()[0].model.length > 0,"
                                 " os.totalmem(), os.freemem() <= os.totalmem(), os.loadavg(), os.uptime() > 0]");
  request.spec.limits.memory_bytes = 300 << 20;
  request.spec.limits.cpus = 1;
  auto report = jails().run(std::move(request));
  REQUIRE(report);
  CAPTURE(report->message, report->error, report->err.text);
  REQUIRE(report->value);
  CHECK(report->value->dump() == "[1,true,314572800,true,[0,0,0],true]");
}

TEST_CASE("terminals of the jail's own work", "[real]") {
  must_print("script -qec 'tty; stty size; test -t 0 && echo is a terminal' /dev/null | tr -d '\\r'",
             "/dev/pts/0\n0 0\nis a terminal\n");
  must_print(
      "python3 -c 'import os, pty\n"
      "pid, fd = pty.fork()\n"
      "if pid == 0: os.execvp(\"sh\", [\"sh\", \"-c\", \"echo typed > /dev/tty; ls /dev/pts\"])\n"
      "text = b\"\"\n"
      "try:\n"
      "  while True: text += os.read(fd, 1000)\n"
      "except OSError: pass\n"
      "print(text.split(), os.waitpid(pid, 0)[1])'",
      "[b'typed', b'0', b'ptmx'] 0\n");
}

TEST_CASE("the network interfaces are listed: lo alone", "[real]") {
  must_print("python3 -c 'import socket; print(socket.if_nameindex())'", "[(1, 'lo')]\n");
  if (::access("/usr/bin/node", X_OK) == 0)
    must_print(
        "node -e 'const n = require(\"os\").networkInterfaces(); console.log(Object.keys(n).join(), "
        "n.lo[0].address)'",
        "lo 127.0.0.1\n");
}

"""JavaScript from a zygote: a copy of a warm node is to its program what a node of its own is, and shares nothing with
another copy but addresses. Where copies do not work, programs run as before.
"""
import contextlib
import ctypes
import os
import pathlib
import re
import signal
import unittest

from harness import ROOT, Client, Daemon, Policies, body_of, descendants, eventually, installed_copy, jailer_of
from pool_test import kill_all, receipt_of

# Everything that must be the same in every jail.
LOOK = """
const kinds = require('fs').readdirSync('/proc/self/fd').map((fd) => {
  try { return require('fs').readlinkSync('/proc/self/fd/' + fd).replace(/\\d+/g, 'N'); } catch (e) { return 'gone'; }
});
const status = require('fs').readFileSync('/proc/self/status', 'utf8').split('\\n').filter((line) =>
  /^(Cap|NoNewPrivs|Seccomp:|Groups|Uid|Gid|SigIgn|SigBlk)/.test(line));
return {
  kinds: kinds.filter((kind) => kind !== '/dev/null' && kind !== 'gone').sort(), status,
  files: ['/tmp', '/home/agent', '/dev/shm'].flatMap((folder) => require('fs').readdirSync(folder)),
  pid: process.pid, self: Number(require('fs').readlinkSync('/proc/self')), ppid: process.ppid,
  argv: process.argv, execArgv: process.execArgv, exitCode: process.exitCode, exiting: process._exiting,
  environment: process.env, cwd: process.cwd(), umask: process.umask(), left: globalThis.left,
  globals: Object.getOwnPropertyNames(globalThis).sort(), console: console._stdout === process.stdout,
  listeners: process.eventNames().map((name) => [String(name), process.listenerCount(name)]).sort(),
  limits: require('fs').readFileSync('/proc/self/limits', 'utf8'),
  limit: require('fs').readFileSync === require('fs').readFileSync, depth: Error.stackTraceLimit,
  id: require('async_hooks').executionAsyncId() > 0, random: [Math.random.name, Math.random.length, String(Math.random)],
};
"""
RANDOM = """
const {Worker} = require('worker_threads');
const inWorker = new Promise((end, fail) => new Worker(
  'require("worker_threads").parentPort.postMessage(Math.random())', {eval: true}).on('message', end).on('error', fail));
const crypto = require('crypto');
return [Math.random(), Math.random(), require('vm').runInNewContext('Math.random()'), crypto.randomUUID(),
  crypto.randomBytes(8).toString('hex'), crypto.randomInt(2 ** 40), crypto.webcrypto.getRandomValues(new Uint32Array(2)).join(),
  require('fs').mkdtempSync('/tmp/x'), await inWorker];
"""
LEAVE = """
for (const folder of ['/tmp', '/home/agent', '/dev/shm']) require('fs').writeFileSync(folder + '/left', 'left');
globalThis.left = 'left'; process.env.LEFT = 'left'; Array.prototype.map = null; process.umask(0);
process.on('SIGTERM', () => {}); setInterval(() => {}, 1000).unref(); process.chdir('/tmp');
"""
# What a fork could break: threads, the event loop's descriptors, the collector, the compilers.
WORKS = """
const said = {};
const {promisify} = require('util');
const fsp = require('fs').promises;
const echo = await promisify(require('child_process').execFile)('/bin/echo', ['hello']);
said.child = echo.stdout;
said.sync = require('child_process').execSync('echo $((6 * 7))').toString();
said.timer = await new Promise((resolve) => setTimeout(resolve, 20, 'timer'));
said.order = await new Promise((resolve) => {
  const seen = [];
  setTimeout(() => resolve(seen), 30); setImmediate(() => seen.push('immediate'));
  Promise.resolve().then(() => seen.push('promise')); process.nextTick(() => seen.push('tick'));
});
said.file = await fsp.readFile('/etc/hostname', 'utf8');
said.signal = await new Promise((resolve) => {
  const waiting = setInterval(() => {}, 1000); // a handler of a signal does not keep the event loop
  process.once('SIGUSR2', (name) => { clearInterval(waiting); resolve(name); });
  process.kill(process.pid, 'SIGUSR2');
});
said.server = await new Promise((resolve) => {
  const server = require('net').createServer((one) => one.end('served')).listen(0, '127.0.0.1', () =>
    require('net').connect(server.address().port, '127.0.0.1').on('data', (data) => { server.close(); resolve(String(data)); }));
});
const wasm = Buffer.from(
  'AGFzbQEAAAABBgFgAX8BfwMCAQAHBwEDc3VtAAAKHgEcAQJ/A0AgASACaiEBIAJBAWoiAiAASA0ACyABCw==', 'base64');
const {instance} = await WebAssembly.instantiate(wasm);
said.wasm = 0;
for (let i = 0; i < 500; i++) said.wasm = instance.exports.sum(10000);
said.optimized = 0;
for (let i = 0; i < 2e7; i++) said.optimized = (said.optimized * 31 + i) % 1000003;
let list = [];
for (let i = 0; i < 1e6; i++) { list.push({i, text: 'n' + i}); if (list.length > 1e5) list = []; }
said.list = list.length;
said.zlib = (await promisify(require('zlib').gzip)(Buffer.alloc(1e5))).length > 0;
said.hash = (await promisify(require('crypto').pbkdf2)('a', 'b', 1000, 8, 'sha256')).toString('hex');
said.import = (await import('os')).hostname();
const {Worker} = require('worker_threads');
said.workers = await Promise.all([1, 2, 3].map((n) => new Promise((resolve, reject) => new Worker(
  `let list = []; for (let i = 0; i < 3e5; i++) list.push({i}); list = [];
   require('worker_threads').parentPort.postMessage(${n})`, {eval: true})
  .on('error', reject).on('exit', (code) => resolve([n, code])))));
return said;
"""
ENDS = {
    "a syntax error": "const x = (",
    "an error": "function f() { null.x; }\nf()",
    "an error in a callback": "setTimeout(() => { throw new TypeError('late'); }, 1)",
    "a rejection that nobody handles": "Promise.reject(new Error('nobody'))",
    "a promise that nothing settles": "await new Promise(() => {})",
    "an exit": "process.exit(3)",
    "an exit in a callback": "setTimeout(() => process.exit(4), 1)",
    "an absent module": "require('absent')",
    "a signal": "process.kill(process.pid, 'SIGKILL')",
    "a signal that is V8's": "process.kill(process.pid, 'SIGSEGV')",
    "an abort": "process.abort()",
    "a heap that is full": "const all = []; for (;;) all.push(new Array(1000).fill(all.length));",
    "a loop without end": "for (;;);",
    "an event loop without end": "setInterval(() => {}, 10)",
    "many collections": "let l = []; for (let i = 0; i < 3e6; i++) { l.push({i}); if (l.length > 2e5) l = []; }\nreturn 'done'",
}
KCMP, KCMP_FILE = 312, 0  # kcmp(2)


class Case(unittest.TestCase):
    STARTS = ("exec", "fork")
    # For CTest: a folder whose bin/node replaces this machine's, in a mount namespace of the daemon's own.
    NODE = os.environ.get("OTHER_NODE")
    OTHER_NODE = ("unshare", "--mount", "--propagation", "private", "sh", "-c",
                  'folder=$1; shift; mount -t overlay overlay -o "lowerdir=$folder:/usr" /usr && exec "$@"', "sh", NODE)

    def setUp(self):
        if self.NODE and not ROOT:
            self.skipTest("only root mounts another node")
        launcher = self.OTHER_NODE if self.NODE else ()
        self.daemons, self.clients = {}, {}
        for start in self.STARTS:
            policies = self.enterContext(Policies(
                pool={"min_idle": 1, "max_idle": 2, "zygotes": start == "fork"}, languages=["javascript"]))
            self.daemons[start] = self.enterContext(Daemon(policies=policies, launcher=launcher))
            self.clients[start] = self.enterContext(Client(self.daemons[start].socket))

    def run_as(self, start, code, **arguments):
        def tried():
            result = self.clients[start].call("execute_code", {"code": code, "language": "javascript", **arguments})
            return result if receipt_of(result)["start"] == start else None
        return eventually(tried, f"an execution that starts {start}")

    def result(self, start, code):
        body = body_of(self.run_as(start, code))
        self.assertEqual(body["outcome"], "ok", body)
        return body["result"]

    def nodes(self):
        return [pid for pid, name in descendants(jailer_of(self.daemons["fork"])).items() if name.startswith("node")]


class Copies(Case):
    def test_this_version_of_node_can_be_copied(self):
        version = self.result("fork", "return process.version")
        if self.NODE:
            self.assertIn(f"v{os.environ['OTHER_NODE_VERSION']}.", version)

    def test_the_receipt_tells_how_it_began_and_is_the_same_otherwise(self):
        forked, own = receipt_of(self.run_as("fork", "0")), receipt_of(self.run_as("exec", "0"))
        self.assertGreater(forked["zygote_age_ms"], 0)
        for same in ("namespaces", "capabilities", "seccomp", "landlock", "root", "network", "workspace", "weaker"):
            self.assertEqual(forked[same], own[same])

    def test_a_program_finds_what_it_finds_in_a_node_of_its_own(self):
        own = self.result("exec", LOOK)
        for _ in range(2):
            copy = self.result("fork", LOOK)
            for what, value in own.items():
                self.assertEqual(copy.get(what), value, what)
            self.assertEqual(copy["pid"], copy["self"])

    def test_nothing_that_must_be_random_repeats(self):
        drawn = [self.result("fork", RANDOM) for _ in range(8)]
        for place, numbers in enumerate(zip(*drawn)):
            # That of a new context has one of 2,048 beginnings (jail/guest/javascript/copies.js): of eight, two may be equal.
            self.assertGreaterEqual(len(set(numbers)), len(drawn) - (2 if place == 2 else 0), numbers)
        for numbers in drawn:  # nor within one of them
            self.assertEqual(len(set(map(str, numbers))), len(numbers), numbers)

    def test_no_trace_of_another_execution(self):
        clean = self.result("fork", LOOK)
        for _ in range(3):
            self.run_as("fork", LEAVE)
            self.assertEqual(self.result("fork", LOOK), clean)

    def test_everything_of_node_works(self):
        self.assertEqual(self.result("fork", WORKS), self.result("exec", WORKS))

    def test_they_end_alike(self):
        for name, code in ENDS.items():
            with self.subTest(name):
                own, copy = (body_of(self.run_as(start, code, timeout_seconds=2 if "end" in name else 20, memory_mb=100))
                             for start in ("exec", "fork"))
                for key in ("outcome", "error", "traceback", "exit_status", "signal", "result"):
                    self.assertEqual(copy.get(key), own.get(key), key)

    @unittest.skipUnless(ROOT, "looks into processes of other users")
    def test_no_open_file_of_a_copy_is_the_zygotes_or_another_copys(self):
        libc = ctypes.CDLL(None, use_errno=True)

        def files(pid):
            """Its descriptors that are not of the file system."""
            found = {}
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
                    name = os.readlink(fd)
                    if not name.startswith("/"):
                        found[int(fd.name)] = name
            return found

        def shared():
            """Pairs of processes with an open file in common; None while one of them ends."""
            nodes = self.nodes()
            if len([pid for pid in nodes if any("eventpoll" in name for name in files(pid).values())]) < 3:
                return None  # a zygote, a copy and a node of its own
            pairs = []
            for i, first in enumerate(nodes):
                for second in nodes[i + 1:]:
                    for a in files(first):
                        for b in files(second):
                            answer = libc.syscall(KCMP, first, second, KCMP_FILE, a, b)
                            if answer < 0:
                                return None
                            if answer == 0:
                                pairs.append((first, a, second, b, files(first).get(a)))
            return [pairs]

        self.run_as("fork", "0")
        # A copy that is being made still has the files of its zygote: no code runs in it by then.
        eventually(lambda: shared() == [[]], "a zygote, and what waits, without a file in common")

    def test_what_is_killed_is_replaced(self):
        for signal_number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGSTOP):
            self.run_as("fork", "0")
            kill_all(self.nodes(), signal_number)
            body = self.clients["fork"].execute("return 1", language="javascript")
            self.assertEqual((body["outcome"], body.get("result")), ("ok", 1))
        self.run_as("fork", "0")


class Damaged(unittest.TestCase):
    """Guest programs of which a part does not do its work, as after an update of node that cannot be forked."""
    DAMAGE = {
        "ends at once": ("zygote.js", r"^", "process.exit(7);\n"),
        "has another thread": ("zygote.js", r"beCopied\(\);", "new (require('worker_threads').Worker)"
                               "('for (;;);', {eval: true}).once('online', beCopied);"),
        "copies end": ("copies.js", r"  seed\(random\);", "  process.abort();"),
        "copies say something else": ("life.js", r"type: 'ready'",
                                      "type: process.pid === 2 && require.main.filename.endsWith('zygote.js') ? 'else' : 'ready'"),
        "copies answer wrong": ("answer.js", r"let text = encoded\(this\.#message\)",
                                "let text = encoded({...this.#message, value: 0})"),
    }

    def test_programs_run_in_a_node_of_their_own(self):
        for name, (file, pattern, instead) in self.DAMAGE.items():
            with self.subTest(name), installed_copy() as top, Policies(
                    pool={"min_idle": 1, "max_idle": 2, "zygotes": True}, languages=["javascript"]) as policies:
                path = top / "lib/warder/guest/javascript" / file
                damaged, times = re.subn(pattern, lambda _: instead, path.read_text(), count=1)
                self.assertEqual(times, 1)
                path.write_text(damaged)
                with Daemon(program=top / "sbin/warderd", policies=policies) as daemon, Client(daemon.socket) as client:
                    def told():
                        result = client.call("execute_code", {"code": "return 1", "language": "javascript"})
                        self.assertEqual(body_of(result)["outcome"], "ok")
                        self.assertNotEqual(receipt_of(result)["start"], "fork")
                        return daemon.log_text().count("a zygote for javascript code")
                    eventually(told, "the warning")


if __name__ == "__main__":
    unittest.main()

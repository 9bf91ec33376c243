#!/usr/bin/env python3
"""Calls that the product's C++ must not make: what starts threads behind the loop, and what cannot be used safely."""
import re

import lint

BANNED = [
    (r"uv_queue_work|uv_fs_\w+|uv_getaddrinfo|uv_getnameinfo", "runs on libuv's thread pool; use base/worker_thread.h"),
    (r"uv_async_\w+", "the woken loop spins until the sender has returned; use base/loop_wake.h"),
    (r"uv_spawn", "processes are started by the jailer"),
    (r"uv_thread\w*|pthread_create|std::j?thread|std::async", "work that takes long belongs to base/worker_thread.h"),
    (r"strcpy|strcat|stpcpy|sprintf|vsprintf|gets|strtok", "knows no bound"),
    (r"tmpnam|tempnam|mktemp", "races; use mkstemp or O_TMPFILE"),
    (r"f(?:data)?sync|sync_file_range|syncfs|msync|sync|O_D?SYNC", "waits for a disk; use base/durable.h"),
    (r"system|popen", "starts a shell"),
    (r"std::w?regex|std::regex_\w+", "backtracks and recurses; use re2 or parse by hand"),
    (r"readdir(?:64)?(?:_r)?|(?:fd)?opendir|scandir|(?:filesystem::|fs::)?(?:recursive_)?directory_iterator",
     "an error looks like the end of the folder; use base/folder.h"),
    (r"getpw(?:nam|uid)(?:_r)?|getgr(?:nam|gid)(?:_r)?", "an error looks like a missing name; use base/user_lookup.h"),
    (r"bounded_work", "work on foreign data is a job of base/work.h, which has a meter"),
    (r"(?:re2::)?RE2::\w+Match", "cannot be interrupted; use policies/schema/expressions.h, or bound the text here by name"),
    (r"is(?:alnum|alpha|digit|lower|upper|space|xdigit|punct|print)|to(?:lower|upper)",
     "depends on the locale and knows no negative char; use base/ascii.h"),
    (r"fmt::(?:gmtime|localtime)", "of fmt/chrono.h: needs fmt's library, which the package does not link; use strftime"),
]
PATTERNS = [(re.compile(rf"(?<![\w.>:])(?:::|std::)?({names})(?!\w)(?=\s*[(<{{;,)\s])"), why) for names, why in BANNED]
PATTERNS += [(re.compile(r"(?:\.|->)(Match)(?=\()"), "of an RE2: cannot be interrupted; use policies/schema/expressions.h")]
ALLOWED = {  # file: what it may use, and why
    "jail/guest/probe/main.cc": {"readdir", "opendir", "fdopendir"},  # a program of jails: has no base; looks at errno
    "jail/host_files.cc": {"fs::recursive_directory_iterator"},  # throws at an error, and template.cc catches it
    "jail/template.cc": {"fs::recursive_directory_iterator"},  # throws at an error, and make_template() catches it
    "jail/zygote/descriptors.cc": {"::readdir", "::opendir"},  # a program of jails: has no base; looks at errno
    "jail/zygote/node.cc": {"::readdir", "::opendir"},  # a program of jails: has no base; looks at errno
    "policies/call_rules.cc": {"bounded_work"},  # policies, which the administrator wrote
    "policies/pii/detect.cc": {"RE2::FullMatch", "->Match"},  # the empty text; pieces of bounded size
    "policies/schema/expressions.cc": {"re2::RE2::PartialMatch"},  # bounds text and program
    "supervisor/base/work_meter.cc": {"bounded_work"},  # its definition
    "supervisor/base/work_meter.h": {"bounded_work"},
    "supervisor/programs/cli/admin/policies/policy_questions.cc": {"bounded_work"},  # a command of the administrator
    "supervisor/programs/cli/servers/call_advice.cc": {"bounded_work"},  # a command of the administrator
    "supervisor/tools/workspace/read_workspace_file.cc": {"bounded_work"},  # in tests without Work
    "supervisor/executions/runs/ignored_files.cc": {"re2::RE2::FullMatch"},  # a job; paths and time are bounded
    "jail/zygote/threads.cc": {"pthread_create"},  # stands in for node's
    "supervisor/base/worker_thread.cc": {"std::thread"},  # for disks and long work; clones nothing
    "supervisor/base/durable.cc": {"::fsync", "::fdatasync", "::syncfs"},  # counts those on the loop
    "supervisor/base/folder.cc": {"::readdir", "::fdopendir"},  # the only reader of folders; looks at errno
    "supervisor/base/journal_log.cc": {"std::thread"},  # waits for journald, so that the loop does not; clones nothing
    "supervisor/base/user_lookup.cc": {"::getpwnam_r", "::getpwuid_r", "::getgrnam_r"},  # the only reader; looks at the error
    "supervisor/cluster/bus/nats_sender.cc": {"std::thread"},  # waits for NATS servers; of warder-node, which clones nothing
    "supervisor/records/journal/writer.cc": {"std::thread"},  # waits for the disk, so that the loop does not; clones nothing
}
CALLS_ONLY = {"system", "popen", "gets", "sync"}  # also ordinary words: only with an opening bracket


def check(root):
    findings = []
    for path in lint.files(root, ".h", ".cc", below=("supervisor", "policies", "catalog", "skills", "jail")):
        for number, line in lint.code_lines(path.read_text()):
            for pattern, why in PATTERNS:
                for match in pattern.finditer(line):
                    name = match.group(1)
                    if name in CALLS_ONLY and not line[match.end():].lstrip().startswith("("):
                        continue
                    if match.group(0) in ALLOWED.get(path.relative_to(root).as_posix(), ()):
                        continue
                    findings.append(f"{path.relative_to(root)}:{number}: {name}: {why}")
    return findings


PLANTS = [
    lint.Plant("libuv's thread pool", {"supervisor/a.cc": "uv_fs_open(loop, &req, path, 0, 0, cb);\nuv_queue_work (l);\n"},
               ["supervisor/a.cc:1: uv_fs_open", "supervisor/a.cc:2: uv_queue_work"]),
    lint.Plant("a loop that spins", {"supervisor/a.cc": "uv_async_send(&wake);\n"}, ["supervisor/a.cc:1: uv_async_send"]),
    lint.Plant("threads", {"jail/a.cc": "std::thread worker(run);\nauto f = std::async(run);\nuv_thread_create(&t, f, 0);\n"},
               ["std::thread", "std::async", "uv_thread_create"]),
    lint.Plant("the one thread that is allowed, elsewhere and of another kind", {
        "supervisor/records/journal/writer.cc": "std::thread thread(run);\npthread_create(&t, 0, f, 0);\n",
        "supervisor/records/journal/reader.cc": "std::thread thread(run);\n"},
               ["supervisor/records/journal/reader.cc:1: std::thread", "supervisor/records/journal/writer.cc:2: pthread_create"]),
    lint.Plant("unbounded text", {"jail/a.cc": "  strcpy(to, from);\n  ::sprintf(to, \"%s\", from);\n"}, ["strcpy", "sprintf"]),
    lint.Plant("a shell", {"policies/a.cc": "int r = system(\"ls\");\nFILE* f = ::popen(\"ls\", \"r\");\n"},
               ["system", "popen"]),
    lint.Plant("waiting for a disk", {
        "skills/a.cc": "if (::fsync(fd) < 0) return;\nif(fdatasync (fd)) return;\n::sync();\nopen(p, O_DSYNC | O_RDWR);\n",
        "supervisor/base/durable.cc": "return ::fdatasync(fd);\n::sync_file_range(fd, 0, 0, 1);\nint sync = 1;\n"},
               ["skills/a.cc:1: fsync", "skills/a.cc:2: fdatasync", "skills/a.cc:3: sync:", "skills/a.cc:4: O_DSYNC",
                "supervisor/base/durable.cc:2: sync_file_range"]),
    lint.Plant("a regular expression", {"policies/a.h": "std::regex pattern{\"(a+)+\"};\n"}, ["std::regex"]),
    lint.Plant("foreign data outside of a job", {
        "supervisor/upstream/calls/a.cc": "WorkMeter meter = bounded_work();\nif (RE2::PartialMatch(text, *pattern)) return;\n",
        "policies/pii/detect.cc": "if (custom.expression->Match(text, 0, 9, RE2::UNANCHORED, nullptr, 0)) return;\n",
        "policies/call_rules.cc": "WorkMeter meter = bounded_work();\nif (set.Match(text, nullptr)) return;\n"},
               ["policies/call_rules.cc:2: Match", "supervisor/upstream/calls/a.cc:1: bounded_work",
                "supervisor/upstream/calls/a.cc:2: RE2::PartialMatch"]),
    lint.Plant("times by fmt", {"jail/a.cc": "fmt::format(\"{:%F}\", fmt::gmtime(now));\n"}, ["jail/a.cc:1: fmt::gmtime"]),
    lint.Plant("folders whose errors are not seen", {
        "skills/a.cc": "while (auto* e = ::readdir(dir)) {}\nDIR* d = opendir(path);\nfs::directory_iterator all(path);\n"
                       "for (auto& e : std::filesystem::recursive_directory_iterator(path, error)) {}\n",
        "jail/template.cc": "for (auto& e : fs::recursive_directory_iterator(path)) {}\nfs::directory_iterator all(path);\n"},
               ["jail/template.cc:2: fs::directory_iterator", "skills/a.cc:1: readdir", "skills/a.cc:2: opendir",
                "skills/a.cc:3: fs::directory_iterator", "skills/a.cc:4: filesystem::recursive_directory_iterator"]),
    lint.Plant("users whose look-up errors are not seen", {
        "policies/a.cc": "if (auto* user = ::getpwnam(name)) {}\ngetgrgid_r(1, &g, b, n, &f);\ngetpwnames(1);\n"},
               ["policies/a.cc:1: getpwnam", "policies/a.cc:2: getgrgid_r"]),
    lint.Plant("characters by locale", {
        "skills/a.cc": "if (std::isalnum(c)) c = ::tolower(c);\nbool is_digit(char c);\nlower_case(c);\n"},
               ["skills/a.cc:1: isalnum", "skills/a.cc:1: tolower"]),
    lint.Plant("words that only look like it", {
        "jail/a.cc": "// system(\"ls\") is what we avoid\nlog(\"uv_fs_open(\");\nbus.system(1);\nint system = 3;\n"
                     "snprintf(b, n, \"%d\", 1);\nfile_system(x);\n/* strcpy(a, b) */\n",
    }, []),
]

if __name__ == "__main__":
    lint.main(check, PLANTS)

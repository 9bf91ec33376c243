# Leaves the workspace by link: what the links name must not be the host's.
where = "/workspace" if os.path.isdir("/workspace") else os.getcwd()
os.chdir(where)
for target in ("/etc/shadow", "../../../../../../etc/shadow", "/proc/1/root/etc/shadow", "/proc/self/cwd/../../etc/shadow"):
    try:
        os.unlink("link")
    except FileNotFoundError:
        pass
    os.symlink(target, "link")
    refused(f"read through a link to {target}", lambda: open("link").read(64))
    refused(f"write through a link to {target}", lambda: open("link", "a"))
    os.unlink("link")
for source in ("/etc/passwd", "/usr/bin/true", "/warder/python/runner.py"):
    refused(f"hard link of {source}", lambda: os.link(source, "hard"))
    refused(f"rename of {source}", lambda: os.rename(source, "moved"))
parent = os.open("..", os.O_RDONLY)
for fd in (parent, os.open(".", os.O_RDONLY)):
    refused("a file beside the workspace", lambda: os.open("../beside", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
attempt("the folder above is not the jail's root", not os.path.samefile("..", "/"))

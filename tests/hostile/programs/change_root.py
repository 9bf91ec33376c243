# Changes its root, and climbs out of it.
refused("chroot", lambda: os.chroot("/tmp"), errno.EPERM)
os.chdir("/")
for i in range(20):
    os.chdir("..")
attempt("climbed to another root", os.stat(".").st_ino != os.stat("/").st_ino or not os.path.exists("/warder"))

"""Guest images: a Debian tree as a read-only disk, and the initramfs that lays the rig's own files over it."""
import gzip
import pathlib
import shutil
import subprocess

import cache
from lanes import PACKAGES, SUITE_PACKAGES

GUEST = pathlib.Path(__file__).resolve().parent.parent / "guest"
UNWANTED = ["/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*"]


def image(suite, more_packages=()):
    """The folder with root.ext4, vmlinuz and initramfs/ of a Debian release. Half a minute when made anew."""
    packages = ",".join([*PACKAGES, *SUITE_PACKAGES[suite], *more_packages])
    uml = pathlib.Path("/usr/lib/uml/modules")
    kernels = " ".join(sorted(path.name for path in uml.iterdir())) if uml.is_dir() else ""

    def make(path):
        print(f"rig: making a Debian root ({suite}), once", flush=True)
        subprocess.run(
            ["mmdebstrap", "--quiet", "--mode=root", "--format=null", "--variant=minbase", f"--include={packages}",
             '--aptopt=APT::Install-Recommends "false"', *[f"--dpkgopt=path-exclude={path}" for path in UNWANTED],
             f'--customize-hook="{GUEST}/build-image" "$1" "{path}" {suite}', suite, "/dev/null"],
            check=True)

    kind = "larger-image" if more_packages else "image"  # of each kind, the cache keeps two
    return cache.made(f"{kind}-{suite}-{cache.key(packages, kernels, GUEST / 'build-image')}", make)


def initramfs(engine, image_folder):
    """The initramfs of an engine for an image. A second; it alone changes when the rig's guest files do."""

    def make(path):
        tree = path / "tree"
        for name in ("bin", "dev", "proc", "modules"):
            (tree / name).mkdir(parents=True)
        shutil.copy(image_folder / "initramfs/busybox", tree / "bin/busybox")
        shutil.copy(GUEST / "init", tree / "init")
        shutil.copytree(GUEST / "seed", tree / "seed")
        for module in (image_folder / "initramfs" / engine).iterdir():
            shutil.copy(module, tree / "modules" / module.name)
        names = "\n".join(str(file.relative_to(tree)) for file in sorted(tree.rglob("*")))
        archive = subprocess.run([str(tree / "bin/busybox"), "cpio", "-o", "-H", "newc", "-R", "0:0"], cwd=tree,
                                 input=names.encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        (path / "initramfs.gz").write_bytes(gzip.compress(archive.stdout, 1))
        shutil.rmtree(tree)

    kind = "larger-initramfs" if image_folder.name.startswith("larger-") else "initramfs"
    name = f"{kind}-{engine}-{cache.key(image_folder.name, GUEST / 'init', GUEST / 'seed')}"
    return cache.made(name, make) / "initramfs.gz"


def scratch_disk():
    """An empty ext4 disk with project quota, sparse; copied for each run."""

    def make(path):
        with open(path / "disk", "wb") as disk:
            disk.truncate(512 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-O", "quota,project", "-E", "quotatype=prjquota", str(path / "disk")],
                       check=True)

    return cache.made("scratch-1", make) / "disk"

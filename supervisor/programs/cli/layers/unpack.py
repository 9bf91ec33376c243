"""Unpacks Debian packages, wheels and npm's archives into one tree, without running any code of a package.

Runs as a user that owns only its working folder (supervisor/programs/packages/confined_run.h), because the archives come from
strangers: unpack.py IN OUT NAMED. It reads the archives in IN in the order of their names, and writes OUT, the
future /usr of a layer. It refuses names, links and kinds of files that a layer cannot have, by name; the layer's own rules
(supervisor/tenants/layers/entry_rules.h) follow when root reads OUT. Compiled modules of archives are left out: Python compiles
all modules again, in a fixed order, so that the same input gives the same bytes.
"""
import io
import os
import posixpath
import re
import resource
import subprocess
import sys
import tarfile
import zipfile

MOST_BYTES, MOST_ENTRIES = 4 << 30, 200_000
MOST_HELD = 32 << 20  # of one archive's files outside /usr, which are held in memory
MOST_DATA = 2 << 30  # of memory, for the unpacker
MOST_TIMES = 200  # unpacked bytes for each byte of an archive, beyond the first 64 MiB
PYTHON_PLACE, NODE_PLACE = "lib/python3/dist-packages", "share/warder/node_modules"
MERGED = ("bin", "lib", "lib64", "sbin")  # of the root folder: links into /usr
# Folders of libraries that update-alternatives would link to from the folder above, if a package's scripts ran.
ALTERNATIVES = ("blas", "lapack")


def refuse(archive, name, why):
    sys.exit(f"{archive}: {name!r} is refused: {why}")


class Tree:
    """OUT, while archives are unpacked into it."""

    def __init__(self, place):
        self.place = place
        self.bytes = self.entries = self.of_archive = 0
        self.left_out = {}  # links to files that other packages may bring: target -> names

    def begin(self):
        """Counts an archive from its first entry."""
        self.of_archive = 0

    def checked(self, archive, name):
        """The parts of a name, without leading './'."""
        if name.startswith("/"):
            refuse(archive, name, "its path is absolute")
        if "\0" in name or "\\" in name:
            refuse(archive, name, "its path has a character that no package needs")
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if ".." in parts:
            refuse(archive, name, "its path has '..'")
        if len(name) > 1000 or len(parts) > 32:
            refuse(archive, name, "its path is too long or too deep")
        return parts

    def count(self, archive, name, size, limit):
        """`limit`: for all files of the archive; begin() comes first."""
        self.entries += 1
        self.bytes += size
        self.of_archive += size
        if self.entries > MOST_ENTRIES:
            refuse(archive, name, f"there are more than {MOST_ENTRIES} files")
        if self.bytes > MOST_BYTES or self.of_archive > limit:
            refuse(archive, name, "it unpacks to more bytes than a layer may have, or than its archive can hold")

    def folder(self, path):
        os.makedirs(os.path.join(self.place, path), exist_ok=True)

    def file(self, archive, path, source, executable):
        target = os.path.join(self.place, path)
        self.folder(os.path.dirname(path))
        if os.path.islink(target) or os.path.isfile(target):
            with open(target, "rb") as other:
                text = source.read()
                if os.path.islink(target) or other.read() != text:
                    refuse(archive, path, "another package has a different file of this name")
            return
        with open(target, "xb") as out:
            while part := source.read(1 << 20):
                out.write(part)
        os.chmod(target, 0o755 if executable else 0o644)

    def link(self, archive, path, target):
        self.folder(os.path.dirname(path))
        place = os.path.join(self.place, path)
        if os.path.lexists(place):
            if os.path.islink(place) and os.readlink(place) == target:
                return
            refuse(archive, path, "another package has a different file of this name")
        os.symlink(target, place)


def is_compiled(parts):
    return "__pycache__" in parts or parts[-1].endswith((".pyc", ".pyo"))


def usr_place(parts):
    """The parts below /usr: also for /bin and /lib, which are links into /usr. For other folders: None."""
    if parts[0] == "usr":
        return parts[1:]
    return parts if parts[0] in MERGED else None


def is_for_builders(file, named):
    """A compiler or headers, which another package brings and code in jails does not need. Removes the archive."""
    told = subprocess.run(["dpkg-deb", "--field", file, "Package", "Section"], stdout=subprocess.PIPE, text=True, errors="replace")
    fields = dict(line.split(": ", 1) for line in told.stdout.split("\n") if ": " in line)
    if fields.get("Section", "").split("/")[-1] not in ("devel", "libdevel"):
        return False
    if fields.get("Package") in named or os.path.basename(file) in named:
        return False
    os.unlink(file)
    print(f"left out: {fields.get('Package')}, of Debian's section {fields.get('Section')}")
    return True


def is_of_stdlib(place):
    """Whether the standard library has this folder in /usr, too: Debian has parts of distutils in a package of their own."""
    return (len(place) > 3 and place[0] == "lib" and re.fullmatch(r"python3(\.\d+)?", place[1]) is not None
            and place[2] != "dist-packages" and os.path.isdir(os.path.join("/usr", *place[:3])))


def debian(tree, file, name, is_given):
    """A .deb: files below /usr. Files elsewhere are left out, but a link of /usr to such a file becomes the file.

    `is_given`: the administrator named the file. Other packages are from apt's signed sources; some have links to files of
    the machine's /etc.
    """
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", file], stdout=subprocess.PIPE) as packed:
        limit = limit_of(file)
        outside, held, waiting, seen = {}, 0, [], {}
        with tarfile.open(fileobj=packed.stdout, mode="r|") as tar:
            for member in tar:
                parts = tree.checked(name, member.name)
                if not parts:
                    continue
                if member.mode & 0o7000 and not member.issym():
                    if not (member.isdir() and not member.mode & 0o4000):
                        refuse(name, member.name, "it has a set-user-id, set-group-id or sticky mode")
                if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
                    refuse(name, member.name, "it is a device or a FIFO")
                tree.count(name, member.name, member.size if member.isreg() else 0, limit)
                place = usr_place(parts)
                if member.isdir() or (place is not None and (not place or is_compiled(place))):
                    continue
                if place is not None and not is_given and place[-1].endswith("-nspkg.pth"):
                    print(f"left out: {member.name} of {name}, which Python does not need")
                    continue
                if place is not None and not is_given and is_of_stdlib(place):
                    print(f"left out: {member.name} of {name}, a part of a module that the machine's Python has")
                    continue
                if place is None:
                    if member.isreg() and member.size <= 1 << 20 and held + member.size <= MOST_HELD:
                        held += member.size
                        outside["/" + "/".join(parts)] = (tar.extractfile(member).read(), member.mode & 0o111)
                    continue
                path = "/".join(place)
                if member.islnk():
                    target = usr_place(tree.checked(name, member.linkname)) or []
                    if "/".join(target) not in seen:
                        refuse(name, member.name, "it is a hard link to a file that the package does not have")
                    with open(os.path.join(tree.place, *target), "rb") as source:
                        tree.file(name, path, source, seen["/".join(target)])
                elif member.issym():
                    waiting.append((path, member.linkname))
                    continue
                else:
                    tree.file(name, path, tar.extractfile(member), member.mode & 0o111)
                seen[path] = member.mode & 0o111
    if packed.returncode:
        sys.exit(f"{name}: dpkg-deb cannot read it")
    for path, target in waiting:
        full = posixpath.normpath(posixpath.join("/usr", posixpath.dirname(path), target))
        if full.split("/")[1] in MERGED:
            full = "/usr" + full
        if full in outside:
            text, executable = outside[full]
            tree.file(name, path, io.BytesIO(text), executable)
        elif full.startswith("/usr/"):
            # Relative, so that it leads to the same place wherever /usr is mounted.
            tree.link(name, path, posixpath.relpath(full, posixpath.join("/usr", posixpath.dirname(path))))
        elif is_given:
            refuse(name, path, f"it is a link that leads out of /usr, to {target}")
        else:
            print(f"left out: /usr/{path} of {name}, a link that leads out of /usr, to {target}")


def wheel(tree, file, name):
    """A wheel: a zip file, of PEP 427. Scripts for the command line are left out."""
    shape = re.fullmatch(r"([A-Za-z0-9_.]+)-([A-Za-z0-9_.!+]+)(-\d[^-]*)?-([a-z0-9_.]+)-([a-z0-9_.]+)-([A-Za-z0-9_.]+)\.whl", name)
    if not shape:
        sys.exit(f"{name}: not the name of a wheel: NAME-VERSION-PYTHON-ABI-PLATFORM.whl")
    minor = sys.version_info.minor
    pythons, abis, platforms = (part.split(".") for part in shape.group(4, 5, 6))
    fits = any(python in ("py3", f"cp3{minor}", f"py3{minor}") or re.fullmatch(r"cp3\d+", python) and "abi3" in abis
               and int(python[3:]) <= minor for python in pythons)
    machine = os.uname().machine
    if not fits or not any(platform == "any" or platform.endswith("_" + machine) and "linux" in platform for platform in platforms):
        sys.exit(f"{name}: built for {'.'.join(pythons)} on {'.'.join(platforms)}, and this machine has Python 3.{minor} on linux_{machine}")
    limit = limit_of(file)
    with zipfile.ZipFile(file) as packed:
        for member in packed.infolist():
            parts = tree.checked(name, member.filename)
            kind = member.external_attr >> 16
            if kind & 0o170000 not in (0, 0o100000, 0o040000) or kind & 0o7000:
                refuse(name, member.filename, "it is a link or a special file, or has a set-id mode")
            tree.count(name, member.filename, member.file_size, limit)
            if not parts or member.is_dir() or is_compiled(parts):
                continue
            if parts[0].endswith(".data"):
                if len(parts) < 3 or parts[1] not in ("purelib", "platlib"):
                    continue
                parts = parts[2:]
            with packed.open(member) as source:
                tree.file(name, "/".join([PYTHON_PLACE, *parts]), Bounded(source, member.file_size, name, member.filename), kind & 0o111)


def node(tree, file, name):
    """The archive of `npm pack`: one folder, `package`. It goes where its package.json says."""
    import json
    limit = limit_of(file)
    found, manifest = [], None
    with tarfile.open(file, mode="r:gz") as tar:
        for member in tar:
            parts = tree.checked(name, member.name)
            if member.isdir() or not parts:
                continue
            if not member.isreg():
                refuse(name, member.name, "it is a link, a device or a FIFO")
            if member.mode & 0o7000:
                refuse(name, member.name, "it has a set-user-id, set-group-id or sticky mode")
            tree.count(name, member.name, member.size, limit)
            if parts[1:] == ["package.json"] and member.size <= 1 << 20:
                manifest = json.load(tar.extractfile(member))
            found.append((member, parts[1:]))
        package = manifest.get("name") if isinstance(manifest, dict) else None
        if not isinstance(package, str) or not re.fullmatch(r"(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*", package):
            sys.exit(f"{name}: its package.json has no name of a package")
        for member, parts in found:
            if parts:
                tree.file(name, "/".join([NODE_PLACE, package, *parts]), tar.extractfile(member), member.mode & 0o111)


def node_folder(tree, place):
    """node_modules that npm has installed: its files, without links and without its notes."""
    for folder, folders, files in os.walk(place):
        folders[:] = sorted(name for name in folders if name not in (".bin", ".cache") and not os.path.islink(os.path.join(folder, name)))
        for file in sorted(files):
            full = os.path.join(folder, file)
            path = os.path.relpath(full, place)
            if os.path.islink(full) or file == ".package-lock.json":
                continue
            tree.count("node_modules", path, os.path.getsize(full), MOST_BYTES)
            with open(full, "rb") as source:
                tree.file("node_modules", f"{NODE_PLACE}/{path}", source, os.stat(full).st_mode & 0o111)


class Bounded:
    """A member of a zip file. Its real size may differ from the size that the archive gives."""

    def __init__(self, source, size, archive, name):
        self.source, self.left, self.archive, self.name = source, size, archive, name

    def read(self, most=-1):
        text = self.source.read(self.left + 1 if most < 0 else most)
        self.left -= len(text)
        if self.left < 0:
            refuse(self.archive, self.name, "it is larger than the archive says")
        return text


def limit_of(file):
    return (64 << 20) + MOST_TIMES * os.path.getsize(file)


def link_alternatives(tree):
    """libblas.so.3 of folder blas, and the like: what the package's script would do with update-alternatives."""
    lib = os.path.join(tree.place, "lib")
    for machine in sorted(os.listdir(lib)) if os.path.isdir(lib) else ():
        for name in ALTERNATIVES:
            folder = os.path.join(lib, machine, name)
            for file in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
                above = os.path.join(lib, machine, file)
                if re.fullmatch(r"lib[a-z]+\.so\.\d+", file) and not os.path.lexists(above):
                    os.symlink(f"{name}/{file}", above)


def compile_modules(tree):
    """Bytecode that stays valid when the times of files change. A module with an error gets no bytecode."""
    import compileall
    import py_compile
    lib = os.path.join(tree.place, "lib")
    for place in sorted(os.listdir(lib)) if os.path.isdir(lib) else ():
        if place.startswith("python3"):
            compileall.compile_dir(os.path.join(lib, place), maxlevels=40, quiet=2, stripdir=tree.place, prependdir="/usr",
                                   invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH, workers=1)


def main(source, target, named):
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_DATA, MOST_DATA))
    tree = Tree(target)
    os.makedirs(target)
    for name in sorted(os.listdir(source)):
        file = os.path.join(source, name)
        tree.begin()
        try:
            if name == "node_modules":
                node_folder(tree, file)
            elif name.endswith(".deb"):
                if not is_for_builders(file, named.split(",")):
                    debian(tree, file, name, name in named.split(","))
            elif name.endswith(".whl"):
                wheel(tree, file, name)
            else:
                node(tree, file, name)
        except (tarfile.TarError, zipfile.BadZipFile, zipfile.LargeZipFile, ValueError, EOFError, RecursionError, NotImplementedError,
                RuntimeError) as problem:
            sys.exit(f"{name}: cannot be unpacked: {problem}")
        except MemoryError:
            sys.exit(f"{name}: cannot be unpacked: it needs more than {MOST_DATA >> 30} GiB of memory")
        except (IsADirectoryError, NotADirectoryError, FileExistsError) as problem:
            refuse(name, problem.filename, "it is a file where another package has a folder, or the reverse")
    link_alternatives(tree)
    compile_modules(tree)


main(*sys.argv[1:4])

"""Packages of the tests' own for layers: .deb files, wheels and archives of npm, good and hostile, and the commands."""
import io
import json
import os
import pathlib
import subprocess
import tarfile
import zipfile

PLACE = "usr/lib/python3/dist-packages/"


def warder(*words, state, status=0):
    done = subprocess.run([os.environ["WARDER"], "layer", *map(str, words), "--state", str(state)], capture_output=True, text=True,
                          timeout=300, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    if done.returncode != status:
        raise AssertionError(f"warder layer {words}: status {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


def tar_of(members, mode="w:xz"):
    """`members`: a name and its text, or a name and a TarInfo's fields."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as tar:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.mode = 0o644
            if isinstance(content, str):
                text = content.encode()
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text))
                continue
            for key, value in content.items():
                setattr(member, key, value)
            tar.addfile(member, io.BytesIO(bytes(member.size)))
    return packed.getvalue()


def make_deb(file, members, name="warder-test"):
    """deb(5): an ar file of three members; the control file is what dpkg-deb looks for."""
    control = f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@localhost>\nDescription: a test\n"
    parts = [("debian-binary", b"2.0\n"), ("control.tar.xz", tar_of([("./control", control)])), ("data.tar.xz", tar_of(members))]
    with open(file, "wb") as out:
        out.write(b"!<arch>\n")
        for part, text in parts:
            out.write(f"{part:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(text):<10}`\n".encode() + text + b"\n" * (len(text) % 2))
    return pathlib.Path(file)


def make_wheel(folder, name, members, version="1.0", tag="py3-none-any"):
    file = pathlib.Path(folder) / f"{name}-{version}-{tag}.whl"
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for path, content in members:
            if isinstance(path, str):
                path = zipfile.ZipInfo(path)
            path.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(path, content)
        packed.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        packed.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n")
        packed.writestr(f"{info}/RECORD", "")
    return file


def make_npm(file, members, name="warder-test"):
    packed = tar_of([("package/package.json", json.dumps({"name": name, "version": "1.0.0", "main": "index.js",
                                                          "scripts": {"postinstall": "touch /ran"}})), *members], "w:gz")
    pathlib.Path(file).write_bytes(packed)
    return pathlib.Path(file)

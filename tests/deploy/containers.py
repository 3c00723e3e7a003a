"""The image, built by buildah, and containers of it that runc runs as an orchestrator would: a root file system that nobody
can write to, a user without a name, no capabilities, the usual filter of system calls, and volumes of other owners."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from common import DEPLOY, NO_HASH, ROOT, Document, Failed, Skipped, expect, output, tool
from configurations import until_it_serves

USER = 65532


class Image:
    """The image in a storage of its own."""

    def __init__(self, home: Path, paddock: Path) -> None:
        self.home, self.paddock = home, paddock
        (home / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
        self.context(home / "context")
        file = DEPLOY / "Containerfile"
        ignore = ["--ignorefile", f"{file}.dockerignore", "--signature-policy", home / "policy.json"]
        self.buildah("build", "--isolation", "chroot", *ignore, "-t", "paddock:test", "-f", file, home / "context")
        self.configuration = json.loads(self.buildah("inspect", "--type", "image", "paddock:test"))["OCIv1"]["config"]

    def context(self, context: Path) -> None:
        """Makes the build context: what the Containerfile takes from the repository."""
        binary = context / "target/x86_64-unknown-linux-musl/dist/paddock"
        binary.parent.mkdir(parents=True)
        shutil.copy(self.paddock, binary)
        shutil.copy(ROOT / "LICENSE", context)
        shutil.copytree(DEPLOY / "volume", context / "host/deploy/volume")

    def buildah(self, *arguments: str | Path) -> str:
        storage = ["--root", self.home / "storage", "--runroot", self.home / "run", "--storage-driver", "vfs"]
        return output(tool("buildah"), *storage, *arguments)

    def unpack(self, into: Path) -> None:
        """Copies the root file system of the image."""
        signature = ["--signature-policy", self.home / "policy.json"]
        name = self.buildah("from", *signature, "--pull-never", "paddock:test").strip()
        mounted = self.buildah("mount", name).strip()
        output("cp", "-a", mounted, into)
        self.buildah("umount", name)
        self.buildah("rm", name)


@functools.cache
def image_of(paddock: Path) -> Image:
    """Returns the image, which is built once."""
    home = tempfile.mkdtemp(prefix="paddock-image-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    return Image(Path(home), paddock)


def required(paddock: Path | None) -> Path:
    if not paddock:
        raise Skipped("--paddock names no binary with the feature `serve`")
    if os.geteuid():
        raise Skipped("only root can build the image here and run it")
    for name in ["buildah", "runc", "curl", "nsenter"]:
        tool(name)
    return paddock


def image_is_as_described(paddock: Path | None) -> str:
    image = image_of(required(paddock))
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "root"
        image.unpack(root)
        files = sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())
        volumes = ["srv/workspaces", "var/cache/paddock", "var/lib/paddock"]
        keeps = [f"{volume}/.keep" for volume in volumes]
        expect(files == sorted(["usr/bin/paddock", "usr/share/doc/paddock/LICENSE", *keeps]), f"the image contains {files}")
        for volume in volumes:
            status = (root / volume).stat()
            expect((status.st_uid, status.st_gid) == (USER, USER), f"{volume} belongs to {status.st_uid}")
        expect((root / "usr/bin/paddock").stat().st_mode & 0o7777 == 0o755, "the binary has another mode")
        configuration = image.configuration
        expect(configuration["User"] == f"{USER}:{USER}", f"the user is {configuration['User']}")
        expect(configuration["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0 OR MIT", "the licence is missing")
        expect(sorted(configuration["Volumes"]) == [f"/{volume}" for volume in volumes], f"volumes {configuration['Volumes']}")
        return image.buildah("--version").strip() + f", {len(files)} files"


class Container:
    """A running container."""

    def __init__(self, state: Path, name: str, volumes: dict[str, Path], process: subprocess.Popen[bytes]) -> None:
        self.state, self.name, self.volumes, self.process = state, name, volumes, process
        self.pid = json.loads(output(tool("runc"), "--root", state, "state", name))["pid"]

    def inside(self, *command: str | Path) -> list[str]:
        """Returns a command line that runs in the network of the container, which has no other addresses than loopback."""
        return [tool("nsenter"), f"--net=/proc/{self.pid}/ns/net", *map(str, command)]

    def request(self, url: str, *options: str, body: Document | None = None) -> tuple[int, str]:
        """Returns the status and the body of the answer."""
        sent = ["--json", json.dumps(body)] if body is not None else []
        curl = [tool("curl"), "-s", "--max-time", "60", "-w", "\n%{http_code}", *options, *sent, url]
        text, _, status = output(*self.inside(*curl)).rpartition("\n")
        return int(status), text

    def status(self) -> dict[str, str]:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}

    def end(self, signal: str = "TERM") -> int:
        output(tool("runc"), "--root", self.state, "kill", self.name, signal)
        return self.process.wait(30)


@contextlib.contextmanager
def running(paddock: Path, configuration: str, arguments: list[str], volumes: dict[str, tuple[int, int, int]],
            is_directory: bool, shared: dict[str, Path] | None = None) -> Iterator[Container]:
    """Runs the image. `volumes` has the owner, the group and the mode of the directory at each mount path, and `shared` has
    those of them that exist. The configuration is a directory with links, as kubelet mounts a ConfigMap, or a single file."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        # The user of the container has to enter it.
        home.chmod(0o755)
        image, bundle = image_of(paddock), home / "bundle"
        bundle.mkdir()
        image.unpack(bundle / "rootfs")
        libraries(paddock, bundle / "rootfs")
        mounts = {mount: (shared or {}).get(mount) or volume(home, mount, *rights) for mount, rights in volumes.items()}
        own = dict(mounts)
        mounts |= mounted_configuration(home, configuration, is_directory)
        output(tool("runc"), "spec", "-b", bundle)
        specification = json.loads((bundle / "config.json").read_text())
        restrict(specification, image.configuration, arguments, mounts)
        (bundle / "config.json").write_text(json.dumps(specification))
        name, log = f"paddock-{os.getpid()}-{time.monotonic_ns()}", home / "log"
        with log.open("wb") as writer:
            command = [tool("runc"), "--root", home / "state", "run", "-b", bundle, name]
            process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=writer, stderr=writer)
        try:
            until_it_serves(process, log)
            yield Container(home / "state", name, own, process)
        except (Failed, subprocess.SubprocessError) as cause:
            raise Failed(f"{cause}\n{log.read_text()[-2000:]}") from cause
        finally:
            subprocess.run([tool("runc"), "--root", home / "state", "delete", "--force", name], capture_output=True, check=False)
            process.wait(30)


def libraries(paddock: Path, root: Path) -> None:
    """Copies the shared libraries of a binary that is not the static one of a release."""
    listed = subprocess.run(["ldd", paddock], capture_output=True, text=True, check=False)
    if listed.returncode:
        return
    for word in listed.stdout.split():
        if word.startswith("/"):
            target = root / word.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(word, target)


def volume(home: Path, mount: str, user: int, group: int, mode: int) -> Path:
    path = home / "volumes" / mount.strip("/").replace("/", "-")
    path.mkdir(parents=True)
    os.chown(path, user, group)
    path.chmod(mode)
    return path


def mounted_configuration(home: Path, text: str, is_directory: bool) -> dict[str, Path]:
    if not is_directory:
        (home / "serve.yaml").write_text(text)
        return {"/etc/paddock/serve.yaml": home / "serve.yaml"}
    directory = home / "configuration"
    (directory / "..2026").mkdir(parents=True)
    (directory / "..2026/serve.yaml").write_text(text)
    (directory / "..data").symlink_to("..2026")
    (directory / "serve.yaml").symlink_to("..data/serve.yaml")
    return {"/etc/paddock": directory}


def restrict(specification: Document, image: Document, arguments: list[str], mounts: dict[str, Path]) -> None:
    process = specification["process"]
    process.update(terminal=False, user={"uid": USER, "gid": USER}, noNewPrivileges=True)
    process.update(args=[*image["Entrypoint"], *arguments], env=image["Env"], cwd="/")
    process["capabilities"] = {name: [] for name in ["bounding", "effective", "permitted", "inheritable", "ambient"]}
    specification["root"] = {"path": "rootfs", "readonly": True}
    for target, source in mounts.items():
        rights = "ro" if target.startswith("/etc/") else "rw"
        specification["mounts"].append({
            "destination": target, "type": "bind", "source": str(source), "options": ["bind", rights, "nosuid", "nodev"],
        })
    if profile := filter_of_engines():
        specification["linux"]["seccomp"] = filter_of_system_calls(json.loads(profile.read_text()))


def filter_of_engines() -> Path | None:
    """Returns the file with the default filter of podman and buildah, which comes with the latter."""
    file = Path(tool("buildah")).parent.parent / "share/containers/seccomp.json"
    return file if file.exists() else None


def filter_of_system_calls(profile: Document) -> Document:
    """Returns the filter of a process without capabilities."""

    def applies(rule: Document) -> bool:
        included, excluded = rule.get("includes") or {}, rule.get("excludes") or {}
        is_of_machine = "amd64" in included.get("arches", ["amd64"]) and "amd64" not in excluded.get("arches", [])
        return is_of_machine and not included.get("caps")

    names = ["names", "action", "args", "errnoRet"]
    rules = [{name: rule[name] for name in names if rule.get(name) is not None} for rule in profile["syscalls"] if applies(rule)]
    architectures = ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"]
    return {"defaultAction": profile["defaultAction"], "defaultErrnoRet": profile["defaultErrnoRet"],
            "architectures": architectures, "syscalls": rules}


def with_token(paddock: Path, configuration: str) -> tuple[str, str]:
    """Returns the configuration with the hash of a new token, and the token."""
    printed = dict(line.split(": ") for line in output(paddock, "token", "new").splitlines())
    expect(configuration.count(NO_HASH) == 1, "the configuration has no place for the hash of a token")
    return configuration.replace(NO_HASH, printed["sha256"]), printed["token"]

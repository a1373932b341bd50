"""Where a file lies: on a disk of this machine, or on a network that cannot be trusted to lock."""

from __future__ import annotations

import os
import re
from pathlib import Path

from suffice.core.errors import InputError

__all__ = ["mounted_as", "refuse_network", "sync_folder"]

_MOUNTS = Path("/proc/mounts")
_NETWORK = {
    "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fuse.ceph", "fuse.glusterfs", "fuse.rclone",
    "fuse.s3fs", "fuse.sshfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "orangefs", "pvfs2",
    "smb2", "smb3", "smbfs",
}  # fmt: skip


def refuse_network(path: Path, mounts: Path = _MOUNTS) -> None:
    """Refuse a path on a network file system, as far as this system tells."""
    kind = mounted_as(path, mounts)
    if kind in _NETWORK:
        raise InputError(
            f"{str(path)!r} lies on a network file system ({kind}), where locks cannot be relied on and two "
            "machines could spend the same budget twice. Put the ledger on a disk of this machine."
        )


def mounted_as(path: Path, mounts: Path = _MOUNTS) -> str | None:
    """The type of the file system that holds the path, or None where the system does not say."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return None
    target = path.resolve()
    best: tuple[int, str] | None = None
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        root = Path(_unescaped(fields[1]))
        if target.is_relative_to(root) and (best is None or len(root.parts) >= best[0]):
            best = (len(root.parts), fields[2])
    return best[1] if best else None


def sync_folder(folder: Path) -> None:
    """Make a new name in the folder survive a loss of power, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda hit: chr(int(hit[1], 8)), text)

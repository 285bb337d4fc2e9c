"""The files a configuration is made of, read with a note of what they were: whether one changed costs a `stat`."""

from __future__ import annotations

from pathlib import Path

Stamp = tuple[int, int, int, int] | None

MAX_BYTES = 4_000_000  # a file for 10,000 hosts has about half a million


class Unreadable(Exception):
    """A file that cannot be read; `sentence` says why and names it by its full path."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


def stamp(path: Path) -> Stamp:
    """What changes when a file does: modification and change time in ns, size, inode. None when there is no file."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino


class Files:
    """Reads files and remembers the stamp that each had just before, so that an edit during the read counts later."""

    def __init__(self) -> None:
        self.stamps: dict[Path, Stamp] = {}

    def note(self, path: Path) -> None:
        """Remember a file as it is now, also that it is not there."""
        self.stamps[path] = stamp(path)

    def read(self, path: Path, max_bytes: int = MAX_BYTES) -> str:
        """The text of a file, UTF-8. Raises Unreadable."""
        self.note(path)
        if path.exists() and not path.is_file():
            raise Unreadable(f"{path} is not a file.")
        try:
            with path.open("rb") as file:
                data = file.read(max_bytes + 1)
        except OSError as error:
            raise Unreadable(f"cannot read {path}: {error.strerror}.") from error
        if len(data) > max_bytes:
            raise Unreadable(f"{path} has more than {max_bytes} bytes: this is not the file that was meant.")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise Unreadable(f"{path} is not UTF-8 text (byte {error.start}).") from error

    def unchanged(self) -> bool:
        return all(stamp(path) == seen for path, seen in self.stamps.items())

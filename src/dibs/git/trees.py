"""A change of a few files in a tree, without an index: only the folders on the way to them are read and written."""

from collections.abc import Callable, Mapping

from dibs.errors import BadInput
from dibs.git.objects import FILE, FOLDER, LINK, Made, TreeEntry, made, tree

Entries = dict[bytes, TreeEntry]
Read = Callable[[list[bytes]], dict[bytes, Entries]]  # paths of folders -> those that are there, with what they hold
_FILES = ("100644", "100755", "100664")


def change(read: Read, files: Mapping[bytes, bytes | None], hash: str) -> tuple[str, list[Made]]:  # noqa: A002
    """(id of the whole tree after it, the objects to store for it). None deletes a file; a file keeps its mode.
    Folders come with their first file and go with their last. BadInput when a name is a folder or a link there."""
    folders = _on_the_way(files)
    trees = read(sorted(folders))
    objects: list[Made] = []
    for path, data in files.items():
        folder, _, name = path.rpartition(b"/")
        entries = trees.setdefault(folder, {})
        there = entries.get(name)
        if there is not None and there.mode not in _FILES:
            what = "a symbolic link" if there.mode == LINK else "no file"
            raise BadInput(f"{path.decode(errors='replace')!r} is {what} in the branch; dibs writes plain files only")
        if data is None:
            entries.pop(name, None)
            continue
        blob = made("blob", data, hash)
        objects.append(blob)
        entries[name] = TreeEntry(there.mode if there else FILE, blob.id)
    top = made("tree", b"", hash)
    for folder in sorted(folders, key=lambda path: (path.count(b"/"), len(path)), reverse=True):
        entries = trees.get(folder, {})
        one = tree(entries, hash)
        objects.append(one)
        if not folder:
            top = one
            continue
        parent, _, name = folder.rpartition(b"/")
        above = trees.setdefault(parent, {})
        there = above.get(name)
        if there is not None and there.mode != FOLDER:
            raise BadInput(f"{folder.decode(errors='replace')!r} is not a folder in the branch; move that file away")
        if entries:
            above[name] = TreeEntry(FOLDER, one.id)
        else:
            above.pop(name, None)
    return top.id, objects


def _on_the_way(files: Mapping[bytes, bytes | None]) -> set[bytes]:
    folders = {b""}
    for path in files:
        parts = path.split(b"/")
        if any(part in (b"", b".", b"..", b".git") for part in parts) or b"\n" in path or b"\0" in path:
            raise BadInput(f"{path.decode(errors='replace')!r} cannot be the path of a file in a git repository")
        folders |= {b"/".join(parts[:end]) for end in range(1, len(parts))}
    return folders

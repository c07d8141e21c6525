"""Changes of a `file:` queue, by names: they carry all that changes. Only the file of a task that moved is read."""

from collections.abc import Iterable, Iterator, Mapping

from dibs.errors import BadInput
from dibs.queues.files import looks
from dibs.queues.files.due import Now, due_folders, once, seen
from dibs.queues.files.finder import Found
from dibs.queues.files.layout import parse_name
from dibs.serve.cache.files import KnownFiles
from dibs.serve.masking import NOTHING_HIDDEN, Masking
from dibs.serve.search.sources import Change
from dibs.serve.search.words import of_task
from dibs.states import State

ID = 32  # characters


class FilesSource:
    def __init__(self, look: KnownFiles, mask: Masking = NOTHING_HIDDEN) -> None:
        self._finder = look.finder
        self._now = look.now
        self._mask = mask
        self._lists: dict[str, list[str]] | None = None

    def forget(self) -> None:
        self._lists = None

    def changes(self, known: Mapping[str, str]) -> Iterator[Change]:
        before = self._lists
        now = once(self._now)
        due = set(due_folders(self._finder, now))
        lists = {
            (state, folder): self._finder._list(folder) for state in State for folder in self._finder.folders(state)
        }
        missing: set[str] = set() if before is not None else set(known)
        for (state, folder), names in lists.items():
            old = None if before is None else before.get(folder)
            if old is names and folder not in due:
                continue
            if old is not None:
                missing.update(name[:ID] for name in set(old).difference(names))
            yield from self._in_folder(state, folder, names, known, now if folder in due else None)
        listed = {folder: names for (_, folder), names in lists.items()}
        for folder, names in (before or {}).items():
            if folder not in listed:
                missing.update(name[:ID] for name in names)
        yield from self._gone(missing, known, listed.values())
        self._lists = listed

    def _in_folder(
        self, state: State, folder: str, names: list[str], known: Mapping[str, str], now: Now | None
    ) -> Iterator[Change]:
        """`now`: where something may be due, which is found as ready."""
        for text in names:
            signature = state + text[ID:]
            if now is None and known.get(text[:ID]) == signature:
                continue
            name = parse_name(text, state)
            if name is None:
                continue
            found = Found(state, f"{folder}/{text}", name)
            if now is not None:
                found = seen(found, now)
                signature = found.state + text[ID:]
                if known.get(text[:ID]) == signature:
                    continue
            try:
                task = self._finder.read(found)
            except FileNotFoundError:
                continue  # it moved on: where it went it is seen, in this look or the next
            except BadInput as error:
                task = looks.damaged(found, error)
            yield Change(name.id, signature, of_task(self._mask.task(task)))

    def _gone(self, missing: set[str], known: Mapping[str, str], lists: Iterable[list[str]]) -> Iterator[Change]:
        """Of those that left a folder, the ones that are in none."""
        missing &= known.keys()
        if missing:
            for names in lists:
                missing.difference_update(name[:ID] for name in names)
        for task_id in missing:
            if self._finder.locate(task_id) is None:  # it may have moved while the folders were listed
                yield Change(task_id, "", None)

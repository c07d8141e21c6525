"""Bare markers: many move a few files back and forth, on a disk whose rename lets two through when they contend."""

from dibs.queues.files.cells import Cells
from dibs.queues.files.layout import Layout
from dibs.queues.files.marked import MarkedCells
from dibs.queues.files.markers import Markers
from dibs.states import Cell, State

from .disk import Disk
from .hands import attempt
from .loose import LooseFs, Wire, in_haste
from .machines import SimClock, SimHost
from .stage import Stage
from .truth import Truth
from .world import Process, Violation, World

ROOT = "/q"
IDS = ("0" * 32,)
HERE, THERE = Cell(State.READY), Cell(State.CANCELLED)


class BouncingBackend:
    """A cell of each id is here or there."""

    retention = 0.0

    def __init__(self, world: World, truth: Truth) -> None:
        self._world = world
        self._disk = Disk(world, ROOT)
        self._left: dict[str, tuple[float, bytes]] = {}
        self._layout = Layout(ROOT, 1)
        for cell in (HERE, THERE):
            self._disk.mkdir(self._path(IDS[0], cell).rpartition("/")[0])
        self._disk.mkdir(f"{ROOT}/tmp")
        self._disk.put(f"{ROOT}/dibs.json", b"{}")
        for task_id in IDS:
            self._disk.put(self._path(task_id, HERE), b"{}")
        self._disk.moved = self._moved
        self._wire = Wire(world)

    def open(self, process: Process, *, pid: int | None = None) -> Cells:
        fs = LooseFs(self._world, self._disk, process, self._left, self._wire)
        clock = SimClock(self._world, process.host)
        folders = Cells(fs, self._layout, sync=False).make_folder
        markers = Markers(
            fs, self._layout, clock, process.host, self._world.rng, lambda: fs.server_time(f"{ROOT}/tmp/clock"), folders
        )
        return MarkedCells(fs, self._layout, clock, in_haste(markers), sync=False)

    def bounce(self, process: Process, cells: Cells, task_id: str) -> bool:
        """True when it went to the other side."""
        here, there = (self._path(task_id, cell) for cell in (HERE, THERE))
        source, target = (here, there) if self._world.random() < 0.5 else (there, here)
        self._world.say(f"bounce {source}")
        return bool(attempt(process, lambda: cells.attempt(source, target), OSError))

    def in_the_way(self) -> list[Process]:
        return [process for process in self._world.processes if process.sending]

    def _path(self, task_id: str, cell: Cell) -> str:
        return self._layout.path(task_id, "50", cell)

    def _moved(self, source: str, target: str, data: bytes) -> None:
        name = target.rpartition("/")[2]
        if "/markers/" not in target and name[:32] in IDS and not source:
            violation = Violation("two of one", f"{name} was moved twice at once")
            self._world.failed(violation)
            raise violation


class BouncingCast:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.workers: list[Process] = []
        self._left = set(IDS)

    def enter(self) -> None:
        for _ in range(4 + int(self._stage.rng.random() * 5)):
            self._start(self._stage.any_host())

    def replace(self, process: Process, host: SimHost, reuse: int) -> None:
        self._start(host, reuse)

    def drainer(self) -> Process:
        return self._stage.start("calm", self._stage.any_host(), self._drain)

    def left(self) -> dict[str, Cell]:
        return dict.fromkeys(self._left, HERE)

    def _start(self, host: SimHost, reuse: int = 0) -> None:
        self.workers.append(self._stage.start(f"user{len(self.workers)}", host, self._play, reuse=reuse))

    def _play(self, process: Process) -> None:
        stage, backend = self._stage, self._stage.backend
        assert isinstance(backend, BouncingBackend)
        cells = backend.open(process)
        while not stage.closing and stage.drainer is None:
            backend.bounce(process, cells, stage.rng.choice(IDS))
            process.world.sleep(stage.rng.random() ** 2)

    def _drain(self, process: Process) -> None:
        backend = self._stage.backend
        assert isinstance(backend, BouncingBackend)
        cells = backend.open(process)
        while self._left and not self._stage.closing:
            self._left -= {task_id for task_id in IDS if backend.bounce(process, cells, task_id)}
            process.world.sleep(1.0)

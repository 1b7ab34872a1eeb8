"""`warplearn demo --stream`: a recording plays, and a detector follows it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.live import Live
from rich.table import Table
from rich.text import Text

from warplearn.cli.common import print_json
from warplearn.cli.drawing import draw_series
from warplearn.cli.terminal import console

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warplearn.datasets import Recording

_DATASET, _EVENTS = "GunPoint", 40
_CLASSES = {1: "gun", 2: "point"}
_PACKET = 10  # samples that come at once
_RATE = 1500  # samples a second that are played in a terminal


@dataclass
class Player:
    """A recording that plays, and what the detector has said of it so far."""

    detector: Any
    recording: Recording
    found: list[Any] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)  # at each sample; NaN before the first
    seconds: list[float] = field(default_factory=list)  # of each packet
    columns: Any = None  # the dtype of a table of events

    def packets(self) -> Any:
        """Push one packet after the other; gives the events that each reported."""
        stream, signal = self.detector.stream(), self.recording.signal
        for start in range(0, len(signal), _PACKET):
            packet = signal[start : start + _PACKET]
            begin = time.perf_counter()
            events = stream.push(packet)
            self.seconds.append(time.perf_counter() - begin)
            self.scores += [float(stream.scores[0])] * len(packet)
            self.found += list(events)
            yield events
        rest = stream.flush()
        self.found, self.columns = self.found + list(rest), rest.dtype
        yield rest

    def is_right(self, event: Any) -> bool:
        """Whether an event that was found is one of the recording."""
        from warplearn import event_metrics

        columns = ["start", "end", "class"]
        row = [tuple(event[column] for column in columns)]
        return event_metrics(row, self.recording.events).n_right == 1

    def latency(self) -> tuple[float, float]:
        """Median and 99 % of the time of a packet, in microseconds."""
        import numpy as np

        median, rare = 1e6 * np.percentile(self.seconds, [50, 99])
        return float(median), float(rare)

    def throughput(self) -> float:
        """Samples a second, if they came as fast as they can be taken."""
        return len(self.scores) / sum(self.seconds)


def play(*, json: bool) -> None:
    """Train a detector, let it follow a recording, and say how well it did."""
    screen = console()
    with screen.status("training a detector (compiled the first time only)"):
        player = _prepared()
    live = screen.is_terminal and not json
    if live:
        _show(player)
    else:
        _list(player, quiet=json)
    _conclude(player, json)


def _prepared() -> Player:
    import numpy as np

    from warplearn import ElasticDetector, datasets
    from warplearn.datasets import make_recording

    train, test = datasets.load(_DATASET, "train"), datasets.load(_DATASET, "test")
    learned = make_recording(train.X.astype(np.float32), train.y, random_state=0)
    detector = ElasticDetector(random_state=0).fit(*learned)
    recording = make_recording(test.X.astype(np.float32), test.y, n_events=_EVENTS, random_state=1)
    detector.detect(recording.signal[:1000])  # compiles what is left
    return Player(detector, recording)


def _list(player: Player, *, quiet: bool) -> None:
    """A line for each event, as fast as it goes."""
    screen = console()
    for events in player.packets():
        for event in events if not quiet else ():
            screen.print(_line(player, event), markup=False)


def _line(player: Player, event: Any) -> str:
    right = "right" if player.is_right(event) else "false alarm"
    return (
        f"sample {event['reported']:6d}: {_CLASSES[int(event['class'])]:<5s} from {event['start']} "
        f"to {event['end']}, score {event['score']:.2f}, {right}"
    )


def _show(player: Player) -> None:
    """The last samples, scores and events, drawn as they come."""
    screen = console()
    begin, at = time.perf_counter(), 0
    with Live(console=screen, refresh_per_second=15, transient=True) as live:
        for _ in player.packets():
            at += _PACKET
            live.update(_frame(player, max(20, screen.width - 14), screen.options.ascii_only))
            time.sleep(max(0.0, begin + at / _RATE - time.perf_counter()))
    for event in player.found:
        screen.print(_line(player, event), markup=False)


def _frame(player: Player, width: int, ascii_only: bool) -> Table:
    """What is on the screen: four samples a character."""
    import numpy as np

    now = len(player.scores)
    first = max(0, now - 4 * width)
    signal = np.asarray(player.recording.signal[first:now], float)
    scores = np.nan_to_num(np.array(player.scores[first:now]), nan=-1.0)
    cells = max(1, -(-len(signal) // 4))
    grid = Table.grid(padding=(0, 2))
    for name, values, low, high in (
        ("signal", signal, -3.0, 3.0),
        ("score", scores, -2.0, 2.0),
    ):
        bars = draw_series(values.clip(low, high), low, high, ascii_only=ascii_only, width=cells)
        grid.add_row(name, Text(bars, "cyan" if name == "signal" else "yellow", no_wrap=True))
    grid.add_row("labelled", _marks(player.recording.events, first, now, cells, "dim"))
    grid.add_row("detected", _marks(player.found, first, now, cells, "bold green"))
    median, rare = player.latency()
    right = sum(player.is_right(event) for event in player.found)
    grid.add_row(
        "",
        f"{now:,} samples, {right} events right, {len(player.found) - right} false alarms; "
        f"{_PACKET} samples in {median:.0f} µs, 99 % below {rare:.0f} µs; "
        f"{player.throughput():,.0f} samples/s",
    )
    return grid


def _marks(events: Any, first: int, now: int, cells: int, style: str) -> Text:
    """A row of characters with the name of each event where it lies."""
    row = [" "] * cells
    for event in events:
        start, end = (int(event[column]) - first for column in ("start", "end"))
        if end <= 0 or start >= now - first:
            continue
        name = _CLASSES[int(event["class"])]
        for place in range(max(0, start // 4), min(cells, end // 4)):
            offset = place - start // 4
            row[place] = name[offset - 1] if 1 <= offset <= len(name) else "-"
    return Text("".join(row), style, no_wrap=True)


def _conclude(player: Player, json: bool) -> None:
    """Precision, recall, F1, delay, latency and throughput."""
    import numpy as np

    from warplearn import event_metrics

    found: NDArray[Any] = np.array(player.found, dtype=player.columns)
    metrics = event_metrics(found, player.recording.events)
    median, rare = player.latency()
    if json:
        print_json(
            {
                "dataset": _DATASET,
                "n_samples": len(player.scores),
                **metrics._asdict(),
                "latency_median_us": median,
                "latency_99_us": rare,
                "samples_per_second": player.throughput(),
            }
        )
        return
    console().print(
        f"\n{metrics.n_right} of {metrics.n_labelled} events found, "
        f"{metrics.n_detected - metrics.n_right} false alarms: precision {metrics.precision:.2f}, "
        f"recall {metrics.recall:.2f}, F1 {metrics.f1:.2f}. An event is reported "
        f"{metrics.mean_delay:.0f} samples after its end on average.\n"
        f"A packet of {_PACKET} samples takes {median:.0f} µs, 99 % of them less than {rare:.0f} "
        f"µs: {player.throughput():,.0f} samples a second.",
        markup=False,
    )

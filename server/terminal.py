"""One command of a person: a tool called with progress on the terminal, or something done with the laboratory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio

from nki_anvil.backends.errors import ArgumentsInvalid
from nki_anvil.server.building import Builder
from nki_anvil.server.console import Console

if TYPE_CHECKING:
    from nki_anvil.lab.laboratory import Laboratory
    from nki_anvil.memory.store import Store
    from nki_anvil.tools.desk import Desk
    from nki_anvil.tools.result import Result

    R = TypeVar("R", bound=Result)

T = TypeVar("T")


class Terminal:
    """A person at the command line: best is not put back behind their back, and the guard only advises."""

    def __init__(self, console: Console, given: dict[str, Any]) -> None:
        self.console = console
        self.given = given
        self.problem: str | None = None
        """The one that the command is about, once that is known."""

    def call(self, tool: Callable[..., Awaitable[R]], **arguments: Any) -> R:
        """Calls a tool's function and shows its result. Raises AnvilError."""
        result = anyio.run(self._called, tool, arguments)
        self.console.show(result, getattr(result, "problem", None) or self.problem)
        return result

    def do(self, work: Callable[[Laboratory], T]) -> T:
        """Does something with the laboratory and shows what came of it. Raises AnvilError."""
        done = work(self._builder().laboratory())
        self.console.tell(done)
        return done

    def remember(self, work: Callable[[Store], T], *, settle: bool = False) -> T:
        """Does something with the memory and shows what came of it. Raises AnvilError.

        ``settle`` takes back before what kernels of this workspace earned that failed since.
        """
        if settle:
            anyio.run(self._settled)
        with closing(self._builder().memory()) as store:
            done = work(store)
        self.console.tell(done)
        return done

    def use(self, problem: str | None, work: Callable[[Desk, str], Awaitable[T]]) -> T:
        """Does something that shows itself, with a desk and the name of a problem. Raises AnvilError."""
        return anyio.run(self._used, problem, work)

    @contextmanager
    def aside(self) -> Generator[None]:
        """Meanwhile what is kept from kernels lies in the data folder, for a command that has no laboratory.

        Raises ArgumentsInvalid, PathUnwritable.
        """
        from nki_anvil.backends import scratch
        from nki_anvil.lab import state
        from nki_anvil.server.settings import load

        place = load(**self.given).data.expanduser().resolve() / "aside"
        with state.writable(place):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        with scratch.within(place):
            yield

    def only(self, lab: Laboratory, problem: str | None) -> str:
        """The problem named, or the only one there is. Raises ArgumentsInvalid."""
        names = lab.names()
        if problem is None and len(names) != 1:
            known = f"Open are {', '.join(names)}." if names else "None is open."
            raise ArgumentsInvalid(f"No problem was named. {known}", "Name one, or open one with `nki-anvil open`.")
        self.problem = problem or names[0]
        return self.problem

    async def _called(self, tool: Callable[..., Awaitable[R]], arguments: dict[str, Any]) -> R:
        from nki_anvil.tools.call import Call
        from nki_anvil.tools.desk import opened

        builder = self._builder()
        async with opened(builder.laboratory, builder.memory) as desk:
            if "problem" in arguments:
                arguments["problem"] = self.only(await desk.laboratory(), arguments["problem"])
            with self.console.progress() as report:
                result = await tool(Call(desk, report), **arguments)
            return await self._as_of_now(desk, arguments, result)

    async def _as_of_now(self, desk: Desk, arguments: dict[str, Any], result: R) -> R:
        """Told as a client is told it: a file may have been edited while it was judged."""
        from nki_anvil.tools.result import LongResult
        from nki_anvil.tools.since import since_then

        if not isinstance(result, LongResult) or not result.texts:
            return result
        return cast("R", await since_then(desk, {"source": None, **arguments}, result))

    async def _used(self, problem: str | None, work: Callable[[Desk, str], Awaitable[T]]) -> T:
        from nki_anvil.tools.desk import opened

        builder = self._builder()
        async with opened(builder.laboratory, builder.memory) as desk:
            return await work(desk, self.only(await desk.laboratory(), problem))

    async def _settled(self) -> None:
        from nki_anvil.tools.call import Call
        from nki_anvil.tools.crediting import settled
        from nki_anvil.tools.desk import opened

        builder = self._builder()
        async with opened(builder.laboratory, builder.memory) as desk:
            await settled(Call(desk))

    def _builder(self) -> Builder:
        from nki_anvil.server import logs

        logs.to_stderr("WARNING")
        return Builder(lambda *_: None, **self.given, auto_restore=False, guard_refuses=False, log_level="WARNING")

"""EngineProcessConfig: whether the engine has a process of its own, and how it is watched."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class EngineProcessConfig:
    """How the server and the engine live together. Times are in seconds.

    Args:
        engine_process: run the engine and the grammar compiler in a process of their own, which is
            replaced when it dies or hangs; otherwise in a thread of the server.
        engine_heartbeat_s: seconds between two signs of life of the engine process.
        engine_silence_s: seconds without a sign of life after which it counts as hung.
        engine_loading_silence_s: the same while it loads a model.
        engine_step_timeout_s: seconds after which a single step counts as hung.
        engine_restart_pause_s: seconds before the second attempt to replace a process; the pause
            grows with each further attempt.
        engine_stable_s: seconds of serving after which earlier restarts are forgotten.
        max_engine_restarts: attempts to replace the process before the server exits with 1.
        compile_timeout_s: seconds that one grammar may compile, a last resort after the counted
            budgets.
    """

    engine_process: bool = True
    engine_heartbeat_s: float = 1.0
    engine_silence_s: float = 10.0
    engine_loading_silence_s: float = 120.0
    engine_step_timeout_s: float = 120.0
    engine_restart_pause_s: float = 1.0
    engine_stable_s: float = 60.0
    max_engine_restarts: int = 5
    compile_timeout_s: float = 30.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, bool) and value <= 0:
                raise ValueError(f"{field.name}: {value} is not positive")
        if self.engine_silence_s <= 2 * self.engine_heartbeat_s:
            raise ValueError(
                f"engine_silence_s: {self.engine_silence_s:g} must be more than twice "
                f"engine_heartbeat_s={self.engine_heartbeat_s:g}"
            )

"""A small HTTP service with an OpenAPI document: a list of tasks. `openapi_tools.py` calls it.

.venv/bin/python -m examples.openapi_service          # on http://127.0.0.1:8010
"""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import uvicorn
from fastapi import FastAPI, HTTPException, Query
from pydantic import BaseModel, Field


class NewTask(BaseModel):
    """A task as it is asked for."""

    title: Annotated[str, Field(min_length=1, max_length=60)]
    priority: Literal["low", "high"] = "low"


class Task(NewTask):
    """A task on the list."""

    id: int
    is_done: bool = False


def make_service() -> FastAPI:
    """A service with a list of its own."""
    service = FastAPI(title="Tasks")
    tasks: dict[int, Task] = {}

    @service.get("/tasks", operation_id="list_tasks", summary="List the tasks.")
    def list_tasks(
        priority: Annotated[Literal["low", "high"] | None, Query()] = None,
    ) -> list[Task]:
        return [task for task in tasks.values() if priority in (None, task.priority)]

    @service.post("/tasks", operation_id="add_task", summary="Put a task on the list.")
    def add_task(task: NewTask) -> Task:
        added = Task(id=len(tasks) + 1, **task.model_dump())
        tasks[added.id] = added
        return added

    @service.post("/tasks/{task_id}/done", operation_id="finish_task", summary="Finish a task.")
    def finish_task(task_id: int) -> Task:
        if task_id not in tasks:
            raise HTTPException(404, f"there is no task {task_id}")
        tasks[task_id].is_done = True
        return tasks[task_id]

    return service


if __name__ == "__main__":
    uvicorn.run(make_service(), port=int(sys.argv[1]) if len(sys.argv) > 1 else 8010)

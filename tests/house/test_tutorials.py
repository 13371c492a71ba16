"""Scripts as tutorials write them run against a server, with only address and model changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.calls import hermes_call
from tests.support.chat_server import MODEL, make_services, running

FOLDER = Path(__file__).parents[2] / "examples/tutorials"
ADDRESS = '"http://127.0.0.1:8000/v1"'
BUILT_IN = '"smollm2-135m"'


@pytest.fixture
def run_script(capsys):
    """Runs a script against a model that writes these texts; gives its output and the prompts."""

    def run(name, *texts):
        source = (FOLDER / name).read_text()
        assert source.count(ADDRESS) == source.count(BUILT_IN) == 1
        services = make_services(*texts)
        with running(services) as url:
            source = source.replace(ADDRESS, repr(f"{url}/v1")).replace(BUILT_IN, repr(MODEL))
            scope: dict[str, Any] = {"__name__": "__main__"}
            exec(compile(source, name, "exec"), scope)
            scope["client"].close()
        return capsys.readouterr().out.strip(), services.prompt_texts()

    return run


def test_every_tutorial_has_a_test():
    names = {path.name for path in FOLDER.glob("*.py")}
    assert names == {
        "single_call.py", "parallel_loop.py", "older_functions.py", "responses_loop.py",
    }  # fmt: skip


def test_a_single_call_whose_result_comes_without_tools(run_script):
    shown, prompts = run_script(
        "single_call.py", hermes_call("get_current_weather", location="Lisbon"), "It is 22 degrees."
    )
    assert shown == "It is 22 degrees."
    assert "Get the current weather in a place" in prompts[0]
    assert "Get the current weather in a place" not in prompts[1]
    assert '{"location": "Lisbon", "temperature": 22, "unit": "celsius"}' in prompts[1]


def test_an_answer_without_a_call_ends_the_single_call_script(run_script):
    shown, prompts = run_script("single_call.py", "Rather warm.")
    assert (shown, len(prompts)) == ("Rather warm.", 1)


def test_parallel_calls_in_a_loop(run_script):
    tea, cake = (hermes_call("get_price", product=name) for name in ("tea", "cake"))
    shown, prompts = run_script(
        "parallel_loop.py", f"Let me look.\n{tea}\n{cake}", hermes_call("add", a=3, b=5), "It is 8."
    )
    assert shown == "It is 8."
    assert len(prompts) == 3
    assert "assistant\nLet me look." in prompts[1]
    for product in ("tea", "cake"):
        assert f'{{"name": "get_price", "arguments": {{"product": "{product}"}}}}' in prompts[1]
    assert prompts[2].endswith("tool\n8\nassistant\n")


def test_the_older_functions(run_script):
    shown, prompts = run_script(
        "older_functions.py",
        hermes_call("find_book", title="Emma", year=1815),
        "There are two copies.",
    )
    assert shown == "There are two copies."
    assert '{"title": "Emma", "copies": 2}' in prompts[1]


def test_items_of_responses_go_back_as_input(run_script):
    shown, prompts = run_script(
        "responses_loop.py", hermes_call("get_horoscope", sign="Leo"), "You will meet a seal."
    )
    assert shown == "You will meet a seal."
    assert "Tell the horoscope and nothing else." in prompts[1]
    assert "Leo: you will meet a friendly seal." in prompts[1]

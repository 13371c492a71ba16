"""`tightrope serve` turns flags and environment into configurations, and loses nothing."""

from __future__ import annotations

import pytest

from engine.config import EngineConfig
from server.cli import main
from server.commands import serve
from server.config import ServerConfig, hash_api_key
from server.engine_process.settings import EngineProcessConfig


@pytest.fixture
def served(tiny_folder, monkeypatch):
    """Runs the command up to `run_server`; gives that function's arguments."""
    monkeypatch.delenv("TIGHTROPE_API_KEY", raising=False)
    calls = []
    monkeypatch.setattr(
        serve,
        "run_server",
        lambda *arguments, announce, tracing: calls.append((*arguments, announce)),
    )

    def run(*arguments):
        assert main(["serve", str(tiny_folder), *arguments]) == 0
        return calls.pop()

    return run


def test_without_flags_the_defaults_are_served_under_the_folders_name(served, tiny_folder):
    folder, engine_config, server_config, process_config, _ = served()
    assert folder == tiny_folder
    assert engine_config == EngineConfig()
    assert process_config == EngineProcessConfig()
    assert server_config == ServerConfig(served_names=(tiny_folder.name,))


def test_flags_reach_all_configurations(served):
    _, engine_config, server_config, process_config, _ = served(
        *("--host", "0.0.0.0", "--port", "9000", "--served-names", "a", "--served-names", "b"),
        *("--tool-format", "hermes", "--grammar-backend", "llguidance", "--strict-params"),
        *("--device", "cpu", "--dtype", "float32", "--max-model-len", "64", "--max-num-seqs", "4"),
        *("--no-engine-process", "--compile-timeout-s", "5"),
    )
    assert process_config == EngineProcessConfig(engine_process=False, compile_timeout_s=5)
    assert server_config == ServerConfig(
        host="0.0.0.0",
        port=9000,
        served_names=("a", "b"),
        tool_format="hermes",
        grammar_backend="llguidance",
        strict_params=True,
    )
    assert engine_config == EngineConfig(
        device="cpu", dtype="float32", max_model_len=64, max_num_seqs=4
    )


def test_keys_come_from_file_and_environment_and_are_not_kept(served, tmp_path, monkeypatch):
    path = tmp_path / "keys"
    path.write_text("# for the team\nfirst\n\nsecond\n")
    monkeypatch.setenv("TIGHTROPE_API_KEY", "third")
    config = served("--api-key-file", str(path))[2]
    assert config.api_key_hashes == tuple(map(hash_api_key, ("first", "second", "third")))


def test_the_mark_that_editors_write_in_front_of_a_key_file_is_no_part_of_a_key(served, tmp_path):
    path = tmp_path / "keys"
    path.write_bytes(b"\xef\xbb\xbf# for the team\r\nfirst\r\n")
    config = served("--api-key-file", str(path))[2]
    assert config.api_key_hashes == (hash_api_key("first"),)


def test_announcements_are_shown(served, capsys):
    announce = served()[-1]
    announce("ready: http://127.0.0.1:8000 [v1]")
    assert capsys.readouterr().err == "ready: http://127.0.0.1:8000 [v1]\n"


@pytest.mark.parametrize(
    ("content", "variable", "message"),
    [
        ("# none\n", None, "holds no key"),
        ("key\n", "", "TIGHTROPE_API_KEY: an empty key is not allowed"),
    ],
)
def test_keys_that_are_asked_for_but_missing_are_refused(
    tiny_folder, tmp_path, monkeypatch, capsys, content, variable, message
):
    path = tmp_path / "keys"
    path.write_text(content)
    if variable is not None:
        monkeypatch.setenv("TIGHTROPE_API_KEY", variable)
    with pytest.raises(SystemExit) as ending:
        main(["serve", str(tiny_folder), "--api-key-file", str(path)])
    assert ending.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "--api-key-file: {}: No such file or directory"),
        (lambda path: path.mkdir(), "--api-key-file: {}: Is a directory"),
        (lambda path: path.write_bytes(b"\xff"), "--api-key-file: {} is not UTF-8 text"),
    ],
)
def test_a_key_file_that_cannot_be_read_is_refused_below_a_short_usage(
    tiny_folder, tmp_path, capsys, make, message
):
    path = tmp_path / "keys"
    make(path)
    with pytest.raises(SystemExit) as ending:
        main(["serve", str(tiny_folder), "--api-key-file", str(path)])
    assert ending.value.code == 2
    assert capsys.readouterr().err == (
        "usage: tightrope serve [MODEL] [OPTIONS]\n"
        f"tightrope serve: error: {message.format(path)}\n"
    )


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--port", "99999"], 2, "error: --port: 99999 is not in 0..65535"),
        (["--max-body-bytes", "0"], 2, "error: --max-body-bytes: 0 is not positive"),
        (["--block-size", "0"], 2, "error: --block-size=0: must be at least 1"),
        (["--tls-cert-file", "x"], 2, "error: --tls-cert-file and --tls-key-file: give both or"),
        (
            ["--cors-origins", "x"],
            2,
            "error: --cors-origins: 'x' is not an origin; write scheme and host",
        ),
        (
            ["--num-blocks", "9", "--kv-cache-bytes", "9"],
            2,
            "error: --num-blocks=9: give either --num-blocks or --kv-cache-bytes, not both",
        ),
        (["--dtype", "int4"], 2, "invalid choice: 'int4'"),
        (["--engine-silence-s", "1"], 2, "must be more than twice --engine-heartbeat-s=1"),
        (["--max-wings", "2"], 2, "unrecognized arguments: --max-wings 2"),
        (["--max-model", "2"], 2, "unrecognized arguments: --max-model 2"),  # no abbreviations
    ],
)
def test_a_wrong_setting_is_refused(tiny_folder, capsys, arguments, status, message):
    with pytest.raises(SystemExit) as ending:
        main(["serve", str(tiny_folder), *arguments])
    assert ending.value.code == status
    assert message in capsys.readouterr().err


def test_an_unknown_grammar_backend_is_told_before_anything_is_loaded(capsys):
    assert main(["serve", "no-such-model", "--grammar-backend", "guesser"]) == 1
    assert capsys.readouterr().err.startswith("tightrope: no grammar backend 'guesser'; there are ")


def test_generate_tells_flags_too(tiny_folder, capsys):
    with pytest.raises(SystemExit) as ending:
        main(["generate", "hi", "--model", str(tiny_folder), "--max-num-seqs", "0"])
    assert ending.value.code == 2
    assert "error: --max-num-seqs=0: must be at least 1" in capsys.readouterr().err

"""Keys, web pages and certificates: who may call, and what is told to those who may not."""

from __future__ import annotations

import hmac
import json
import logging
import ssl
import subprocess
from contextlib import contextmanager

import httpx
import pytest

from server.commands.serve import make_parser
from server.config import ServerConfig, hash_api_keys
from server.errors import OverloadedError, StartupError
from server.health_check import is_alive
from server.key_load import KeyLoad
from server.logs import JsonFormatter, new_sequence_id, request_id_of_task
from server.uvicorn_settings import check_certificate
from tests.support.chat_server import MODEL, make_services, running

CHAT = "/v1/chat/completions"
BODY = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}]}
PAGE = "https://app.example"


@contextmanager
def client(**config):
    with (
        running(make_services("ok", config=ServerConfig(**config))) as url,
        httpx.Client(base_url=url, timeout=30) as http,
    ):
        yield http


def ask_browser(http, origin):
    """The preflight that a browser sends ahead of a page's call."""
    headers = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, content-type",
    }
    return http.options(CHAT, headers=headers)


def test_pages_of_other_origins_may_not_call_unless_they_are_named():
    with client() as http:
        assert ask_browser(http, PAGE).status_code == 405
        answer = http.post(CHAT, json=BODY, headers={"origin": PAGE})
        assert "access-control-allow-origin" not in answer.headers


def test_a_named_origin_may_call_with_a_key_and_asks_without_one():
    with client(cors_origins=(PAGE,), api_key_hashes=hash_api_keys("k")) as http:
        asked = ask_browser(http, PAGE)
        assert asked.status_code == 200
        assert asked.headers["access-control-allow-origin"] == PAGE
        assert "access-control-allow-credentials" not in asked.headers
        headers = {"origin": PAGE, "authorization": "Bearer k"}
        answer = http.post(CHAT, json=BODY, headers=headers)
        assert answer.headers["access-control-allow-origin"] == PAGE
        exposed = answer.headers["access-control-expose-headers"].split(", ")
        assert {"x-request-id", "request-id", "retry-after-ms", "x-should-retry"} <= set(exposed)
        assert "DELETE" in asked.headers["access-control-allow-methods"]
        refused = ask_browser(http, "https://other.example")
        assert refused.status_code == 400
        assert set(refused.json()["error"]) == {"message", "type", "param", "code"}
        assert http.post(CHAT, json=BODY, headers={"origin": PAGE}).status_code == 401


@pytest.mark.parametrize("origin", ["app.example", "https://a/b", "", "ftp://a", "https://"])
def test_what_is_no_origin_is_refused(origin):
    with pytest.raises(ValueError, match="is not an origin"):
        ServerConfig(cors_origins=(origin,))


def test_a_key_has_its_share_and_gives_it_back():
    load = KeyLoad(2)
    with load.counted(b"a"), load.counted(b"b"):
        with load.counted(b"a"), pytest.raises(OverloadedError, match="max_requests_per_key=2"):
            load.counted(b"a").__enter__()
        with load.counted(b"a"):
            pass


def test_a_key_with_too_many_requests_is_told_so_and_others_are_served():
    config = ServerConfig(api_key_hashes=hash_api_keys("a\nb"), max_requests_per_key=1)
    services = make_services("ok", config=config, pause_after=0)
    key_a, key_b = ({"authorization": f"Bearer {key}"} for key in "ab")
    with (
        running(services) as url,
        httpx.Client(base_url=url, timeout=30) as http,
        http.stream("POST", CHAT, json=BODY | {"stream": True}, headers=key_a) as first,
    ):
        lines = first.iter_lines()  # held: an iterator that is collected closes the answer
        next(lines)
        refused = http.post(CHAT, json=BODY, headers=key_a)
        assert refused.status_code == 429
        assert "retry-after" in refused.headers
        assert http.get("/metrics", headers=key_a).status_code == 200
        services.engine.pause_after = None
        assert http.post(CHAT, json=BODY, headers=key_b).status_code == 200


def test_keys_are_no_flag():
    with pytest.raises(SystemExit):
        make_parser().parse_args(["--api-key", "secret"])


def test_every_limit_is_a_flag_and_is_told_in_the_help():
    text = make_parser().format_help()
    for name in ServerConfig.__dataclass_fields__:
        if name != "api_key_hashes":
            assert f"--{name.replace('_', '-')}" in text


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    try:
        subprocess.run([*command, "-keyout", key, "-out", cert], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    return cert, key


def test_a_certificate_makes_it_https(certificate):
    cert, key = map(str, certificate)
    config = ServerConfig(tls_cert_file=cert, tls_key_file=key)
    check_certificate(config)
    trusting = ssl.create_default_context(cafile=cert)
    with running(make_services("ok", config=config)) as url:
        secure = url.replace("http:", "https:")
        assert httpx.get(f"{secure}/health", verify=trusting).status_code == 200
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"{url}/health")


def test_a_container_finds_it_alive_with_and_without_a_certificate(certificate):
    cert, key = map(str, certificate)
    for config in (ServerConfig(), ServerConfig(tls_cert_file=cert, tls_key_file=key)):
        with running(make_services("ok", config=config)) as url:
            port = int(url.rsplit(":", 1)[1])
            assert is_alive(port)
        assert not is_alive(port)


def test_a_certificate_that_cannot_be_used_is_told_before_anything_is_loaded(certificate):
    cert, key = map(str, certificate)
    for wrong in ((cert, f"{key}.gone"), (cert, cert), (key, key)):
        with pytest.raises(StartupError, match="--tls-cert-file"):
            check_certificate(ServerConfig(tls_cert_file=wrong[0], tls_key_file=wrong[1]))
    with pytest.raises(ValueError, match="give both or neither"):
        ServerConfig(tls_cert_file=cert)


def test_a_key_with_a_passphrase_is_refused_and_nobody_is_asked_for_it(certificate, tmp_path):
    cert, key = map(str, certificate)
    locked = str(tmp_path / "locked.pem")
    command = ["openssl", "ec", "-in", key, "-aes256", "-passout", "pass:x", "-out", locked]
    subprocess.run(command, check=True, capture_output=True)
    with pytest.raises(StartupError, match="--tls-key-file"):
        check_certificate(ServerConfig(tls_cert_file=cert, tls_key_file=locked))


def test_a_json_log_line_has_the_request_and_its_facts():
    record = logging.LogRecord("server.gate", logging.INFO, "f", 1, "%s ended", ("it",), None)
    record.fields = {"status": 200, "odd": b"\xff"}
    token = request_id_of_task.set("req_1")
    line = JsonFormatter().format(record)
    request_id_of_task.reset(token)
    entry = json.loads(line)
    assert "\n" not in line
    assert entry.pop("time").endswith("+00:00")
    assert entry == {
        "level": "info",
        "logger": "server.gate",
        "message": "it ended",
        "request_id": "req_1",
        "status": 200,
        "odd": "/w==",
    }


def test_a_json_log_line_of_the_engine_names_the_sequence_and_its_request():
    token = request_id_of_task.set("req_1")
    sequence_id = new_sequence_id()
    request_id_of_task.reset(token)
    record = logging.LogRecord("engine.advance", logging.ERROR, "f", 1, "failed", (), None)
    record.sequence_id = sequence_id
    entry = json.loads(JsonFormatter().format(record))  # in a thread that knows no request
    assert (entry["sequence_id"], entry["request_id"]) == (sequence_id, "req_1")
    assert new_sequence_id() != new_sequence_id()


def test_requests_are_logged_on_demand_with_their_ids_and_without_their_texts(caplog):
    with caplog.at_level("INFO", "server"), client(api_key_hashes=hash_api_keys("k-1")) as http:
        said = BODY | {"messages": [{"role": "user", "content": "zq-secret"}]}
        answer = http.post(CHAT, json=said, headers={"authorization": "Bearer k-1"})
    (line,) = [record.getMessage() for record in caplog.records if CHAT in record.getMessage()]
    assert line.startswith(f"{answer.headers['x-request-id']}: POST {CHAT} 200, ")
    assert "zq-secret" not in caplog.text
    assert "k-1" not in caplog.text


@pytest.mark.parametrize("key", ["first", "second", "neither"])
def test_a_key_is_compared_with_every_known_one_whichever_it_is(monkeypatch, key):
    """By digests, in constant time: how long it takes tells nothing."""
    compared: list[tuple[bytes, bytes]] = []

    def compare_digest(given: bytes, known: bytes) -> bool:
        compared.append((given, known))
        return real(given, known)

    real = hmac.compare_digest
    monkeypatch.setattr("server.gate.hmac.compare_digest", compare_digest)
    hashes = hash_api_keys("first\nsecond\nthird")
    with client(api_key_hashes=hashes) as http:
        answer = http.get("/v1/models", headers={"authorization": f"Bearer {key}"})
    assert answer.status_code == (401 if key == "neither" else 200)
    assert [known for _, known in compared] == [*hashes]
    assert {len(given) for given, _ in compared} == {32}

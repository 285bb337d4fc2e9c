"""GET /vllm/config: who is answered, and with what."""

from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from fleet.models import BoxContact, Host, HostLabel, IntendedServer
from tests.fleet.config.files import MODELS, with_fleet, write

pytestmark = pytest.mark.django_db
HOST = "203.0.113.10"
URL = "/vllm/config"
HOSTS = f"hosts:\n  {HOST}: [[qwen3-8b, 8003], [tiny, 8001]]\n  2001:db8::1: [[tiny, 8001]]"
TWO_MODELS = (
    MODELS.replace(
        "vllm: {model: Qwen/Qwen3-8B-FP8}",
        "vllm: {model: Qwen/Qwen3-8B-FP8, args: [--dtype, auto], gpu_memory_utilization: 0.4, max_model_len: 40960,"
        " vram_gb: 9, disk_gb: 12}",
    )
    + "  - model_name: tiny\n    litellm_params: {model: hosted_vllm/org/tiny}\n"
    "    model_info: {self_hosted: true}\n    vllm: {model: org/tiny-1b}\n"
)


@pytest.fixture
def config(tmp_path: Path, settings: Any) -> Path:
    """The configuration in use; a test may write over it."""
    settings.LLMAO_CONFIG = write(tmp_path, with_fleet(HOSTS).replace("salt: salt", "salt: test-vllm-salt"), TWO_MODELS)
    return tmp_path / "config.yaml"


def ask(client: Client, host: str | None = HOST, key: str = "fleet-key", **more: Any) -> HttpResponse:
    headers = {"Authorization": f"Bearer {key}", **more.pop("headers", {})}
    if host is not None:
        headers["X-LLMAO-Host"] = host
    return client.get(URL, headers=headers, **more)  # type: ignore[return-value]


def error(answer: Any) -> tuple[int, str]:
    """(status, code), after checking the form of the error."""
    told = answer.json()
    assert set(told) == {"error"} and set(told["error"]) == {"message", "type", "code"}
    assert told["error"]["message"].endswith(".")
    return answer.status_code, told["error"]["code"]


def test_it_tells_a_box_what_to_run(client: Client, config: Path) -> None:
    answer = ask(client)
    assert answer.status_code == 200 and answer["Cache-Control"] == "no-store"
    body = answer.json()  # type: ignore[attr-defined]
    revision = body.pop("revision")
    assert revision.startswith("sha256:") and len(revision) == 71
    assert answer["ETag"] == f'"{revision}"'
    assert body == {
        "host": HOST,
        "servers": [
            {
                "name": "tiny",
                "model": "org/tiny-1b",
                "served_model_name": "org/tiny",
                "host": HOST,
                "port": 8001,
                "api_key": "sk-vllm-YU9F3Sgfr-gNOZKZHGc84-cbgua6IiDkhr3XlaX35Tc",
                "args": [],
            },
            {
                "name": "qwen3-8b",
                "model": "Qwen/Qwen3-8B-FP8",
                "served_model_name": "qwen3-8b",
                "host": HOST,
                "port": 8003,
                "api_key": body["servers"][1]["api_key"],
                "args": ["--dtype", "auto"],
                "gpu_memory_utilization": 0.4,
                "max_model_len": 40960,
                "vram_gb": 9,
                "disk_gb": 12,
            },
        ],
    }
    assert '"vram_gb": 9,' in answer.content.decode()


def test_it_gives_legacy_servers_the_shared_key(client: Client, config: Path) -> None:
    config.write_text(with_fleet(f"{HOSTS}\nselfhost_api_key: shared\nlegacy_servers: ['{HOST}:8003']"))
    keys = [server["api_key"] for server in ask(client).json()["servers"]]  # type: ignore[attr-defined]
    assert keys[1] == "shared" and keys[0].startswith("sk-vllm-")


@pytest.mark.parametrize("spelled", ["::ffff:203.0.113.10", " 203.0.113.10 ", "[::ffff:203.0.113.10]"])
def test_it_knows_a_host_in_other_spellings(client: Client, config: Path, spelled: str) -> None:
    assert ask(client, spelled).json()["host"] == HOST  # type: ignore[attr-defined]


def test_it_answers_ipv6_hosts(client: Client, config: Path) -> None:
    body = ask(client, "2001:DB8:0::1").json()  # type: ignore[attr-defined]
    assert (body["host"], body["servers"][0]["port"]) == ("2001:db8::1", 8001)
    assert BoxContact.objects.get().host == "2001:db8::1"


# --- refusals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic fleet-key", "fleet-key", "Bearer fleet-key2", "Bearer fleet",
     "Bearer fleet-key fleet-key", "Bearer schl\u00fcssel", "Bearer \udcff"],
)  # fmt: skip
def test_it_refuses_another_key(client: Client, config: Path, header: str | None) -> None:
    headers = {"X-LLMAO-Host": HOST, **({"Authorization": header} if header is not None else {})}
    answer = client.get(URL, headers=headers)
    assert error(answer) == (401, "invalid_fleet_key") and answer["WWW-Authenticate"] == "Bearer"
    assert not BoxContact.objects.exists()


def test_it_asks_the_database_nothing_for_a_wrong_key(
    client: Client, config: Path, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(0):
        assert ask(client, key="wrong").status_code == 401


def test_it_takes_the_scheme_in_any_case(client: Client, config: Path) -> None:
    answer = client.get(URL, headers={"Authorization": "bearer fleet-key", "X-LLMAO-Host": HOST})
    assert answer.status_code == 200


def test_it_is_off_without_a_fleet_key(client: Client, config: Path) -> None:
    config.write_text(with_fleet(HOSTS).replace("  key: fleet-key\n", ""))
    assert error(ask(client)) == (503, "not_configured")
    assert error(ask(client, key="")) == (503, "not_configured")


def test_it_works_on_through_a_bad_edit(client: Client, config: Path) -> None:
    before = ask(client).content
    config.write_text("fleet: [hunter2")
    assert ask(client).content == before


def test_it_says_so_when_there_never_was_a_good_configuration(client: Client, config: Path, settings: Any) -> None:
    settings.LLMAO_CONFIG = write(config.parent / ".." / config.parent.name, "fleet: hunter2")
    answer = ask(client)
    assert error(answer) == (503, "invalid_configuration")
    assert "hunter2" not in answer.content.decode() and "manage.py check" in answer.content.decode()


@pytest.mark.parametrize("method", ["post", "head", "put", "delete", "options", "patch"])
def test_it_only_takes_get(config: Path, method: str) -> None:
    answer = getattr(Client(enforce_csrf_checks=True), method)(URL, headers={"Authorization": "Bearer fleet-key"})
    assert answer.status_code == 405 and answer["Allow"] == "GET"
    if method != "head":
        assert error(answer) == (405, "method_not_allowed")


@pytest.mark.parametrize("host", ["box1", "203.0.113", "203.0.113.10:8001", "203.0.113.10, 203.0.113.11", "http://x"])
def test_it_refuses_a_claim_that_is_no_address(client: Client, config: Path, host: str) -> None:
    assert error(ask(client, host)) == (400, "invalid_host")


def test_it_remembers_an_unknown_host(client: Client, config: Path) -> None:
    answer = ask(client, "198.51.100.77")
    assert error(answer) == (404, "unknown_host") and "198.51.100.77" in answer.content.decode()
    contact = BoxContact.objects.get()
    assert (contact.host, contact.known, contact.count, contact.peer) == ("198.51.100.77", False, 1, "127.0.0.1")


@pytest.mark.parametrize("host", ["10.0.0.5", "127.0.0.5", "169.254.169.254", "::1", "224.0.0.1", "0.0.0.0",
                                  "::ffff:169.254.169.254", "fe80::1", "100.64.0.1"])  # fmt: skip
def test_it_does_not_remember_a_host_that_nobody_may_approve(client: Client, config: Path, host: str) -> None:
    answer = ask(client, host)
    assert error(answer) == (404, "unknown_host") and "no public address" in answer.content.decode()
    assert not BoxContact.objects.exists()


def test_it_remembers_private_hosts_where_they_are_allowed(client: Client, config: Path) -> None:
    config.write_text(with_fleet("allow_private_hosts: true"))
    assert ask(client, "127.0.0.5").status_code == ask(client, "10.0.0.5").status_code == 404
    assert ask(client, "169.254.169.254").status_code == 404
    assert sorted(BoxContact.objects.values_list("host", flat=True)) == ["10.0.0.5", "127.0.0.5"]


def test_it_answers_a_private_host_that_config_names(client: Client, config: Path) -> None:
    config.write_text(with_fleet("hosts: {10.0.0.1: [[tiny, 8003]]}").replace("salt: salt", "salt: test-vllm-salt"))
    (server,) = ask(client, "10.0.0.1").json()["servers"]  # type: ignore[attr-defined]
    assert server["api_key"] == "sk-vllm-pbaVhd2VqhAXj7mwYIKQ6WOPQQyctsuHpMSOr5DNrxY"


# --- revisions ------------------------------------------------------------------------------------------------


def test_it_says_that_nothing_changed(client: Client, config: Path) -> None:
    etag = ask(client)["ETag"]
    for said in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        answer = ask(client, headers={"If-None-Match": said})
        assert (answer.status_code, answer.content, answer["ETag"]) == (304, b"", etag)
    for said in ('"other"', etag.strip('"'), "garbage", ""):
        assert ask(client, headers={"If-None-Match": said}).status_code == 200


def test_it_changes_the_revision_with_the_assignment_and_not_with_keys(client: Client, config: Path) -> None:
    first = ask(client)["ETag"]
    config.write_text(with_fleet(HOSTS))  # another salt
    assert ask(client)["ETag"] == first
    config.write_text(with_fleet(HOSTS.replace("8003", "8004")))
    second = ask(client)["ETag"]
    config.with_name("models.yaml").write_text(TWO_MODELS.replace("auto", "half"))
    assert len({first, second, ask(client)["ETag"]}) == 3
    assert ask(client, "2001:db8::1")["ETag"] != first


def test_it_keeps_the_revision_when_rows_change_places(client: Client, config: Path) -> None:
    first = ask(client)["ETag"]
    config.write_text(with_fleet(f"hosts: {{{HOST}: [[tiny, 8001, renamed, 40001], [qwen3-8b, 8003]]}}"))
    assert ask(client)["ETag"] == first


# --- rows that are not in config.yaml -------------------------------------------------------------------------


def intend(host: str, port: int, model: str = "tiny", origin: str = "approval") -> IntendedServer:
    box, _ = Host.objects.get_or_create(address=host)
    return IntendedServer.objects.create(host=box, listen_port=port, model=model, origin=origin)


def served(answer: Any) -> list[tuple[str, int]]:
    return [(server["name"], server["port"]) for server in answer.json()["servers"]]


def test_it_gives_an_approved_box_its_rows_at_once(client: Client, config: Path) -> None:
    host = "198.51.100.77"
    assert ask(client, host).status_code == 404
    intend(host, 8001)
    intend(host, 8002, "qwen3-8b", "admin")
    assert served(ask(client, host)) == [("tiny", 8001), ("qwen3-8b", 8002)]
    assert BoxContact.objects.get().known


def test_it_lets_config_take_over_approvals_and_not_the_admins_rows(client: Client, config: Path) -> None:
    intend(HOST, 8009)
    intend(HOST, 8010, origin="admin")
    intend(HOST, 8003, "tiny", origin="admin")
    assert served(ask(client)) == [("tiny", 8001), ("qwen3-8b", 8003), ("tiny", 8010)]


def test_it_does_not_count_an_ended_row(client: Client, config: Path) -> None:
    from django.utils import timezone

    row = intend("198.51.100.77", 8001)
    IntendedServer.objects.filter(pk=row.pk).update(ended_at=timezone.now())
    assert ask(client, "198.51.100.77").status_code == 404


def test_it_gives_a_retired_host_nothing(client: Client, config: Path) -> None:
    box = Host.objects.create(address=HOST)
    HostLabel.objects.create(host=box, label="reboot_requested", by="ada")
    assert ask(client).status_code == 200
    HostLabel.objects.create(host=box, label="retired", by="ada")
    assert error(ask(client)) == (404, "unknown_host")


def test_it_gives_no_half_assignment(client: Client, config: Path) -> None:
    """A box that was told to drop a model because models.yaml lost a line would stop serving it."""
    intend("198.51.100.77", 8001)
    intend("198.51.100.77", 8002, "gone")
    answer = ask(client, "198.51.100.77")
    assert error(answer) == (503, "invalid_assignment") and "gone" in answer.content.decode()


def test_it_gives_a_box_its_new_key_although_its_revision_stays(client: Client, config: Path) -> None:
    first = ask(client)
    known = {"If-None-Match": first["ETag"]}
    assert ask(client, headers=known).status_code == 304
    config.write_text(config.read_text().replace("salt: test-vllm-salt", "salt: another-salt"))
    second: Any = ask(client, headers=known)
    assert second.status_code == 200, "a 304 would leave it with the old key for ever"
    assert second["ETag"] == first["ETag"]
    assert second.json()["servers"] != first.json()["servers"]  # type: ignore[attr-defined]
    assert ask(client, headers=known).status_code == 304

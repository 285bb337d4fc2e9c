"""The intended source: files, tables, labels and approvals in one reading."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.utils import timezone

from fleet import clock, fetching, keys, models, snapshots
from fleet.config import load
from fleet.models import Host, IntendedServer, SourceState
from fleet.sources.base import SourceError
from fleet.sources.intended import SOURCE, fetch
from reconcile.identity import Key
from reconcile.inputs import Approval, HostLabel, Instance, Intended, Listing, Model, Server
from reconcile.settings import Settings
from reconcile.view import View
from tests.fleet.config.files import MODELS, with_fleet, write

pytestmark = pytest.mark.django_db
COMMERCIAL = """\
  - model_name: gpt
    provider: OpenAI
    context_window: 400000
    litellm_params: {model: openai/gpt-5-mini, api_base: https://api.example.com/v1, api_key: hunter2}
    pricing: {input_cost_per_token: 2.5e-7, output_cost_per_token: 0.000002}
    model_info: {mode: chat}
"""
BOX = MODELS.replace("FP8}", "FP8, max_model_len: 40960}").replace(
    "- model_name: qwen3-8b", "- model_name: qwen3-8b\n    license: Apache-2.0"
)


@pytest.fixture
def edit(tmp_path: Path, settings: Any) -> Any:
    """Write config.yaml with more lines in `fleet` and more at the end."""

    def written(fleet: str = "", rest: str = "", box: str = BOX + COMMERCIAL) -> Path:
        settings.LLMAO_CONFIG = write(tmp_path, with_fleet(fleet, rest), box)
        return tmp_path / "config.yaml"

    return written


def reading() -> Intended:
    body = fetch(View())
    assert isinstance(body, Intended)
    return msgspec.json.decode(msgspec.json.encode(body), type=Intended)  # what a pass will read


def intend(host: str, port: int, origin: str = "approval", model: str = "qwen3-8b") -> IntendedServer:
    box, _ = Host.objects.get_or_create(address=host)
    return IntendedServer.objects.create(host=box, listen_port=port, model=model, origin=origin)


def names(body: Intended) -> list[tuple[str, int, str]]:
    return [(server.host, server.listen_port, server.origin) for server in body.servers]


def test_it_reads_the_servers_of_config(edit: Any) -> None:
    path = edit(
        "hosts:\n  203.0.113.10: [[qwen3-8b, 8001, left, 40001], [qwen3-8b, 8002]]\n"
        "selfhost_api_key: shared\nlegacy_servers: ['203.0.113.10:8002']\nopen_servers: ['203.0.113.10:8001']"
    )
    config = load(path)
    assert reading().servers == (
        Server(
            host="203.0.113.10",
            listen_port=8001,
            model="qwen3-8b",
            label="left",
            pinned_port=40001,
            origin="config",
            key_hash=keys.secret_hash("salt", keys.derive_key("salt", "203.0.113.10", 8001)),
            open_allowed=True,
        ),
        Server(
            host="203.0.113.10",
            listen_port=8002,
            model="qwen3-8b",
            origin="config",
            key_hash=keys.secret_hash("salt", "shared"),
            legacy=True,
        ),
    )
    assert {server.key_hash for server in reading().servers} <= set(keys.secrets_by_hash(config))


def test_it_reads_the_models_with_hidden_secrets(edit: Any) -> None:
    edit()
    assert reading().models == (
        Model(
            name="qwen3-8b",
            self_hosted=True,
            params={"model": "hosted_vllm/qwen3-8b"},
            weights="Qwen/Qwen3-8B-FP8",
            max_model_len=40960,
            shown={"license": "Apache-2.0"},
        ),
        Model(
            name="gpt",
            self_hosted=False,
            params={
                "model": "openai/gpt-5-mini",
                "api_key": {"secret": keys.secret_hash("salt", "hunter2")},
                "api_base": "https://api.example.com/v1",
                "input_cost_per_token": 2.5e-7,
                "output_cost_per_token": 0.000002,
            },
            info={"mode": "chat"},
            provider="OpenAI",
            context_window=400000,
            shown={"provider": "OpenAI", "context_window": 400000},
        ),
    )


def test_it_holds_no_secret(edit: Any) -> None:
    edit(
        "hosts: {203.0.113.10: [[qwen3-8b, 8001], [qwen3-8b, 8002]]}\nselfhost_api_key: hunter3\n"
        "legacy_servers: ['203.0.113.10:8001']\nvast: {api_key: hunter4}"
    )
    text = msgspec.json.encode(reading()).decode()
    assert not [secret for secret in ("hunter", "fleet-key", "sk-master", "sk-vllm", '"salt"') if secret in text]


def test_it_joins_config_admin_and_approval_rows(edit: Any) -> None:
    intend("203.0.113.10", 8009)  # config names the host
    intend("203.0.113.10", 8001, "admin")  # config names the place
    intend("203.0.113.10", 8010, "admin")
    intend("198.51.100.4", 8001)
    intend("198.51.100.4", 8001, "admin")
    intend("198.51.100.4", 8002)
    ended = intend("198.51.100.5", 8001)
    IntendedServer.objects.filter(pk=ended.pk).update(ended_at=timezone.now())
    edit("hosts: {203.0.113.10: [[qwen3-8b, 8001]]}")
    joined = [
        ("198.51.100.4", 8001, "admin"),
        ("198.51.100.4", 8002, "approval"),
        ("203.0.113.10", 8001, "config"),
        ("203.0.113.10", 8010, "admin"),
    ]
    assert names(reading()) == joined
    assert names(reading()) == joined  # the mirrored rows do not count twice
    assert IntendedServer.objects.get(host__address="203.0.113.10", listen_port=8009).ended_by == "config.yaml"


def test_it_leaves_a_retired_host_out(edit: Any) -> None:
    intend("198.51.100.4", 8001)
    for host in ("203.0.113.10", "198.51.100.4"):
        box, _ = Host.objects.get_or_create(address=host)
        models.HostLabel.objects.create(host=box, label="retired", by="ada")
    edit("hosts: {203.0.113.10: [[qwen3-8b, 8001]], 203.0.113.11: [[qwen3-8b, 8001]]}")
    body = reading()
    assert names(body) == [("203.0.113.11", 8001, "config")]
    assert [(label.host, label.label) for label in body.labels] == [
        ("198.51.100.4", "retired"),
        ("203.0.113.10", "retired"),
    ]


def test_it_reads_labels_and_standing_approvals(edit: Any) -> None:
    edit()
    box = Host.objects.create(address="203.0.113.10")
    label = models.HostLabel.objects.create(host=box, label="approved", by="ada")
    fields = {"kind": "prune_orphan", "key_url": "http://203.0.113.10:8001", "key_model": "qwen3-8b", "by": "ada"}
    models.Approval.objects.create(digest="a", at=5.0, **fields)
    models.Approval.objects.create(digest="spent", at=6.0, spent_at=7.0, **fields)
    models.Approval.objects.create(digest="withdrawn", at=6.0, withdrawn_at=7.0, **fields)
    body = reading()
    assert body.labels == (HostLabel(host="203.0.113.10", label="approved", at=label.at.timestamp(), by="ada"),)
    key = Key("http://203.0.113.10:8001", "qwen3-8b")
    assert body.approvals == (Approval(digest="a", kind="prune_orphan", key=key, at=5.0, by="ada"),)


def test_it_knows_the_keys_of_listed_hosts_that_nobody_intended(edit: Any) -> None:
    box = Host.objects.create(address="198.51.100.9")
    models.HostLabel.objects.create(host=box, label="retired", by="ada")
    ports = {22: 40022, 8001: 40001, 8080: 40080}
    hosts = ("203.0.113.10", "203.0.113.77", "198.51.100.9", "10.0.0.5", "169.254.169.254", "", "2001:db8::7")
    listed = tuple(
        Instance(id=str(number), host=host, running=True, status="running", ports=ports)
        for number, host in enumerate(hosts)
    )
    snapshots.publish("vast", Listing(instances=listed), clock.now())
    edit("hosts: {203.0.113.10: [[qwen3-8b, 8001]]}\nvast: {api_key: k}")
    body = reading()
    assert body.listings == ("vast",)
    assert body.discovered_key_hashes == {
        name: keys.secret_hash("salt", keys.derive_key("salt", host, port))
        for name, host, port in (
            ("203.0.113.77:8001", "203.0.113.77", 8001),
            ("203.0.113.77:8080", "203.0.113.77", 8080),
            ("[2001:db8::7]:8001", "2001:db8::7", 8001),
            ("[2001:db8::7]:8080", "2001:db8::7", 8080),
        )
    }
    edit("hosts: {203.0.113.10: [[qwen3-8b, 8001]]}\nvast: {api_key: k}\nallow_private_hosts: true")
    assert "10.0.0.5:8001" in reading().discovered_key_hashes
    assert "169.254.169.254:8001" not in reading().discovered_key_hashes
    edit("hosts: {203.0.113.10: [[qwen3-8b, 8001]]}")
    assert (reading().listings, reading().discovered_key_hashes) == ((), {})


def test_it_survives_a_listing_of_another_version(edit: Any) -> None:
    snapshots.publish("vast", Settings(), clock.now())
    models.Snapshot.objects.update(body=snapshots.pack(Approval(digest="", kind="block", key=Key("", ""), at=0, by="")))
    edit("vast: {api_key: k}")
    assert reading().discovered_key_hashes == {}


def test_it_needs_few_queries_for_500_hosts(edit: Any, django_assert_max_num_queries: Any) -> None:
    hosts = ", ".join(f"203.0.{n // 250}.{n % 250}: [[qwen3-8b, 8001]]" for n in range(500))
    edit(f"hosts: {{{hosts}}}\nvast: {{api_key: k}}")
    assert len(reading().servers) == 500
    with django_assert_max_num_queries(8):
        fetch(View())


# --- failing --------------------------------------------------------------------------------------------------


def stored() -> tuple[Intended | None, str]:
    return snapshots.latest("intended", Intended), SourceState.objects.get(name="intended").error


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ("fleet: {key: [}", "config.yaml:1: not YAML"),
        (None, "there is no configuration at"),
        (with_fleet("hosts: {203.0.113.10: [[gone, 8001]]}"), "models.yaml has no model gone"),
        (with_fleet("health_interval_s: 0\ntick_interval_s: 0"), "fleet.tick_interval_s"),
    ],
)
def test_it_keeps_rows_and_settings_through_an_invalid_edit(edit: Any, bad: str | None, sentence: str) -> None:
    path = edit("hosts: {203.0.113.10: [[qwen3-8b, 8001]]}\nhealth_fail_threshold: 5", "policy: {mode: observe}\n")
    assert fetching.fetch("intended")
    good, error = stored()
    assert good is not None and (good.settings.health_fail_threshold, good.settings.mode, error) == (5, "observe", "")
    path.unlink() if bad is None else path.write_text(bad)
    assert not fetching.fetch("intended")
    after, error = stored()
    assert after == good and sentence in error
    assert IntendedServer.objects.get().origin == "config"
    edit("hosts: {203.0.113.11: [[qwen3-8b, 8001]]}")
    assert fetching.fetch("intended")
    after, error = stored()
    assert after is not None and names(after) == [("203.0.113.11", 8001, "config")] and error == ""


def test_it_fails_with_every_sentence_when_models_lose_one_that_hosts_name(edit: Any) -> None:
    edit("hosts: {203.0.113.10: [[qwen3-8b, 8001]], 203.0.113.11: [[qwen3-8b, 8001]]}", box="models:\n" + COMMERCIAL)
    with pytest.raises(SourceError) as caught:
        fetch(View())
    assert caught.value.message == (
        "config.yaml:4: fleet.hosts.203.0.113.10[0][0]: models.yaml has no model qwen3-8b\n"
        "config.yaml:4: fleet.hosts.203.0.113.11[0][0]: models.yaml has no model qwen3-8b"
    )


def test_it_fails_when_models_lose_one_that_other_rows_name(edit: Any) -> None:
    """Dropping the row instead would in the end remove a deployment that serves."""
    intend("198.51.100.4", 8001)
    intend("198.51.100.5", 8001, "admin", "gone")
    edit(box="models:\n" + COMMERCIAL)
    with pytest.raises(SourceError) as caught:
        fetch(View())
    approved, admins = caught.value.message.split("\n")
    assert approved.startswith(
        "the row that Approve made for 198.51.100.4:8001 names qwen3-8b, which is no self-hosted"
    )
    assert admins.startswith("the admin's row for 198.51.100.5:8001 names gone")


def test_it_never_takes_up_an_address_that_must_not_be_dialled(edit: Any) -> None:
    intend("169.254.169.254", 80, "admin")
    edit()
    with pytest.raises(SourceError, match="169.254.169.254:80 is for an address that is a cloud's metadata service"):
        fetch(View())


def test_it_writes_nothing_while_it_fails(edit: Any) -> None:
    intend("198.51.100.5", 8001, "admin", "gone")
    approved = intend("203.0.113.10", 8001)
    edit("hosts: {203.0.113.10: [[qwen3-8b, 8001]]}")
    with pytest.raises(SourceError):
        fetch(View())
    approved.refresh_from_db()
    assert approved.ended_at is None and not IntendedServer.objects.filter(origin="config").exists()


def test_it_is_one_of_the_sources() -> None:
    from fleet.sources import SOURCES
    from fleet.timing import intervals

    assert SOURCES["intended"] is SOURCE
    assert set(intervals()) == {*SOURCES, "tick"}

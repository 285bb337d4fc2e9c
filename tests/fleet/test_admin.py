"""The admin: who said what and when, config.yaml's rows untouchable, and readings without secrets."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import DjangoAssertNumQueries, DjangoCaptureOnCommitCallbacks

from fleet import approvals, clock, snapshots
from fleet.models import ActionLog, Approval, Host, HostLabel, IntendedServer, Lease, Pass, ServedConfig, Snapshot
from reconcile.inputs import Attempts, Intended, Model, Server
from reconcile.view import Plan, View

from .builders import HOST, action, box_asked, know_models, record, store_pass

pytestmark = pytest.mark.django_db
SERVERS = "/admin/fleet/intendedserver/"
HOSTS = "/admin/fleet/host/"


@pytest.fixture
def host() -> Host:
    know_models("qwen3-8b", "tiny")
    return Host.objects.create(address=HOST)


def server(host: Host, origin: str = "admin", port: int = 8001) -> IntendedServer:
    return IntendedServer.objects.create(host=host, model="tiny", listen_port=port, origin=origin, created_by="grace")


def chosen(action_name: str, *rows: Host | IntendedServer | Approval) -> dict[str, object]:
    return {"action": action_name, "_selected_action": [row.pk for row in rows]}


# --- servers --------------------------------------------------------------------------------------------------


def test_it_adds_a_server_of_origin_admin_with_who_said_so(admin: Client, host: Host) -> None:
    given = {"host": host.pk, "listen_port": "8001", "model": "qwen3-8b", "label": "", "pinned_port": ""}
    assert admin.post(f"{SERVERS}add/", given).status_code == 302
    row = IntendedServer.objects.get()
    assert (row.model, row.listen_port, row.origin, row.created_by) == ("qwen3-8b", 8001, "admin", "ada")
    log = ActionLog.objects.get()
    assert (log.kind, log.name, log.by) == ("add_server", f"{HOST}:8001/qwen3-8b", "ada")


def test_it_has_the_loop_take_up_what_was_saved(
    admin: Client, host: Host, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    given = {"host": host.pk, "listen_port": "8001", "model": "qwen3-8b"}
    with django_capture_on_commit_callbacks() as callbacks:
        admin.post(f"{SERVERS}add/", given)
    assert approvals.take_up in callbacks


def test_it_changes_a_server_and_logs_what(admin: Client, host: Host) -> None:
    row = server(host)
    admin.post(f"{SERVERS}{row.pk}/change/", {"host": host.pk, "listen_port": "8001", "model": "qwen3-8b"})
    row.refresh_from_db()
    assert (row.model, row.created_by) == ("qwen3-8b", "grace")
    assert (ActionLog.objects.get().by, ActionLog.objects.get().reason) == ("ada", "changed model")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"listen_port": "0"}, "greater than or equal to 1"),
        ({"listen_port": "65536"}, "less than or equal to 65535"),
        ({"model": "gpt-9"}, "Select a valid choice. gpt-9 is not one of the available choices."),
        ({"listen_port": "8005"}, f"tiny has port 8005 on {HOST} (from config.yaml): take another."),
    ],
)
def test_it_refuses_what_config_yaml_would_refuse(admin: Client, host: Host, given: dict[str, str], says: str) -> None:
    server(host, "config", 8005)
    form = {"host": str(host.pk), "listen_port": "8001", "model": "qwen3-8b", **given}
    page = admin.post(f"{SERVERS}add/", form).content.decode()
    assert says in page
    assert IntendedServer.objects.count() == 1


def test_it_shows_a_server_of_config_yaml_and_lets_nobody_touch_it(admin: Client, host: Host) -> None:
    row = server(host, "config")
    page = admin.get(f"{SERVERS}{row.pk}/change/").content.decode()
    assert "tiny" in page and 'name="listen_port"' not in page
    assert admin.post(f"{SERVERS}{row.pk}/change/", {"listen_port": "9"}).status_code == 403
    assert admin.post(f"{SERVERS}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    page = admin.post(SERVERS, chosen("end", row), follow=True).content.decode()
    assert f" on {HOST}:8001 is in config.yaml: take it out there." in page
    row.refresh_from_db()
    assert (row.listen_port, row.ended_at) == (8001, None)


def test_it_ends_servers_and_keeps_them(admin: Client, host: Host) -> None:
    row = server(host, "approval")
    page = admin.post(SERVERS, chosen("end", row), follow=True).content.decode()
    row.refresh_from_db()
    assert "Ended 1." in page and row.ended_by == "ada"
    assert "tiny" not in admin.get(SERVERS).content.decode().partition("result_list")[2]
    assert "by ada" in admin.get(SERVERS, {"state": "ended"}).content.decode()
    assert admin.post(f"{SERVERS}{row.pk}/change/", {}).status_code == 403


def test_it_offers_no_delete(admin: Client, host: Host) -> None:
    row = server(host)
    assert admin.post(f"{SERVERS}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert "delete_selected" not in admin.get(SERVERS).content.decode()


# --- hosts ----------------------------------------------------------------------------------------------------


def added(*servers: tuple[str, str]) -> dict[str, str]:
    """The form of a host with servers added to it."""
    form = {"address": HOST, "note": ""}
    for prefix, count in (("labels", 0), ("servers", 0), ("servers-2", len(servers))):
        form |= {f"{prefix}-TOTAL_FORMS": str(count), f"{prefix}-INITIAL_FORMS": "0"}
    for number, (model, port) in enumerate(servers):
        form |= {f"servers-2-{number}-model": model, f"servers-2-{number}-listen_port": port}
    return form


def test_it_adds_a_host_with_its_servers(admin: Client) -> None:
    know_models("qwen3-8b", "tiny")
    assert admin.post(f"{HOSTS}add/", added(("tiny", "8001"), ("qwen3-8b", "8002"))).status_code == 302
    rows = IntendedServer.objects.values_list("host__address", "model", "listen_port", "origin", "created_by")
    assert list(rows) == [(HOST, "tiny", 8001, "admin", "ada"), (HOST, "qwen3-8b", 8002, "admin", "ada")]
    assert ActionLog.objects.filter(kind="add_server", by="ada").count() == 2


def test_it_refuses_two_servers_on_one_port(admin: Client) -> None:
    know_models("qwen3-8b", "tiny")
    page = admin.post(f"{HOSTS}add/", added(("tiny", "8001"), ("qwen3-8b", "8001"))).content.decode()
    assert "Port 8001 is given twice: each server needs its own." in page
    assert not Host.objects.exists()


@pytest.mark.parametrize("address", ["169.254.169.254", "224.0.0.1", "::ffff:169.254.0.9"])
def test_it_refuses_a_host_that_no_box_can_have(admin: Client, address: str) -> None:
    page = admin.post(f"{HOSTS}add/", {**added(), "address": address}).content.decode()
    assert "no box can be there" in page
    assert not Host.objects.exists()


def test_it_shows_the_servers_of_a_host_and_adds_more_beside_them(admin: Client, host: Host) -> None:
    server(host, "config")
    page = admin.get(f"{HOSTS}{host.pk}/change/").content.decode()
    assert "config.yaml" in page and 'name="servers-0-listen_port"' not in page
    admin.post(f"{HOSTS}{host.pk}/change/", {**added(("qwen3-8b", "8002")), "servers-INITIAL_FORMS": "0"})
    assert IntendedServer.objects.filter(origin="admin").count() == 1
    assert IntendedServer.objects.get(origin="config").listen_port == 8001


def test_it_writes_and_clears_labels_with_who_and_when(admin: Client, host: Host) -> None:
    admin.post(HOSTS, chosen("label_reboot_requested", host))
    admin.post(HOSTS, chosen("label_approved", host))
    assert set(HostLabel.objects.values_list("label", "by")) == {("reboot_requested", "ada"), ("approved", "ada")}
    assert "reboot requested (ada, 2" in admin.get(HOSTS).content.decode()
    admin.post(HOSTS, chosen("clear_reboot_requested", host))
    assert [label.label for label in HostLabel.objects.all()] == ["approved"]


def test_it_keeps_a_host_that_something_was_said_about(admin: Client, host: Host) -> None:
    row = server(host)
    assert admin.post(f"{HOSTS}{host.pk}/delete/", {"post": "yes"}).status_code == 403
    row.delete()
    assert admin.post(f"{HOSTS}{host.pk}/delete/", {"post": "yes"}).status_code == 302


def test_it_lists_many_hosts_with_few_queries(
    admin: Client, host: Host, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(20):
        server(Host.objects.create(address=f"198.51.100.{number}"))
    with django_assert_max_num_queries(12):
        admin.get(HOSTS)


# --- what is only shown ---------------------------------------------------------------------------------------


def test_it_shows_a_snapshot_pretty_and_without_hashes(admin: Client) -> None:
    body = Intended(
        servers=(Server(host=HOST, listen_port=8001, model="tiny", key_hash="a1" * 16),),
        models=(Model(name="tiny", self_hosted=True, params={"api_key": {"secret": "b2" * 16}}),),
        discovered_key_hashes={f"{HOST}:8002": "c3" * 16},
    )
    snapshots.publish("intended", body, clock.now())
    page = admin.get(f"/admin/fleet/snapshot/{Snapshot.objects.get().pk}/change/").content.decode()
    assert "&quot;listen_port&quot;: 8001" in page and "&quot;key_hash&quot;: &quot;secret&quot;" in page
    assert not any(part in page for part in ("a1a1", "b2b2", "c3c3"))


def test_it_shows_what_was_seen_when_something_was_approved_and_withdraws_it(admin: Client) -> None:
    held = action(before={"p": {"api_key": {"secret": "a1" * 16}}})
    store_pass(plan=Plan(actions=(held,)))
    approval = approvals.approve_action(held.digest, "grace")
    page = admin.get(f"/admin/fleet/approval/{approval.pk}/change/").content.decode()
    assert "grace" in page and "LiteLLM still reaches it" in page and "a1a1" not in page
    page = admin.post("/admin/fleet/approval/", chosen("withdraw", approval), follow=True).content.decode()
    approval.refresh_from_db()
    assert "Withdrew 1" in page and approval.withdrawn_at is not None


def test_it_shows_a_write_with_before_and_after(admin: Client) -> None:
    line = ActionLog.objects.create(
        kind="update_litellm",
        name=f"{HOST}:8001/tiny",
        by="rule R07",
        reason="the listing maps 8001 to 40002 now",
        before={"api_base": "http://203.0.113.10:1/v1", "api_key": {"secret": "a1" * 16}},
        after={"api_base": "http://203.0.113.10:2/v1", "api_key": {"secret": "b2" * 16}},
    )
    page = admin.get(f"/admin/fleet/actionlog/{line.pk}/change/").content.decode()
    assert "http://203.0.113.10:1/v1 → http://203.0.113.10:2/v1" in page
    assert "secret → changed" in page and "a1a1" not in page and "b2b2" not in page


def test_it_shows_a_pass_the_lease_the_sources_and_a_box(admin: Client) -> None:
    number = store_pass(view=View(records=(record(),)), plan=Plan(actions=(action(),)))
    Lease.objects.create(holder="web-1:42", until=clock.now())
    snapshots.fail("vast", "Vast answered 429", clock.now())
    box = box_asked("203.0.113.77")
    ServedConfig.objects.create(
        contact=box, revision="sha256:abc", first_at=1, last_at=2, servers=[{"listen_port": 8001, "model": "tiny"}]
    )
    for path, says in (
        (f"pass/{number}/change/", "LiteLLM still reaches it"),
        ("lease/pass/change/", "web-1:42"),
        ("sourcestate/vast/change/", "Vast answered 429"),
        (f"boxcontact/{box.pk}/change/", "tiny:8001"),
    ):
        assert says in admin.get(f"/admin/fleet/{path}").content.decode()


def test_it_cuts_a_body_that_would_choke_a_browser(admin: Client) -> None:
    models = tuple(Model(name=f"model-{number:06}", self_hosted=True, params={}) for number in range(3000))
    snapshots.publish("intended", Intended(models=models), clock.now())
    page = admin.get(f"/admin/fleet/snapshot/{Snapshot.objects.get().pk}/change/").content.decode()
    assert "characters more" in page and "model-002999" not in page


@pytest.mark.parametrize("name", ["snapshot", "sourcestate", "boxcontact", "approval", "actionlog", "pass", "lease"])
def test_it_lets_nobody_add_change_or_delete_what_is_only_shown(admin: Client, name: str) -> None:
    assert admin.get(f"/admin/fleet/{name}/").status_code == 200
    assert admin.get(f"/admin/fleet/{name}/add/").status_code == 403
    assert "delete_selected" not in admin.get(f"/admin/fleet/{name}/").content.decode()
    snapshots.publish("attempts", Attempts(), clock.now())
    pk = Snapshot.objects.get().pk
    assert admin.post(f"/admin/fleet/snapshot/{pk}/delete/", {"post": "yes"}).status_code == 403
    assert admin.post(f"/admin/fleet/snapshot/{pk}/change/", {"source": "x"}).status_code == 403


def test_it_lists_everything_on_the_index_and_leads_back_to_the_models(admin: Client) -> None:
    page = admin.get("/admin/").content.decode()
    assert 'href="/models"' in page and "Action logs" in page and "Intended servers" in page


def test_it_lets_a_viewer_in_only_where_a_permission_says_so(viewer: Client) -> None:
    assert viewer.get(HOSTS).status_code == 403
    assert viewer.get("/admin/").status_code == 200
    assert not User.objects.get(username="vera").has_perm("fleet.view_host")
    assert not Pass.objects.exists()

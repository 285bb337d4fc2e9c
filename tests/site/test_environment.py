"""What the environment may say, and what is said back when it is wrong."""

import stat
import threading
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from llmao_site import environment


def test_it_uses_sqlite_in_the_data_folder_by_default(tmp_path: Path) -> None:
    described = environment.database({}, tmp_path)
    assert described["ENGINE"] == "django.db.backends.sqlite3"
    assert described["NAME"] == str(tmp_path / "llmao.sqlite3")
    assert described["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


def test_it_reads_a_postgresql_url(tmp_path: Path) -> None:
    described = environment.database({"DATABASE_URL": "postgresql://u:p%40ss@198.51.100.4:5433/fleet"}, tmp_path)
    assert described["ENGINE"] == "django.db.backends.postgresql"
    assert [described[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")] == [
        "fleet", "u", "p@ss", "198.51.100.4", 5433,
    ]  # fmt: skip
    assert "transaction_mode" not in described.get("OPTIONS", {})


@pytest.mark.parametrize(
    "url", ["mysql://u:topsecret@203.0.113.10/x", "topsecret", "postgresql://u:topsecret@h:port/x"]
)
def test_it_refuses_another_database_without_repeating_a_password(url: str, tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL") as refusal:
        environment.database({"DATABASE_URL": url}, tmp_path)
    assert "topsecret" not in str(refusal.value)
    assert "postgresql://user:password@host:5432/name" in str(refusal.value)


@pytest.mark.parametrize(
    "url", ["redis://203.0.113.10:6379/1", "rediss://h/0", "redis://:p%40ss@h", "redis://[::1]:6379/0"]
)
def test_it_takes_redis_urls(url: str, tmp_path: Path) -> None:
    assert environment.broker_url({"REDIS_URL": url}, tmp_path) == url


def test_it_refuses_another_broker(tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="REDIS_URL: write redis://host:6379/0"):
        environment.broker_url({"REDIS_URL": "amqp://user:pw@h"}, tmp_path)


@pytest.mark.parametrize(
    "url",
    ["redis://u:topsecret@h:x/0", "redis://h:6379/first", "redis://:topsecret@h:99999/0", "redis://", "redis://[h/0"],
)
def test_it_refuses_a_broker_whose_address_cannot_be_read(url: str, tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="REDIS_URL: write redis://host:6379/0") as refusal:
        environment.broker_url({"REDIS_URL": url}, tmp_path)
    assert "topsecret" not in str(refusal.value)


@pytest.mark.parametrize("url", ["sqlite://:memory:", "sqlite://", "sqlite:///:memory:"])
def test_it_refuses_a_database_in_memory(url: str, tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL: a database in memory is another one in each process"):
        environment.database({"DATABASE_URL": url}, tmp_path)


def test_it_puts_the_socket_in_the_data_folder(tmp_path: Path) -> None:
    assert environment.broker_url({}, Path("/srv/llmao")) == "redis+socket:///srv/llmao/valkey.sock"


def test_it_gives_two_folders_with_long_paths_two_short_sockets() -> None:
    first, second = (environment.valkey_socket(Path("/srv") / ("x" * 120) / name) for name in ("a", "b"))
    assert first != second
    assert max(len(str(first)), len(str(second))) <= environment.SOCKET_PATH_MAX


def test_it_gives_each_llmao_on_one_broker_a_queue_of_its_own() -> None:
    queues = {
        environment.queue("key", "llmao"),
        environment.queue("key", "staging"),
        environment.queue("other", "llmao"),
    }
    assert len(queues) == 3
    assert all(queue.startswith("llmao-") for queue in queues)
    assert environment.queue("key", "llmao") in queues


def test_it_makes_one_secret_key_and_keeps_it(tmp_path: Path) -> None:
    key = environment.secret_key({}, tmp_path)
    assert len(key) > 50
    assert environment.secret_key({}, tmp_path) == key
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secret_key"]


def test_it_refuses_an_empty_secret_key(tmp_path: Path) -> None:
    (tmp_path / "secret_key").write_text("\n")
    with pytest.raises(ImproperlyConfigured, match="secret_key is empty. Remove it"):
        environment.secret_key({}, tmp_path)
    assert environment.secret_key({"SECRET_KEY": "  given "}, tmp_path) == "given"


def test_it_says_that_it_may_not_write_into_the_data_folder() -> None:
    unwritable = Path("/proc")  # also for root
    with pytest.raises(ImproperlyConfigured, match="LLMAO_VAR: cannot keep a key in /proc .*that you may write to"):
        environment.secret_key({}, unwritable)


def test_it_makes_one_secret_key_when_many_processes_start_together(tmp_path: Path) -> None:
    keys: set[str] = set()
    together = threading.Barrier(8)

    def start() -> None:
        together.wait()
        keys.add(environment.secret_key({}, tmp_path))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 1


def test_it_asks_for_a_secret_key_beside_a_database_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY is not set.*secrets.token_urlsafe"):
        environment.secret_key({"DATABASE_URL": "postgresql://h/x"}, tmp_path)
    assert environment.secret_key({"DATABASE_URL": "postgresql://h/x", "SECRET_KEY": "given"}, tmp_path) == "given"


def test_it_makes_the_data_folder_for_its_owner_alone(tmp_path: Path) -> None:
    folder = environment.var_folder({"LLMAO_VAR": str(tmp_path / "a" / "b")}, tmp_path)
    assert folder == tmp_path / "a" / "b"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_it_says_that_the_data_folder_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ImproperlyConfigured, match="LLMAO_VAR: cannot make the folder .*file/under"):
        environment.var_folder({"LLMAO_VAR": str(tmp_path / "file" / "under")}, tmp_path)


def test_it_always_answers_to_this_machines_own_names() -> None:
    assert environment.allowed_hosts({}) == ["127.0.0.1", "localhost", "[::1]"]
    assert environment.allowed_hosts({"ALLOWED_HOSTS": "llmao.example.org, 203.0.113.9"})[:2] == [
        "llmao.example.org", "203.0.113.9",
    ]  # fmt: skip


def test_it_refuses_an_address_as_a_host_name() -> None:
    with pytest.raises(ImproperlyConfigured, match="ALLOWED_HOSTS: 'https://llmao.example.org' is an address"):
        environment.allowed_hosts({"ALLOWED_HOSTS": "https://llmao.example.org"})


@pytest.mark.parametrize(("text", "value"), [("1", True), ("true", True), ("0", False), ("no", False), ("", True)])
def test_it_reads_truth(text: str, value: bool) -> None:
    assert environment.boolean({"DEBUG": text}, "DEBUG", default=True) is value


def test_it_refuses_what_is_neither_true_nor_false() -> None:
    with pytest.raises(ImproperlyConfigured, match="DEBUG is 'maybe': write 1 or 0"):
        environment.boolean({"DEBUG": "maybe"}, "DEBUG", default=False)

"""Signed-in people: a caller, a viewer (staff without permissions), an admin."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from .builders import person


@pytest.fixture
def caller(client: Client) -> Client:
    client.force_login(person("cora"))
    return client


@pytest.fixture
def viewer(client: Client) -> Client:
    client.force_login(person("vera", staff=True))
    return client


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ada"))
    return client

"""Base addresses of other programs, checked: no credentials in them, no place that must not be dialled."""

from __future__ import annotations

from urllib.parse import urlsplit

from fleet.config.addresses import url_host_refused_because


def wrong_with(url: str) -> str:
    """A sentence on what is wrong with a base URL, "" when nothing is. It does not repeat the URL."""
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        return "is no URL: write it like http://127.0.0.1:4000"
    if parts.scheme not in ("http", "https") or not host or any(mark <= " " or mark == "\x7f" for mark in url):
        return "is no URL: write it like http://127.0.0.1:4000 or https://api.example.com"
    if "@" in parts.netloc:
        return "holds a user or a password: write it without, and put the key in the key's own place"
    if parts.query or parts.fragment or url[-1] in "?#":
        return "has a part after ? or #: write the base alone"
    refused = url_host_refused_because(host)
    return f"names a host that {refused}" if refused else ""

"""Vast.ai's instance listing: GET /api/v1/instances/, paged by token, shaped as the recorded bodies are.

The parts that a careless reader trips over are always there: a padded public_ipaddr, HostPort as text with an IPv6
twin, null ports on what does not run, and fields that carry secrets (`onstart`, `extra_env`, `jupyter_token`).
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from sim.garbage import Fault
from sim.site import Site
from sim.spoilt import spoilt

PAGE_LIMIT = 25
PATH = "/api/v1/instances/"
API_KEY = "vast-made-up-api-key"
#: What must never be found in a snapshot, a log or a page of llmao.
SECRET = "made-up-secret-of-an-instance"  # noqa: S105  # there to be looked for, not to protect anything


@dataclass
class Instance:
    """One rented instance. Change its fields: the next listing follows them."""

    id: int
    host: str
    ports: dict[int, int] = field(default_factory=dict)  #: listen port → public port
    actual_status: str | None = "running"
    cur_state: str = "running"
    intended_status: str = "running"
    label: str | None = None
    gpu_name: str = "RTX 4090"
    num_gpus: int = 1
    gpu_ram: int = 24564  #: MB of one GPU
    dph_total: float = 0.7133333333333334  #: USD an hour
    start_date: float = 1795980965.1223178

    def stop(self, actual_status: str = "exited") -> None:
        """As after an outbid or a crash: listed, not running, and mapping nothing."""
        self.actual_status, self.cur_state, self.intended_status = actual_status, "stopped", "stopped"

    def _mapping(self) -> dict[str, Any] | None:
        if self.actual_status != "running":
            return None if self.actual_status in (None, "exited", "offline") else {}
        twins = ("0.0.0.0", "::")  # noqa: S104  # a provider's body: nothing here binds
        return {
            f"{listen}/tcp": [{"HostIp": address, "HostPort": str(public)} for address in twins]
            for listen, public in {22: self.ssh_port, **self.ports}.items()
        }

    @property
    def ssh_port(self) -> int:
        return 20000 + self.id % 20000

    def body(self) -> dict[str, Any]:
        """The instance as the listing shows it."""
        running = self.actual_status == "running"
        return {
            **_MACHINE,
            "id": self.id,
            "actual_status": self.actual_status,
            "cur_state": self.cur_state,
            "next_state": self.cur_state,
            "intended_status": self.intended_status,
            "label": self.label,
            "public_ipaddr": f"{self.host}\n" if self.id % 2 else f" {self.host} ",
            "ports": self._mapping(),
            "direct_port_start": self.ssh_port if running else -1,
            "direct_port_end": self.ssh_port + 2 if running else -1,
            "ssh_port": self.ssh_port,
            "machine_dir_ssh_port": self.ssh_port,
            "gpu_name": self.gpu_name,
            "num_gpus": self.num_gpus,
            "gpu_ram": self.gpu_ram,
            "gpu_totalram": self.gpu_ram * self.num_gpus,
            "gpu_util": 81.0 if running else None,
            "gpu_temp": 67.0 if running else None,
            "dph_base": round(self.dph_total, 3),
            "dph_total": self.dph_total,
            "start_date": self.start_date,
            "status_msg": "success, running vllm/vllm-openai" if running else "container is not running",
        }


_PRICE_SPLIT = {
    "gpuCostPerHour": 0.7,
    "diskHour": 0.0133,
    "totalHour": 0.7133,
    "discountTotalHour": 0,
    "discountedTotalPerHour": 0.7133,
}
#: The rest of an instance's ninety fields: what the machine is, and the secrets of the container.
_MACHINE: dict[str, Any] = {
    "template_id": None,
    "template_hash_id": None,
    "template_name": None,
    "image_uuid": "vllm/vllm-openai:v0.33.0",
    "image_args": ["--api-key", SECRET],
    "image_runtype": "args",
    "extra_env": [["-p 8000:8000", "1"], ["LLMAO_FLEET_KEY", SECRET]],
    "onstart": f"export VLLM_API_KEY={SECRET}",
    "jupyter_token": SECRET,
    "local_ipaddrs": "10.2.202.31 172.17.0.1 \n",
    "ssh_host": "ssh6.invalid",
    "ssh_idx": "6",
    "machine_id": 48211,
    "host_id": 90210,
    "end_date": 1811619365.0,
    "uptime_mins": None,
    "duration": 15552000.0,
    "cpu_arch": "amd64",
    "cpu_cores": 64,
    "cpu_cores_effective": 16.0,
    "cpu_name": "AMD EPYC 7543 32-Core Processor",
    "cpu_ram": 257815,
    "cpu_util": 0.07,
    "mem_limit": 62.9,
    "mem_usage": 11.42,
    "vmem_usage": 43.1,
    "gpu_arch": "nvidia",
    "gpu_frac": 0.25,
    "gpu_lanes": 16,
    "gpu_mem_bw": 914.9,
    "bw_nvlink": 0.0,
    "disk_name": "Samsung SSD 980 PRO",
    "disk_space": 80.0,
    "disk_bw": 3124.0,
    "disk_util": -1,
    "disk_usage": 24.8,
    "direct_port_count": 249,
    "static_ip": False,
    "geolocation": "Quebec, CA",
    "country_code": "CA",
    "verification": "verified",
    "rentable": False,
    "min_bid": 0.4,
    "is_bid": False,
    "dlperf": 183.4,
    "dlperf_per_dphtotal": 257.1,
    "flops_per_dphtotal": 231.6,
    "total_flops": 165.2,
    "score": None,
    "reliability2": 0.9961255,
    "os_version": "22.04",
    "mobo_name": "ROMED8-2T",
    "pci_gen": 4.0,
    "pcie_bw": 24.7,
    "driver_version": "580.95.05",
    "cuda_max_good": 13.0,
    "inet_up": 812.4,
    "inet_down": 901.7,
    "inet_up_cost": 0.005,
    "inet_down_cost": 0.005,
    "bundle_id": 21873311,
    "hosting_type": 0,
    "webpage": None,
    "search": _PRICE_SPLIT,
    "instance": _PRICE_SPLIT,
    "storage_cost": 0.12,
    "storage_total_cost": 0.013333333333333334,
    "vram_costperhour": 1.452e-05,
    "credit_balance": None,
    "credit_discount": None,
    "credit_discount_max": 0.1,
    "client_run_time": 86400.0,
    "host_run_time": 2592000.0,
    "external": False,
    "time_remaining": "6 Mon",
    "time_remaining_isbid": "",
    "volume_info": [],
}


def _token(last: dict[str, Any]) -> str:
    return base64.b64encode(json.dumps({"values": {"id": last["id"]}}).encode()).decode()


def _after(token: str | None) -> int:
    return int(json.loads(base64.b64decode(token))["values"]["id"]) if token else -1


class VastAPI:
    """The listing of `instances`, for the bearer of `api_key`.

    Faults, each until it is taken back: `fault` (of sim.garbage; STATUS answers `status`), from page `fault_page` on;
    `stated_total` states another total; `endless` never stops handing out tokens.
    """

    def __init__(self, api_key: str = API_KEY) -> None:
        self.api_key = api_key
        self.instances: dict[int, Instance] = {}
        self.fault: Fault | None = None
        self.fault_page = 1
        self.status = 429
        self.stated_total: int | None = None
        self.endless = False
        self.wrong_key_status = 401  #: Vast has answered 404 as well; only the body tells
        self.requests: list[dict[str, str]] = []  #: the query of each listing request
        self._site: Site | None = None

    @property
    def base_url(self) -> str:
        return self._site.url if self._site else ""

    def add(self, instance: Instance) -> Instance:
        self.instances[instance.id] = instance
        return instance

    async def _list_v0(self, _: web.Request) -> web.Response:
        message = f"/api/v0/instances/ is deprecated. Use {PATH} instead."
        return web.json_response({"success": False, "error": "deprecated_endpoint", "msg": message}, status=410)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(dict(request.query))
        if request.headers.get("Authorization") != f"Bearer {self.api_key}":
            refusal = {"success": False, "error": "auth_error", "msg": "Invalid user key"}
            return web.json_response(refusal, status=self.wrong_key_status)
        page = self._page(request)
        if self.fault is None or (self.fault_page > 1 and "after_token" not in request.query):
            return web.json_response(page)
        too_often = web.Response(status=self.status, text="API requests too frequent: endpoint threshold=1.0")
        return await spoilt(request, self.fault, page, too_often)

    def _page(self, request: web.Request) -> dict[str, Any]:
        limit = min(int(request.query.get("limit", PAGE_LIMIT)), PAGE_LIMIT)
        order = json.loads(request.query.get("order_by", '[{"col": "id", "dir": "asc"}]'))
        if order != [{"col": "id", "dir": "asc"}]:
            raise web.HTTPBadRequest(text="the simulated listing is ordered by id, ascending, only")
        after = _after(request.query.get("after_token"))
        rest = [each.body() for each in sorted(self.instances.values(), key=lambda each: each.id) if each.id > after]
        shown, more = rest[:limit], len(rest) > limit
        labels = Counter(each.label or "" for each in self.instances.values())
        return {
            "success": True,
            "instances_found": len(shown),
            "total_instances": len(self.instances) if self.stated_total is None else self.stated_total,
            "label_counts": dict(labels),
            "next_token": _token(shown[-1]) if more else _token({"id": -1}) if self.endless else None,
            "instances": shown,
        }

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> str:
        """Serve; the base URL, for `fleet.vast.base_url`."""
        app = web.Application()
        app.add_routes([web.get(PATH, self._list), web.get("/api/v0/instances/", self._list_v0)])
        self._site = Site(app)
        return await self._site.start(host, port)

    async def stop(self) -> None:
        if self._site is not None:
            await self._site.stop()

"""The form of an intended server: what config.yaml would refuse is refused here too, in the same spirit."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from fleet.approvals import LAST_PORT, intended_rows, self_hosted_models
from fleet.models import Host, IntendedServer


class ServerForm(forms.ModelForm):  # type: ignore[type-arg]
    """`model` is chosen among the self-hosted models of models.yaml."""

    model = forms.ChoiceField(help_text="A self-hosted model of models.yaml.")
    listen_port = forms.IntegerField(
        min_value=1, max_value=LAST_PORT, help_text="The port that vLLM binds in the container, such as 8001."
    )
    pinned_port = forms.IntegerField(
        min_value=1,
        max_value=LAST_PORT,
        required=False,
        help_text="The public port, only where no provider's listing can be asked for it.",
    )

    class Meta:
        model = IntendedServer
        fields = ["host", "listen_port", "model", "label", "pinned_port"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own = [self.instance.model] if self.instance.pk else []
        names = list(dict.fromkeys([*own, *self_hosted_models()]))
        if "model" in self.fields:
            self.fields["model"].choices = [("", "Choose a model"), *((name, name) for name in names)]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        host, port = cleaned.get("host") or getattr(self.instance, "host", None), cleaned.get("listen_port")
        if isinstance(host, Host) and host.pk and port:
            self._refuse_a_taken_port(host, port)
        return cleaned

    def _refuse_a_taken_port(self, host: Host, port: int) -> None:
        taken = intended_rows(host.address).filter(listen_port=port).exclude(pk=self.instance.pk).first()
        if taken:
            whose = f"from {taken.get_origin_display()}"
            raise ValidationError({"listen_port": f"{taken.model} has port {port} on {host} ({whose}): take another."})


class ServersOfAHost(forms.BaseInlineFormSet):  # type: ignore[type-arg]
    """Servers added to a host together: no two on one port."""

    def clean(self) -> None:
        super().clean()
        ports = [form.cleaned_data["listen_port"] for form in self.forms if form.cleaned_data.get("listen_port")]
        twice = {port for port in ports if ports.count(port) > 1}
        if twice:
            raise ValidationError(f"Port {min(twice)} is given twice: each server needs its own.")

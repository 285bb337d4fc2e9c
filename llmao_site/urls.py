"""Every address. What is open without a sign-in is open because it says so here."""

from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path
from django.views.generic import RedirectView
from django_prometheus.exports import ExportToDjangoView

from fleet import boxes, health

urlpatterns = [
    path("", RedirectView.as_view(url="/models")),
    path("", include("fleet.urls")),
    path("admin/", admin.site.urls),
    path("accounts/login/", LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    path("vllm/config", login_not_required(boxes.vllm_config), name="vllm-config"),
    path("healthz", login_not_required(health.healthz), name="healthz"),
    path("readyz", login_not_required(health.readyz), name="readyz"),
    path("metrics", login_not_required(ExportToDjangoView), name="metrics"),
]

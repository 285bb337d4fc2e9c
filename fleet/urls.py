"""The addresses of the pages."""

from django.urls import path

from fleet import views

urlpatterns = [
    path("models", views.models, name="models"),
    path("models/live", views.models_live, name="models-live"),
    path("models/approve-box", views.approve_box, name="approve-box"),
    path("models/approve/<str:digest>", views.approve_action, name="approve-action"),
    path("models/retry/<str:digest>", views.retry, name="retry"),
    path("models/withdraw/<str:digest>", views.withdraw, name="withdraw"),
]

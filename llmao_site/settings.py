"""Django's settings. Infrastructure comes from the environment; what should run where is in config.yaml.

DATABASE_URL, REDIS_URL, SECRET_KEY, DEBUG, ALLOWED_HOSTS as Django people expect; besides them
LLMAO_CONFIG (path of config.yaml), LLMAO_VAR (data folder) and LLMAO_HTTPS (1 when people come through an HTTPS proxy).
"""

import os
from pathlib import Path

from llmao_site import environment

BASE_DIR = Path(__file__).resolve().parent.parent

LLMAO_VAR = environment.var_folder(os.environ, BASE_DIR / "var")
LLMAO_CONFIG = Path(os.environ.get("LLMAO_CONFIG") or BASE_DIR / "config.yaml").expanduser().absolute()
VALKEY_SOCKET = environment.valkey_socket(LLMAO_VAR)
EMBEDDED_BROKER = not os.environ.get("REDIS_URL")

DEBUG = environment.boolean(os.environ, "DEBUG", default=False)
SECRET_KEY = environment.secret_key(os.environ, LLMAO_VAR)
ALLOWED_HOSTS = environment.allowed_hosts(os.environ)
DATABASES = {"default": environment.database(os.environ, LLMAO_VAR)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "django_prometheus",
    "fleet",
]

MIDDLEWARE = [
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "llmao_site.nul.refuse_nul",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # Every page asks for a sign-in unless urls.py says otherwise: a page that is forgotten is closed, not open.
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]

ROOT_URLCONF = "llmao_site.urls"
WSGI_APPLICATION = "llmao_site.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

LANGUAGE_CODE = "en"
USE_I18N = False
TIME_ZONE = "UTC"
USE_TZ = True

# Static files are served from where they lie in the source, so there is nothing to collect and nothing to forget.
STATIC_URL = "/static/"
WHITENOISE_USE_FINDERS = True
WHITENOISE_ALLOW_ALL_ORIGINS = False
PROMETHEUS_EXPORT_MIGRATIONS = False

LOGIN_URL = "/accounts/login/"
LOGIN_REDIRECT_URL = "/models"
LOGOUT_REDIRECT_URL = "/accounts/login/"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]

CSRF_COOKIE_HTTPONLY = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if environment.boolean(os.environ, "LLMAO_HTTPS", default=False):
    # The proxy in front must set X-Forwarded-Proto itself, and drop what a client sent.
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    SECURE_HSTS_SECONDS = 30 * 24 * 3600

CELERY_BROKER_URL = environment.broker_url(os.environ, LLMAO_VAR)
CELERY_TASK_DEFAULT_QUEUE = environment.queue(SECRET_KEY, DATABASES["default"]["NAME"])
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # a broker that is away for an hour is still the one to wait for
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_connect_timeout": 5, "socket_timeout": 30}
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = "json"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0.2, "interval_step": 0, "interval_max": 0.2}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_RESULT_EXPIRES = None  # no results are kept, so nothing has to be cleaned up at night
CELERY_TIMEZONE = "UTC"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "filters": {"but_boxes": {"()": "fleet.seldom.ButBoxes"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "django.request": {"filters": ["but_boxes"]},
        # One line a task, several a second, would bury what an admin looks for.
        "celery.app.trace": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
    },
}

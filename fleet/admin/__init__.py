"""Django's admin: what people say is edited here, what llmao read and did is only shown."""

from django.contrib import admin

from fleet.admin import decisions, hosts, journal, loop, readings, servers

admin.site.site_header = "llmao"
admin.site.site_title = "llmao"
admin.site.index_title = "What people said, what was read, what was done"
admin.site.site_url = "/models"

__all__ = ["decisions", "hosts", "journal", "loop", "readings", "servers"]

"""Runs the unmodified LiteLLM proxy: only its storage client (`standin/prisma`) is ours."""

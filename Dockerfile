# One image for web, worker and beat; docker-compose.yml says which is which.
FROM python:3.11-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
    LLMAO_CONFIG=/etc/llmao/config.yaml LLMAO_VAR=/var/lib/llmao

RUN useradd --system --uid 10001 --create-home llmao \
 && install --directory --owner llmao --mode 0700 /var/lib/llmao

WORKDIR /srv/llmao
COPY requirements.lock ./
RUN pip install --require-hashes -r requirements.lock

COPY manage.py ./
COPY llmao_site llmao_site
COPY fleet fleet
COPY litellm_sync litellm_sync
COPY reconcile reconcile
COPY templates templates

USER llmao
EXPOSE 8000
CMD ["python", "manage.py", "up", "--bind", "0.0.0.0"]

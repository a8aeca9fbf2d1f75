# One image for web, worker and beat; the command names which (see the Procfile). Settings come from the environment.
FROM python:3.11-slim AS packages
COPY requirements.txt /
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --disable-pip-version-check -r /requirements.txt

FROM python:3.11-slim
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    HOST=0.0.0.0 DATA_DIR=/data ENV_FILE=/dev/null LOG_FORMAT=json
RUN useradd --system --uid 10001 --no-create-home mirobody && install -d -o mirobody -m 0700 /data
COPY --from=packages /venv /venv
WORKDIR /app
COPY . .
RUN python -m compileall -q .
USER mirobody
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD ["python", "-c", "import os, urllib.request as web; web.urlopen(f\"http://127.0.0.1:{os.environ.get('PORT', 8000)}/healthz\", timeout=2)"]
ENTRYPOINT ["python", "-m", "mirobody_site.up"]
CMD ["web"]

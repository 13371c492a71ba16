# docker build -t tightrope .
# docker run --gpus all -p 8000:8000 -v tightrope-models:/models tightrope [MODEL] [OPTIONS]
FROM nvidia/cuda:12.8.1-runtime-ubuntu24.04

# gcc and the Python headers: Triton compiles its launchers where it runs.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc python3 python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY grammars grammars
COPY engine engine
COPY server server
COPY benchmarks benchmarks
RUN python3 -m venv /opt/tightrope \
    && /opt/tightrope/bin/pip install --no-cache-dir ".[backends]" \
    && rm -rf /src/*

# Weights live in a volume, owned by the user that the server runs as.
RUN useradd --create-home --uid 10001 tightrope \
    && install --directory --owner=tightrope --group=tightrope /models
ENV PATH=/opt/tightrope/bin:$PATH \
    TIGHTROPE_CACHE=/models/tightrope \
    HF_HOME=/models/huggingface
VOLUME /models
USER 10001
WORKDIR /home/tightrope

EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=10m --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["tightrope", "serve", "--host", "0.0.0.0", "--port", "8000"]
CMD ["smollm2-135m"]

# docker build -t tightrope .
# docker run --gpus all -p 8000:8000 -v tightrope-models:/models tightrope [MODEL] [OPTIONS]

# torch brings CUDA's libraries with it; the base lets a container see the GPU.
FROM nvidia/cuda:12.8.1-base-ubuntu24.04

# A compiler and the headers of C and Python: Triton compiles its launchers where it runs.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev python3 python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*

# The dependencies are a layer of their own, which a change of the code or the README does not touch.
WORKDIR /src
COPY pyproject.toml LICENSE ./
RUN touch README.md \
    && python3 -m venv /opt/tightrope \
    && /opt/tightrope/bin/pip install --no-cache-dir ".[backends,quantization,tracing]"
COPY README.md ./
COPY grammars grammars
COPY engine engine
COPY server server
COPY benchmarks benchmarks
RUN /opt/tightrope/bin/pip install --no-cache-dir --no-deps --force-reinstall .

# The server runs as a user without rights, who owns the models' volume and the kernels' folder.
RUN useradd --create-home --uid 10001 tightrope \
    && install --directory --owner=tightrope --group=tightrope /models /var/cache/tightrope
ENV PATH=/opt/tightrope/bin:$PATH \
    TIGHTROPE_CACHE=/models/tightrope \
    HF_HOME=/models/huggingface \
    NUMBA_CACHE_DIR=/var/cache/tightrope
VOLUME /models
USER 10001
WORKDIR /home/tightrope

# Kernels for the processor that builds the image; on another one the first start compiles its own.
RUN python -m server.kernels

EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=10m --retries=3 \
    CMD ["python", "-m", "server.health_check"]
ENTRYPOINT ["tightrope", "serve", "--host", "0.0.0.0", "--port", "8000"]
CMD ["smollm2-135m"]

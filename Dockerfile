# coterie for the CPU.
#
#   docker build -t coterie .
#   docker run --rm -v "$PWD":/data coterie cluster tickets.csv
#
# Texts stay in the container and in the mounted folder; nothing is downloaded when it runs
# (add --network none to be sure).
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /opt/coterie
# The build of torch without CUDA first: it takes half the space. Give its index, which PyTorch's
# installation page names, as --build-arg TORCH_INDEX=URL; without it pip takes what it finds.
ARG TORCH_INDEX=
RUN /opt/coterie/bin/pip install --no-cache-dir --constraint constraints.txt \
        ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} torch \
    && /opt/coterie/bin/pip install --no-cache-dir --constraint constraints.txt '.[train,serve,excel]'

FROM python:3.12-slim
COPY --from=build /opt/coterie /opt/coterie
RUN useradd --create-home user && mkdir /data && chown user /data
USER user
WORKDIR /data
ENTRYPOINT ["/opt/coterie/bin/coterie"]
CMD ["--help"]

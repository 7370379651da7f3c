# The images of podgpu: "podgpu", and "podgpu-dcgm", which also has NVIDIA's DCGM (docs/image.md).  "podgpu" is the last
# stage, which a builder makes without --target.
#
#   BASE    an image of Debian 12 with apt
#   FOLDER  where the sources are compiled; the result does not depend on it
#   DCGM    an image that has libdcgm; without it DCGM_FOLDER, a folder of the build context
#
# The folder /ccache, if it is mounted, keeps objects for the next build.
ARG BASE=docker.io/library/debian:12-slim
ARG DCGM=tools

# -- the compiler, and the libraries that the program links
FROM ${BASE} AS tools
COPY tools/setup tools/packages.txt /setup/tools/
RUN /setup/tools/setup "image " build rootfs

# -- the program, and the files of the image under /image
FROM tools AS build
ARG FOLDER=/src
ARG JOBS
ARG CREATED=1970-01-01T00:00:00Z
COPY . ${FOLDER}
RUN ${FOLDER}/tools/image/compile /image

# -- what both images have
FROM scratch AS image
ARG VERSION=unknown
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
COPY --from=build /image/ /
ENV PATH=/usr/bin \
    LANG=C.UTF-8 \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility,compat32 \
    NVIDIA_DISABLE_REQUIRE=true
LABEL org.opencontainers.image.title="podgpu" \
      org.opencontainers.image.description="GPU telemetry for Kubernetes: metrics of NVIDIA GPUs with their pods, for Prometheus" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.documentation="docs/image.md"
# Root without any capability: the kubelet's socket belongs to root.  Without Kubernetes any other user is as good.
USER 0:0
EXPOSE 9400
ENTRYPOINT ["/usr/bin/podgpu"]

# -- libdcgm from the image DCGM, or from a folder of the build context.  By default neither has it: Buildah does not build a
#    stage that only the value of DCGM names, so the default is one that it builds anyway.  DCGM is also an argument of the second stage, so that
#    another value is not answered from Buildah's cache.
FROM ${DCGM} AS dcgm
FROM tools AS dcgm-files
ARG DCGM
ARG DCGM_FOLDER=LICENSE
COPY tools/image/dcgm /setup/tools/dcgm
COPY ${DCGM_FOLDER} /folder/
RUN --mount=type=bind,from=dcgm,target=/vendor /setup/tools/dcgm /vendor /folder /dcgm

# -- podgpu-dcgm
FROM image AS podgpu-dcgm
COPY --from=dcgm-files /dcgm/ /
LABEL org.opencontainers.image.title="podgpu-dcgm"

# -- podgpu
FROM image AS podgpu

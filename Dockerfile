# SPDX-License-Identifier: Apache-2.0
# A simulator without a display: ROS 2 Kilted from PyPI, the engine, and the view on port 8080.
#
#   docker build -t rbdyn_ros .
#   docker run --rm --network host rbdyn_ros                            the bundled arm
#   docker run --rm --network host -v "$PWD:/robots:ro" rbdyn_ros my_robot.urdf
#
# With the network of the host, nodes on this machine see the simulator, and the view is at
# http://127.0.0.1:8080.

FROM python:3.12-slim AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN python -m venv /opt/rbdyn \
    && /opt/rbdyn/bin/pip install --no-cache-dir ".[sim,record,control]" \
    && /opt/rbdyn/bin/python -m rbdyn_ros.ros.messages

FROM python:3.12-slim
COPY --from=build /opt/rbdyn /opt/rbdyn
RUN useradd --create-home rbdyn
USER rbdyn
ENV PATH="/opt/rbdyn/bin:$PATH"
# Compiled kernels are kept here: a volume at this place makes every start but the first a fast one.
RUN mkdir -p /home/rbdyn/.cache/rbdyn_ros
WORKDIR /robots
ENTRYPOINT ["rbdyn", "sim"]

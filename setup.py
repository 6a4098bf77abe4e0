# SPDX-License-Identifier: Apache-2.0
"""Package of the engine (pip) and of the ROS 2 node (colcon, ament_python)."""

import sys
from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

if sys.version_info < (3, 10):  # noqa: UP036 - pip reads python_requires, colcon does not
    found = "{}.{}".format(*sys.version_info[:2])
    sys.exit(f"rbdyn_ros needs Python 3.10 or later, as in ROS 2 Humble; this is Python {found}.")

NAME = "rbdyn_ros"
SHARE = f"share/{NAME}"

# ROS 2 from PyPI, and the build tools of the message packages that PyPI lacks
# (rbdyn_ros/ros/messages). A colcon workspace uses the dependencies in package.xml instead. The
# wheels `ros-<distribution>-<name>` pin all other wheels to the versions of the distribution.
ROS = [
    "rclpy[fastrtps]",
    "action-msgs",
    "diagnostic-msgs",
    "geometry-msgs",
    "lifecycle-msgs",
    "nav-msgs",
    "sensor-msgs",
    "std-srvs",
    "trajectory-msgs",
    "visualization-msgs",
    "ament-cmake",
    "ament-cmake-include-directories",
    "ament-package",
    "rosidl-core-generators",
    "rosidl-default-generators",
]
KILTED = ["ament-cmake-ros-core"]
JAZZY = [
    "ament-cmake-ros",
    # CMake files of other packages need these packages without declaring it
    "ament-cmake-gmock",
    "ament-cmake-gtest",
    "ament-cmake-pytest",
    "python-cmake-module",
]
BUILD = [
    "catkin-pkg>=1.0",
    "cmake>=3.20",
    "empy>=3.3,<4",  # the version of ROS on Debian; empy 4 takes a third longer
    "lark>=1.1",
    "ninja>=1.10",
    "setuptools>=65",
]
KILTED_WHEELS = [*(f"ros-kilted-{name}" for name in ROS + KILTED), *BUILD]
JAZZY_WHEELS = [*(f"ros-jazzy-{name}" for name in ROS + JAZZY), *BUILD]
PLOT = ["matplotlib>=3.6", "pillow>=9.0"]  # pictures and animations
CONTROL = ["ruckig>=0.14"]  # time-optimal paths
IDENTIFY = ["rosbags>=0.10", "mcap>=1.5"]  # recordings of ROS
VIEW = ["viser>=1.1,<1.2"]  # our guard of its server uses internals that a release may change
RECORD = ["mcap>=1.5", "mcap-ros2-support>=0.5", "rosbags>=0.10"]  # recordings as MCAP
LEROBOT = ["pyarrow>=14.0", "av>=12.0", *RECORD]  # recordings as a dataset of LeRobot
TRIALS = ["pyarrow>=14.0", *PLOT, *RECORD]  # tables, plots and recordings of trials
RAY = ["ray>=2.30"]  # trials and rollouts on several machines
TORCH, JAX = ["torch>=2.2"], ["jax>=0.4.31"]  # share the arrays of a Batch
CUDA = ["cupy-cuda13x>=13.6"]  # a Batch on a GPU; cupy-cuda12x is for CUDA 12
GYM = ["gymnasium>=1.1"]
CAMERA = ["moderngl>=5.10", "pillow>=9.0"]  # pictures without a display, through EGL
DECOMPOSE = ["coacd>=1.0"]  # convex parts of meshes
IK = ["daqp>=0.8"]  # quadratic programs of differential_ik
DOCS = ["mkdocs-material>=9.5"]
POLICY = ["onnxruntime>=1.17"]  # networks of learned policies
LEARN = [*GYM, *JAX, *POLICY, "onnx>=1.15", "example-robot-data>=4.3"]  # examples/trot.py
# unmodified clients of the control boxes
BOX_TEST = [
    f"{name}; platform_machine == 'x86_64'"
    for name in ("pylibfranka>=0.21", "franky-control>=2.0", "ur-rtde>=1.6")
]
# packages for the node tests that `.ci/run jazzy` repeats
TEST_NODES = [
    "pytest>=7.4,<9.2",  # pytest-xdist 3.8 finds no groups in pytest 9.2 (test/conftest.py)
    "pytest-xdist>=3.5",
    "hypothesis>=6.80",
    "pin>=3.9",
    "example-robot-data>=4.3",
]
TEST = [
    *TEST_NODES,
    *GYM,
    *IK,
    *CAMERA,
    *BOX_TEST,
    *POLICY,
    *LEROBOT,
    "onnx>=1.15",  # writes networks
    *(f"{package}; platform_machine == 'x86_64'" for package in DECOMPOSE),
    "opencv-python-headless>=4.8",  # its lens model is compared with ours
    "fmpy>=0.3.20",  # runs FMUs
    "jsonschema>=4.0",
    'mujoco>=4.0; python_version >= "3.11"',
    'mujoco>=3.8; python_version < "3.11"',  # MuJoCo 3.17 is the last for Python 3.10
    "playwright>=1.40",  # drives an installed Chromium and downloads none
    "nbclient>=0.10",
    "nbformat>=5.10",
    "ipykernel>=6.29",
    "colcon-common-extensions>=0.3",
    "import-linter>=2.1",
    "mypy>=1.10,<2.5",  # later versions of mypy and ruff may find other errors
    "ruff>=0.17,<0.18",
]
PAGES = sorted(folder.rstrip("/") for folder in glob("docs/**/", recursive=True))


def share(folder: str, *patterns: str) -> tuple[str, list[str]]:
    """Return the entry of data_files for the files in a folder that match a pattern."""
    files = (path for pattern in patterns for path in glob(f"{folder}/{pattern}"))
    return f"{SHARE}/{folder}", sorted(files)


setup(
    name=NAME,
    version="1.0.0",
    description="Rigid-body dynamics of robots from URDF: a compiled engine and a ROS 2 node",
    long_description=Path("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="rbdyn_ros maintainers",
    author_email="maintainers@rbdyn-ros.dev",
    maintainer="rbdyn_ros maintainers",
    maintainer_email="maintainers@rbdyn-ros.dev",
    license="Apache-2.0",
    python_requires=">=3.10,<3.15",
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={
        NAME: ["py.typed", "__init__.pyi"],
        f"{NAME}.codegen.fmu": ["templates/*"],
        f"{NAME}.codegen.ros2_control": ["templates/*", "templates/*/*"],
        f"{NAME}.ros.messages": ["*.ini", "*.cmake"],
        f"{NAME}.ros.moveit": ["templates/*", "templates/*/*"],
    },
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (SHARE, ["CHANGELOG.rst", "README.md", "package.xml"]),
        share("launch", "*.launch.py"),
        share("config", "*.yaml", "*.rviz"),
        share("config/sros2", "*"),
        share("config/ros2_control", "*"),
        share("config/arms", "*.yaml"),
        share("config/robots", "*.urdf"),
        share("config/scenes", "*"),
        share("config/trials", "*.yaml"),
        share("config/worlds", "*"),
        # sources of messages, to build them next to ROS 2 from PyPI
        share("rbdyn_interfaces", "CMakeLists.txt", "package.xml"),
        share("rbdyn_interfaces/msg", "*.msg"),
        share("rbdyn_interfaces/srv", "*.srv"),
        share("examples", "*.py", "*.yaml", "*.onnx"),
        *(share(folder, "*.md", "*.png", "*.gif", "*.webp") for folder in PAGES),
    ],
    install_requires=[
        "numpy>=1.24",
        "scipy>=1.10",
        "numba>=0.62",
        "urdf_parser_py>=0.0.4",
        "lxml>=4.9",
        "pyyaml>=5.4",
        "xacro>=2.0",
        # to read collision meshes, only for robots with contact
        "trimesh>=4.0",
        "pycollada>=0.7",
        # the command line: progress bars, completion in shells
        "tqdm>=4.60",
        "shtab>=1.6",
    ],
    extras_require={
        "ros": KILTED_WHEELS,
        "ros-jazzy": JAZZY_WHEELS,
        "sim": [*KILTED_WHEELS, *VIEW],
        "plot": PLOT,
        "control": CONTROL,
        "identify": IDENTIFY,
        "view": VIEW,
        "record": RECORD,
        "lerobot": LEROBOT,
        "trials": TRIALS,
        "ray": RAY,
        "torch": TORCH,
        "jax": JAX,
        "cuda": CUDA,
        "gym": GYM,
        "camera": CAMERA,
        "decompose": DECOMPOSE,
        "ik": IK,
        "policy": POLICY,
        "learn": LEARN,
        "docs": DOCS,
        "box-test": BOX_TEST,
        "test": TEST,
        "test-nodes": TEST_NODES,
    },
    entry_points={
        "console_scripts": [
            "rbdyn = rbdyn_ros.__main__:main",
            "arm_controller = rbdyn_ros.__main__:arm_controller",
            "policy_node = rbdyn_ros.__main__:policy_node",
            "simulator = rbdyn_ros.__main__:simulator",
        ],
        "pytest11": ["rbdyn = rbdyn_ros.trials.pytest_plugin"],
    },
    zip_safe=False,
)

# SPDX-License-Identifier: Apache-2.0
"""All commands in the documentation run, or NOT_RUN has the reason why they do not.

A block marked `bash` runs in a folder that looks like the root of the repository. A server runs in
the background until the text says "End it with Ctrl-C", another server starts, or the page ends;
Ctrl-C must then end it with status 0. If a block of output follows directly, its lines must appear
in the output, with any numbers. A block with a file name is written to this file. A block marked
`console` does not run, and must be in NOT_RUN.
"""

import itertools
import re
import shlex
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
import test_examples
import yaml
from support.documents import ROOT, blocks, commands, of_language, page_names, text_of
from support.sessions import Session, alike, free_domain

WORKSPACE = "needs a ROS 2 installation that is sourced, with the tools of its command line"
INSTALLS = "installs packages, or runs these tests"
REAL = "is about a robot of the reader's own; tests do the same with others"
SECURED = "needs a DDS with security, which the wheels on PyPI lack"
RECORDED = "needs recordings with pictures; test_lerobot.py does the same"
SHELL = "writes the completion file of the reader's shell"

FLOAT = "ros2 launch rbdyn_ros gravity_compensation.launch.py"
SEVERAL = "ros2 launch rbdyn_ros multi_robot.launch.py"

ACTIONS = "needs the client of an action; test_gripper_node.py does the same"

#: For the page and the beginning of the first line of a block: the reason why it does not run.
CLIENT = "needs a client in another process; test/control_box and test_box_node.py do the same"
PICKS = "needs two processes; test_so101_node.py does the same"
WALKS = "needs two processes; test_policy_node.py does the same"
NOT_RUN = {
    ("README.md", "ros2 launch rbdyn_ros gravity_compensation"): WORKSPACE,
    ("README.md", "cd ~/ws/src && git clone"): WORKSPACE,
    ("CONTRIBUTING.md", "make setup"): INSTALLS,
    ("docs/reference/command_line.md", "rbdyn excite arm.urdf"): REAL,
    ("docs/reference/command_line.md", "rbdyn identify arm.urdf"): REAL,
    ("docs/reference/command_line.md", "rbdyn completion bash"): SHELL,
    ("docs/guides/commands.md", "ros2 topic pub"): WORKSPACE,
    ("docs/guides/moveit.md", "ros2 launch panda_moveit_config"): WORKSPACE,
    ("docs/guides/layouts.md", "rviz2 -d arm.rviz"): WORKSPACE,
    ("docs/guides/lerobot.md", "pip install"): INSTALLS,
    ("docs/guides/so101.md", "rbdyn sim --scene config/scenes/so101.yaml --ros-args"): PICKS,
    ("docs/guides/so101.md", "rbdyn sim --scene config/scenes/so101.yaml --record"): PICKS,
    ("docs/guides/so101.md", "rbdyn sim so101_new_calib.urdf"): REAL,
    ("docs/guides/lerobot.md", "python -c"): INSTALLS,
    ("docs/reference/command_line.md", "rbdyn dataset pick1.mcap"): RECORDED,
    ("docs/guides/grippers.md", "rbdyn sim panda"): ACTIONS,
    ("docs/guides/mobile_bases.md", "rbdyn sim tiago"): WORKSPACE,
    ("docs/guides/servoing.md", "rbdyn sim panda"): WORKSPACE,
    ("docs/guides/servoing.md", "ros2 launch rbdyn_ros"): WORKSPACE,
    ("docs/guides/grippers.md", "ros2 run rbdyn_ros arm_controller"): WORKSPACE,
    ("docs/tutorials/first_five_minutes.md", "git clone"): "the reader has already run it",
    ("docs/guides/policies.md", "python examples/trot.py"): "takes an hour; test_trot.py learns",
    ("docs/guides/policies.md", "rbdyn sim go2.urdf"): WALKS,
    ("docs/guides/policies.md", "ros2 topic pub"): WORKSPACE,
    ("docs/guides/unitree.md", "rbdyn sim go2.urdf"): WORKSPACE,
    ("docs/guides/unitree.md", "policy_node"): WORKSPACE,
    ("docs/guides/control_box.md", "pip install"): INSTALLS,
    ("docs/guides/control_box.md", "rbdyn sim panda --box franka"): CLIENT,
    ("docs/guides/control_box.md", "rbdyn trial trial.yaml"): CLIENT,
    ("docs/guides/control_box.md", "rbdyn sim --scene cell.yaml"): CLIENT,
    ("docs/guides/control_box.md", "ros2 service call /simulator/user_stop"): WORKSPACE,
    ("docs/guides/ur_box.md", "pip install"): INSTALLS,
    ("docs/guides/hil.md", "ros2 launch rbdyn_ros hil.launch.py"): WORKSPACE,
    ("docs/guides/hil.md", "ros2 param set /simulator real_time_factor"): WORKSPACE,
    ("docs/guides/hil.md", "ros2 param set /simulator faults"): WORKSPACE,
    ("docs/guides/hil.md", "ros2 service call /simulator/reset_with"): WORKSPACE,
    ("docs/guides/trials.md", "ray start"): "needs several machines",
    ("docs/guides/codegen.md", "rbdyn codegen my_arm.urdf --ros2-control"): REAL,
    ("docs/guides/identification.md", "rbdyn excite arm.urdf"): REAL,
    ("docs/guides/identification.md", "rbdyn excite arm.urdf -o sweeps.csv"): REAL,
    ("docs/guides/identification.md", "python examples/record_motion.py"): REAL,
    ("docs/guides/identification.md", "rbdyn identify arm.urdf"): REAL,
    ("docs/guides/identification.md", "rbdyn identify arm.urdf without.csv"): REAL,
    ("docs/guides/identification.md", "rbdyn identify arm.urdf currents.csv"): REAL,
    (
        "docs/guides/identification.md",
        ".venv/bin/rbdyn sim --no-view --actuators",
    ): "takes two minutes; tests identify the same without ROS",
    ("docs/reference/interfaces.md", "cd ws"): WORKSPACE,
    ("docs/reference/interfaces.md", "ros2 service call /simulator/set_sim"): WORKSPACE,
    ("docs/reference/interfaces.md", "ros2 service call /simulator/get_dynamics"): WORKSPACE,
    ("docs/reference/interfaces.md", "ros2 service call /simulator/get_ik"): WORKSPACE,
    ("docs/reference/interfaces.md", "rbdyn sim panda --ros-args"): WORKSPACE,
    ("docs/reference/interfaces.md", "ros2 run rbdyn_ros arm_controller"): WORKSPACE,
    ("docs/reference/interfaces.md", "ros2 service call /arm_controller/get_gravity"): WORKSPACE,
    ("docs/reference/interfaces.md", "ros2 action send_goal"): WORKSPACE,
    ("docs/guides/real_arm.md", "rbdyn check my_arm.urdf"): REAL,
    ("docs/guides/real_arm.md", f"{FLOAT} urdf:=/path/my_arm.urdf \\"): WORKSPACE,
    ("docs/tutorials/float_an_arm.md", f"{FLOAT} sim"): WORKSPACE,
    ("docs/tutorials/float_an_arm.md", f"{FLOAT} sim:=true arm"): WORKSPACE,
    ("docs/guides/real_arm.md", f"{FLOAT} urdf:=/path/my_arm.urdf"): WORKSPACE,
    ("docs/guides/real_arm.md", f"{FLOAT} urdf:=/path/my_arm.urdf dry_run"): WORKSPACE,
    (
        "docs/guides/position_arms.md",
        f"{FLOAT} urdf:=/path/my_arm.urdf dry_run:=false mode:=tracking",
    ): WORKSPACE,
    ("docs/guides/recordings.md", "ros2 launch rbdyn_ros sim.launch.py urdf"): WORKSPACE,
    ("docs/guides/scenes.md", "ros2 service call /simulator/spawn_entity"): WORKSPACE,
    (
        "docs/guides/scenes.md",
        (
            "ros2 service call /simulator/spawn_entity simulation_interfaces/srv/SpawnEntity "
            '"{name: crane'
        ),
    ): WORKSPACE,
    ("docs/guides/scenes.md", "ros2 service call /simulator/get_available_worlds"): WORKSPACE,
    ("docs/guides/scenes.md", "ros2 service call /simulator/attach"): WORKSPACE,
    ("docs/guides/scenes.md", "ros2 service call /simulator/save_state"): WORKSPACE,
    ("docs/guides/recordings.md", "ros2 bag info"): WORKSPACE,
    ("docs/guides/install.md", "python3 -m venv ~/rbdyn"): INSTALLS,
    ("docs/guides/install.md", "git clone"): INSTALLS,
    ("docs/guides/install.md", "mkdir -p ~/ws/src"): WORKSPACE,
    ("docs/guides/install.md", "docker build"): "needs Docker",
    ("docs/guides/install.md", "pixi run"): "needs pixi",
    ("docs/guides/ros2_control.md", "cd config/ros2_control"): WORKSPACE,
    ("docs/guides/ros2_control.md", "colcon build"): WORKSPACE,
    ("docs/tutorials/pick_a_cube.md", ".venv/bin/pip install"): INSTALLS,
    ("docs/tutorials/ros_tutorial.md", "ros2 topic list"): WORKSPACE,
    ("docs/tutorials/ros_tutorial.md", "colcon build"): WORKSPACE,
    ("docs/tutorials/ros_tutorial.md", "ros2 launch rbdyn_ros gravity_compensation"): WORKSPACE,
    ("docs/guides/security.md", "rbdyn sim --ros-args -p required_sha256"): REAL,
    ("docs/guides/security.md", "export ROS_DOMAIN_ID"): SECURED,
    ("docs/guides/security.md", "export ROS_SECURITY_ENABLE"): SECURED,
    ("docs/guides/security.md", "ros2 run rbdyn_ros simulator --ros-args --enclave"): SECURED,
    ("docs/guides/several_robots.md", f"{SEVERAL}"): WORKSPACE,
    ("docs/guides/view.md", "ssh"): "needs a second machine",
    ("docs/guides/several_robots.md", f"{SEVERAL} robots:=left,right one"): WORKSPACE,
    ("docs/guides/several_robots.md", "ros2 run tf2_ros"): WORKSPACE,
}  # fmt: skip

#: The phrase in a page at which its servers are ended.
ENDS = re.compile(r"End (?:it|both|them) with Ctrl-C")

#: Number of pages that run in parallel, because they spend most of their time waiting.
AT_ONCE = 3


def with_bash(page):
    return bool(of_language(page, "bash"))


#: The commands of this page run examples, which test_examples.py does.
EXAMPLES = "docs/guides/examples.md"
#: A page of two dozen commands, which test/commands tests.
REFERENCE_OF_COMMANDS = "docs/reference/command_line.md"
RUN = [
    pytest.param(page, marks=[pytest.mark.nightly] * (page in {EXAMPLES, REFERENCE_OF_COMMANDS}))
    for page in page_names()
    if with_bash(page)
]
#: Folders of trials: each page has its own, because pages run at the same time.
TRIALS = ("/tmp/reach_trial", "/tmp/rbdyn_trial")


@pytest.fixture(scope="module")
def outcomes(request, tmp_path_factory):
    """Start the commands of the selected pages in parallel; return a future for each page."""
    asked = [
        item.callspec.params["page"]
        for item in request.session.items
        if getattr(item, "originalname", "") == test_commands_of_a_page_run.__name__
    ]
    for folder in TRIALS:  # results of an older version would be refused
        shutil.rmtree(folder, ignore_errors=True)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        count = itertools.count()
        yield {
            page: pool.submit(run_page, page, tmp_path_factory.mktemp("page"), next(count))
            for page in asked
        }


def run_page(page, folder, number):
    domain, held = free_domain(11 * number)
    with held, Session(folder, domain) as session:
        found = blocks(page)
        for block, following in zip(found, [*found[1:], None], strict=True):
            if ENDS.search(block.after):
                session.end_servers()
            if block.is_saved:
                session.save(block)
            if block.language != "bash":
                continue
            if not session.terminals and ran_as_example(block):
                continue
            session.run(block, expected_output(following))


def expected_output(block):
    """Return the lines of output that the page shows directly after a block."""
    if block is None or block.language != "text" or block.after.strip():
        return []
    return [line for line in block.text.splitlines() if line.strip() not in {"", "..."}]


def ran_as_example(block):
    """If a block only runs examples, run them (or use cached runs); return whether it does."""
    lines = commands(block.text)
    found = [re.match(r"\.venv/bin/python examples/(\w+\.py)(.*)", line) for line in lines]
    if not all(found):
        return False
    for example in found:
        test_examples.run(example[1], *shlex.split(example[2], comments=True))
    return True


@pytest.mark.parametrize("page", RUN)
def test_commands_of_a_page_run(page, outcomes):
    outcomes[page].result()


def matches(block):
    """Return the longest key of NOT_RUN with which a block begins, or None."""
    fitting = [key for key in NOT_RUN if key[0] == block.page and block.first.startswith(key[1])]
    return max(fitting, key=lambda key: len(key[1]), default=None)


def test_blocks_that_do_not_run_have_a_reason():
    listed = {}
    for page in page_names():
        for block in of_language(page, "console"):
            key = matches(block)
            assert key, f"{block.where}: '{block.first}' is neither bash nor in NOT_RUN"
            assert key not in listed, f"{block.where} and {listed[key]} are one entry of NOT_RUN"
            listed[key] = block.where
    assert listed.keys() == NOT_RUN.keys(), "NOT_RUN has entries that no page has"


REFERENCE = "".join(
    text_of(f"docs/reference/{node}.md") for node in ("simulator", "arm_controller", "policy_node")
)

ROS = [
    (block.where, line)
    for page in page_names()
    for block in of_language(page, "console")
    for line in commands(block.text)
    if "ros2 " in line
]


@pytest.mark.parametrize(("where", "line"), ROS, ids=lambda text: text[:60])
def test_names_and_types_in_a_ros_command_exist(where, line):
    words = shlex.split(line[line.index("ros2 ") :], comments=True)[1:]
    if words[:2] in (["service", "call"], ["topic", "pub"], ["action", "send_goal"]):
        check_message(words)
    elif words[:2] == ["param", "set"]:
        assert words[2] in {"/simulator", "/arm_controller"}
        live = rf"| `{words[3]}` \* |"  # the star marks parameters that can change at run time
        assert live in REFERENCE, f"{where}: {words[3]}"
        yaml.safe_load(words[4])
    elif words[:2] == ["launch", "rbdyn_ros"]:
        check_launch(words[2], words[3:])


def check_message(words):
    """Check that the message type in a command exists, and that the values fit its fields."""
    plain = [word for word in words[2:] if not word.startswith("-")]
    if words[:2] == ["topic", "pub"] and "-r" in words:
        plain.remove(words[words.index("-r") + 1])
    name, kind = plain[:2]
    assert name.startswith("/")
    package, folder, name = kind.split("/")
    module = pytest.importorskip(f"{package}.{folder}")
    message = getattr(module, name)
    part = {"srv": "Request", "action": "Goal", "msg": ""}[folder]
    message = getattr(message, part) if part else message
    fill(message(), yaml.safe_load(plain[2]) if plain[2:] else {})


def fill(message, values):
    """Set the fields of a message from a dictionary; fail for an unknown name or a wrong type."""
    kinds = message.get_fields_and_field_types()
    for name, value in values.items():
        assert name in kinds, f"{type(message).__name__} has no field {name}"
        if isinstance(value, dict):
            fill(getattr(message, name), value)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            assert kinds[name].startswith("sequence<"), name
        else:
            setattr(message, name, value)


def check_launch(file, arguments):
    """Check that the launch file exists and has these arguments."""
    launching = "".join(
        path.read_text() for path in (ROOT / "rbdyn_ros/ros").rglob("*launching.py")
    )
    text = (ROOT / "launch" / file).read_text() + launching
    for argument in arguments:
        name = argument.split(":=")[0]
        assert f"`{name}`" in REFERENCE or f'"{name}"' in text, argument


@pytest.mark.parametrize(
    ("expected", "line", "matching"),
    [
        ("q = 0.5 rad", "q = -1.25e-3  rad", True),
        ("http://127.0.0.1:8080", "at http://127.0.0.1:8093", True),
        ("simulating 'arm': ...", "simulating 'arm': a, b", True),
        ("q = 0.5 rad", "q = 0.5 m", False),
    ],
)
def test_expected_output_matches_lines_with_other_numbers_and_spaces(expected, line, matching):
    assert bool(alike(expected).search(line)) == matching

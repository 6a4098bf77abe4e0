# SPDX-License-Identifier: Apache-2.0
"""A patched URDF has the identified inertias and friction, and nothing else changes."""

import codecs
import re
from pathlib import Path

import numpy as np
import pytest
from lxml import etree
from moved_arms import ARM, recorded, rubbing, wrong
from support import robots
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.reading import guard
from rbdyn_ros.identification.equations.fit import identify
from rbdyn_ros.identification.equations.inertia import with_parameters
from rbdyn_ros.identification.reports.patch import patched_urdf, patched_urdf_bytes

# together these robots have fixed links, meshes, comments, mimic joints, and other tools' elements
NAMES = ["ur5_robot.urdf", "panda.urdf", "seven_dof_arm", "tiago_pro.urdf", "z1.urdf"]


def text_of(name):
    path = Path(ARM) if name == "seven_dof_arm" else robots.find(name)
    return path.read_text(encoding="utf-8")


def changed(m, seed=1):
    """Return a Model with other physically possible bodies and other friction."""
    rng = np.random.default_rng(seed)
    x = rb.inertial_parameters(m).reshape(-1, 10)
    spread = np.einsum("ki,k->ki", np.ones((len(x), 10)), 1.0 + 0.2 * rng.random(len(x)))
    heavy = x * spread + np.array([0.1, 0, 0, 0, 0.01, 0, 0.01, 0, 0, 0.01])
    return with_parameters(m, heavy).replaced(
        dof_damping=m.dof_damping + rng.random(m.nv), dof_frictionloss=rng.random(m.nv) + 20.0
    )


def assert_equal(m, wanted):
    scale = np.abs(rb.inertial_parameters(wanted)).max()
    ours = rb.inertial_parameters(m)
    np.testing.assert_allclose(ours, rb.inertial_parameters(wanted), rtol=0, atol=1e-12 * scale)
    for name in ("body_mass", "body_ipos", "body_fullinertia", "dof_damping", "dof_frictionloss"):
        right = getattr(wanted, name)
        np.testing.assert_allclose(
            getattr(m, name), right, rtol=1e-12, atol=1e-12 * np.abs(right).max(), err_msg=name
        )


@pytest.mark.parametrize("name", NAMES)
def test_the_patched_urdf_of_a_real_robot_has_the_identified_values(name):
    text = text_of(name)
    wanted = changed(rb.load_urdf(text, strict=False))
    patched = patched_urdf(text, wanted)
    assert_equal(rb.load_urdf(patched, strict=False), wanted)
    # patching again changes nothing but rounding errors
    assert_equal(rb.load_urdf(patched_urdf(patched, wanted), strict=False), wanted)


def rest_of(text):
    """Return a URDF in canonical form, without <inertial> and <dynamics>, with comments."""
    root = etree.fromstring(text.strip("\ufeff").encode(), etree.XMLParser(encoding="utf-8"))
    for link in root.findall("link"):
        for inertial in link.findall("inertial"):
            link.remove(inertial)
    for joint in root.findall("joint"):
        for dynamics in joint.findall("dynamics"):
            joint.remove(dynamics)
    for element in root.iter():
        element.text, element.tail = (element.text or "").strip(), (element.tail or "").strip()
    return etree.tostring(root.getroottree(), method="c14n", with_comments=True).decode()


@pytest.mark.parametrize("name", NAMES)
def test_a_patch_changes_nothing_but_inertias(name):
    text = text_of(name)
    assert rest_of(patched_urdf(text, changed(rb.load_urdf(text, strict=False)))) == rest_of(text)


@pytest.mark.parametrize("name", NAMES)
def test_a_patch_with_an_unchanged_model_changes_nothing(name):
    text = text_of(name)
    patched = patched_urdf(text, rb.load_urdf(text, strict=False))
    assert etree.canonicalize(patched, with_comments=True) == etree.canonicalize(
        text, with_comments=True
    )


SMALL = """\ufeff<?xml version="1.0"?>
<!-- mine > yours -->
<robot name="r" xmlns:x="http://x">
\t<link name="base"/>
  <link name="arm" >
    <!-- an arm -->
    <visual><geometry><mesh filename="a>b.stl"/></geometry></visual>
    <inertial> <mass value="2"/> <!-- kg -->
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <link name="tool">
    <inertial><origin xyz="0.1 0 0" rpy="0.1 0.2 0.3"/><mass value="0.5"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
  </link>
  <link name='hand'/>
  <x:other a="1"><link name="arm"/></x:other>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="arm"/></joint>
  <joint name="flange" type="fixed"><parent link="arm"/><child link="tool"/>
    <origin xyz="0 0 0.4" rpy="1 2 3"/></joint>
  <joint name="wrist" type="continuous"><parent link="tool"/><child link="hand"/>
    <dynamics damping="1" spring="\u00e9"/></joint>
</robot>
<!-- the end -->
"""


def small():
    return rb.load_urdf(SMALL, strict=False)


def heavier(m, mass):
    x = rb.inertial_parameters(m).reshape(-1, 10).copy()
    x[0] *= mass / x[0, 0]
    x[1] = [0.3, 0.0, 0.0, 0.0, 0.01, 0.0, 0.01, 0.0, 0.0, 0.01]
    return with_parameters(m, x).replaced(
        dof_damping=np.array([0.25, 2.0]), dof_frictionloss=np.array([0.5, 3.0])
    )


def test_fixed_links_keep_their_inertia():
    patched = patched_urdf(SMALL, heavier(small(), 4.0))
    assert '<mass value="0.5"/>' in patched
    assert_equal(rb.load_urdf(patched, strict=False), heavier(small(), 4.0))


def test_fixed_links_lose_their_inertia_if_they_have_more_mass_than_the_whole_body():
    patched = patched_urdf(SMALL, heavier(small(), 0.3))
    assert '<mass value="0.5"/>' not in patched
    assert_equal(rb.load_urdf(patched, strict=False), heavier(small(), 0.3))


def test_comments_prefixes_and_other_attributes_are_kept():
    patched = patched_urdf(SMALL, heavier(small(), 4.0))
    for part in (
        '\ufeff<?xml version="1.0"?>\n<!-- mine > yours -->\n<robot ',
        "<!-- an arm -->",
        '<mass value="3.5"/> <!-- kg -->',
        '<x:other a="1"><link name="arm"/></x:other>',
        '<dynamics damping="2.0" spring="\u00e9" friction="3.0"/>',
        "</robot>\n<!-- the end -->\n",
    ):
        assert part in patched
    assert rest_of(patched) == rest_of(SMALL)


def test_a_quaternion_of_an_inertial_is_replaced():
    text = Path(ARM).read_text(encoding="utf-8")
    turned = '<inertial><origin xyz="0 0 0.1" quat_xyzw="1 0 0 1"/>'
    text = re.sub(r"<inertial>\s*<origin [^>]*/>", turned, text)
    text = text.replace("<robot ", '<robot version="1.1" ', 1)
    wanted = changed(rb.load_urdf(text))
    patched = patched_urdf(text, wanted)
    assert_equal(rb.load_urdf(patched), wanted)


def test_new_elements_are_indented():
    patched = patched_urdf(SMALL, heavier(small(), 4.0))
    assert '<link name="hand">\n    <inertial>\n      <origin ' in patched
    assert "/>\n    </inertial>\n  </link>\n  <x:other" in patched


@pytest.mark.parametrize("namespace", ['xmlns="http://drake.mit.edu"', 'xmlns:y="http://y"'])
def test_undeclared_and_default_namespaces_are_kept(namespace):
    """Old URDFs use undeclared prefixes, and URDFs of Drake have a default namespace."""
    text = SMALL.replace('xmlns:x="http://x"', namespace)
    m = rb.load_urdf(text, strict=False)
    patched = patched_urdf(text, heavier(m, 4.0))
    assert '<x:other a="1">' in patched
    assert namespace in patched
    assert 'xmlns=""' not in patched
    assert_equal(rb.load_urdf(patched, strict=False), heavier(m, 4.0))


@pytest.mark.parametrize(
    ("master", "follower"), [(0.5, 0.0), (5.0, 1.0)], ids=["less than the mimic joint's", "more"]
)
def test_friction_of_mimic_joints_is_patched(master, follower):
    text = SMALL.replace(
        '<dynamics damping="1" spring="\u00e9"/>',
        '<mimic joint="shoulder" multiplier="-2"/><dynamics damping="1"/>',
    )
    m = rb.load_urdf(text, strict=False)
    assert m.nv == 1
    wanted = m.replaced(dof_damping=np.array([master]))
    patched = patched_urdf(text, wanted)
    assert_equal(rb.load_urdf(patched, strict=False), wanted)
    free = rb.load_urdf(patched, strict=False, mimic=False)
    assert free.dof_damping[1] == follower


def test_an_identified_robot_loaded_from_its_patch_predicts_gravity_better(capsys):
    text = text_of("ur5_robot.urdf")
    truth = rb.load_urdf(text)
    spoilt = patched_urdf(text, wrong(truth))
    prior = rb.load_urdf(spoilt)
    found = identify(prior, recorded(truth, rubbing(truth), seed=1, noise=0.05))
    identified = rb.load_urdf(patched_urdf(spoilt, found.m))
    assert_equal(identified, found.m)
    rng, errors = np.random.default_rng(0), np.zeros((2, 50))
    for k in range(50):
        q, efforts = rng.uniform(-3.0, 3.0, truth.nq), []
        for m in (truth, prior, identified):
            d = rb.make_data(m)
            d.qpos[:] = q
            efforts.append(rb.gravity_term(m, d))
        errors[:, k] = [np.abs(effort - efforts[0]).max() for effort in efforts[1:]]
    before, after = errors.max(axis=1)
    with capsys.disabled():
        print(f"\nlargest error of gravity efforts: {before:.3g} -> {after:.3g} N m")
    assert after < 0.05 * before


DYNAMICS = """<dynamics note="a damping='7'"
       damping = '1'   ><!-- measured in 2019 --> <x:curve a="1"/></dynamics >"""


def test_dynamics_elements_keep_their_comments_and_children():
    text = SMALL.replace('<dynamics damping="1" spring="\u00e9"/>', DYNAMICS)
    patched = patched_urdf(text, heavier(small(), 4.0))
    kept = '><!-- measured in 2019 --> <x:curve a="1"/></dynamics>'
    assert f"""<dynamics note="a damping='7'" damping="2.0" friction="3.0"{kept}""" in patched
    assert_equal(rb.load_urdf(patched, strict=False), heavier(small(), 4.0))


@pytest.mark.parametrize("mass", [4.0, 0.3], ids=["inserted", "removed"])
def test_line_ends_are_kept(mass):
    text = SMALL.replace("\n", "\r\n")
    patched = patched_urdf(text, heavier(small(), mass))
    assert patched.count("\r") == patched.count("\n") == patched.count("\r\n")
    assert patched.replace("\r", "") == patched_urdf(SMALL, heavier(small(), mass))


BARE = SMALL[1:]  # the text without its byte order mark


@pytest.mark.parametrize(
    ("declared", "encoding", "mark"),
    [
        ("", "utf-8", b""),
        ("", "utf-8", codecs.BOM_UTF8),
        ("utf-8", "utf-8", codecs.BOM_UTF8),
        ("ISO-8859-1", "latin-1", b""),
        ("windows-1252", "cp1252", b""),
        ("UTF-16", "utf-16-le", codecs.BOM_UTF16_LE),
        ("UTF-16", "utf-16-be", codecs.BOM_UTF16_BE),
        ("UTF-16", "utf-16-be", b""),
        ("UTF-32", "utf-32-be", codecs.BOM_UTF32_BE),
    ],
)
def test_a_patch_keeps_the_encoding_of_the_urdf(declared, encoding, mark):
    text = BARE
    if declared:
        text = text.replace('version="1.0"', f'version="1.0" encoding="{declared}"')
    m = rb.load_urdf(text, strict=False)
    data = mark + text.encode(encoding)
    patched = patched_urdf_bytes(data, heavier(m, 4.0))
    assert guard.encoding_of(patched) == guard.encoding_of(data)
    assert guard.decode(patched, "") == patched_urdf(text, heavier(m, 4.0))
    assert_equal(rb.load_urdf(patched, strict=False), heavier(m, 4.0))


def test_character_references_for_letters_outside_the_encoding_are_kept():
    text = BARE.replace('"1.0"', '"1.0" encoding="latin-1"').replace('damping="1"', 'u="&#8364;"')
    m = rb.load_urdf(text, strict=False)
    assert b'u="&#8364;"' in patched_urdf_bytes(text.encode("latin-1"), m)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ("<robot/>", "bad-patch"),
        (b"\xff\xfe\xff", "bad-encoding"),
        (BARE.replace("1.0", '1.0" encoding="klingon').encode(), "unknown-encoding"),
        (b"+ADw-robot/>", "bad-patch"),
    ],
)
def test_bytes_that_are_not_a_urdf_are_refused(data, code):
    with refused(rb.RbdynError, code):
        patched_urdf_bytes(data, small())


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (5, "bad-patch"),
        ("robot.urdf", "bad-patch"),
        (SMALL.replace('"wrist"', '"elbow"'), "bad-patch"),
        ("<robot name='r'>", "malformed-xml"),
        ("<!DOCTYPE a []><robot name='r'/>", "doctype"),
    ],
)
def test_text_that_is_not_the_urdf_of_the_robot_is_refused(text, code):
    with refused(rb.RbdynError, code):
        patched_urdf(text, small())

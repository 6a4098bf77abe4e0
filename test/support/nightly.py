# SPDX-License-Identifier: Apache-2.0
"""Families of cases: `make test` runs a few of them, and `make test-nightly` runs all."""

import pytest

#: By test: one case in this number runs in `make test`.
ONE_IN = {
    # random arms, with the same assertion for each
    "identification/test_real_imperfections.py::test_standard_deviations_match_the_real_errors": 5,
    "identification/test_drive_gains.py::test_gains_are_within_three_standard_deviations": 5,
    # robots of example-robot-data, most of which have similar trees
    "specialization/test_traced_robots.py::test_traced_functions_equal_the_engine": 4,
    "specialization/test_traced_robots.py::test_inverse_derivatives_of_a_robot_are_traced": 4,
    "specialization/test_traced_robots.py::test_forward_derivatives_of_a_robot_are_traced": 4,
    "specialization/test_traced_robots.py::test_coupled_robots_are_traced": 5,
    "specialization/programs/test_limbs.py::test_limbs_of_every_robot_give_the_same_bits": 4,
    "dynamics/test_toolbox_pinocchio.py::test_the_toolbox_agrees_with_pinocchio_on_a_robot": 4,
    "dynamics/test_toolbox_mujoco.py::test_the_toolbox_agrees_with_mujoco_on_a_robot": 4,
    "dynamics/test_near_pairs.py::test_self_contacts_of_robots_match_coal": 4,
    "dynamics/test_quantities.py::test_gravity_is_the_gradient_of_the_potential": 3,
    "dynamics/test_derivatives.py::test_inverse_derivatives_equal_differences": 3,
    "dynamics/test_derivatives.py::test_forward_derivatives_equal_differences": 3,
    "engine/test_pinocchio.py::test_a_robot_agrees_with_pinocchio": 4,
    "engine/test_stages_mujoco.py::test_a_robot_agrees_with_mujoco": 4,
    "engine/test_falling_robots.py::test_a_falling_robot_gains_no_energy": 4,
    "engine/test_contact_robots.py::test_robots_fall_and_stay_in_one_piece": 3,
    "engine/test_self_contact.py::test_a_robot_at_rest_does_not_push_itself": 3,
    "model/test_model_mujoco.py::test_the_model_of_a_robot_agrees_with_mujoco": 4,
    # joint types, couplings and integrators in all combinations
    "engine/test_constraint_equations.py::test_equations_agree_with_differences": 4,
    "engine/test_constraint_equations.py::test_accelerations_and_forces_solve_the_equations": 3,
    "engine/test_constraint_equations.py::test_constraints_do_not_drift": 2,
    "specialization/test_traced_joints.py::test_a_traced_step_equals_the_engine": 4,
    "specialization/test_traced_joints.py::test_traced_functions_equal_the_engine": 3,
    "specialization/test_traced_joints.py::test_traced_steps_are_right_near_a_singularity": 2,
    "specialization/test_trace_derivatives.py::test_refused_models_have_traced_derivatives": 2,
    "specialization/test_trace_derivatives.py::test_a_step_of_a_refused_model_has_derivatives": 2,
    "specialization/test_row_code.py::test_a_step_of_rows_equals_the_engine": 3,
    "specialization/test_lanes.py::test_every_lane_has_the_bits_of_one_robot": 4,
    "specialization/test_not_finite.py::test_nan_reaches_the_same_entries_as_in_the_engine": 4,
    "textbook/test_textbook_loops.py::test_K_is_the_derivative_of_the_error": 3,
    "textbook/test_textbook_loops.py::test_k_is_minus_the_rate_of_K_times_qd": 3,
    "textbook/test_maximal.py::test_joint_forces_balance_every_body": 3,
    "textbook/test_maximal.py::test_lambda_of_redundant_constraints_has_the_least_norm": 3,
    "textbook/test_maximal.py::test_maximal_kkt_and_projection_agree": 3,
    "textbook/test_engine_constraints.py::test_closed_loops_agree_with_the_textbook": 3,
    "engine/test_joint_library.py::test_the_motion_subspace_is_the_derivative_of_the_pose": 3,
    "engine/test_joint_library.py::test_the_derivative_of_the_subspace_is_exact": 3,
    "engine/test_integrators.py::test_an_integrator_has_its_order": 3,
    "textbook/test_links.py::test_the_unit_vector_method_gives_the_acceleration_of_the_trunk": 3,
    "model/test_graph.py::test_random_graphs_are_numbered_by_the_rules": 5,
    # scenes with contact, each judged by the same law
    "engine/test_contact_places.py::test_the_depth_is_the_distance_that_separates": 3,
    "engine/test_contact_places.py::test_contacts_do_not_depend_on_the_bounding_radius": 3,
    "engine/test_contact_terrain.py::test_a_flat_height_field_acts_as_a_plane": 3,
    "engine/test_one_law.py::test_forces_of_random_systems_balance_and_agree_in_all_functions": 2,
    "engine/test_implicit.py::test_the_energy_of_boxes_on_ball_joints_is_kept": 3,
    # places of a file, a state or an option, each with the same kind of damage
    "loading/test_storage.py::test_arrays_of_another_shape_are_refused": 8,
    "loading/test_storage.py::test_an_index_out_of_range_is_refused": 4,
    "loading/test_storage.py::test_another_index_is_refused_or_can_be_simulated": 4,
    "loading/test_storage.py::test_nan_and_infinity_are_refused": 6,
    "loading/test_storage.py::test_another_joint_type_is_refused_or_can_be_stepped": 4,
    "description/test_kinds.py::test_bad_values_raise_only_errors_of_the_package": 4,
    "identification/test_identification_solve.py::test_extreme_motions_are_refused_or_fitted": 5,
    # generated code and rollouts: the same laws by other means
    "rollouts/test_rollout_laws.py::test_laws_compute_the_same_as_numpy": 4,
    "rollouts/test_rollout_params.py::test_joint_parameters_equal_a_model_with_replaced_fields": 3,
    # every integrator allocates nothing, on two trees
    "engine/test_determinism.py::test_a_tick_allocates_nothing": 2,
    # the examples themselves run in test_examples.py
    "docs/test_notebooks.py::test_a_notebook_runs": 8,
    "view/test_live_pull.py::test_the_point_follows_the_cursor_and_does_not_swing": 4,
}

#: A family with fewer cases runs whole, except the names in LONG.
FEW = 10

#: Long cases of other families, whose shorter cases test the same.
LONG = {
    # large robots, of which smaller ones run
    "specialization/test_traced_robots.py::test_traced_functions_equal_the_engine": ["a1"],
    "specialization/test_traced_robots.py::test_forward_derivatives_of_a_robot_are_traced": [
        "a1", "anymal-kinova",
    ],
    "specialization/test_traced_robots.py::test_inverse_derivatives_of_a_robot_are_traced": [
        "a1", "anymal-kinova",
    ],
    "specialization/test_traced_robots.py::test_coupled_robots_are_traced": ["pr2.urdf-rk4-fixed"],
    "specialization/programs/test_limbs.py::test_limbs_side_by_side_give_the_same_bits": [
        "step-go2.urdf", "mass_matrix-talos_reduced.urdf", "step-talos_reduced.urdf",
    ],
    "specialization/programs/test_limbs.py::test_limbs_of_random_trees_give_the_same_bits": [
        "2", "3",
    ],
    "specialization/test_trace_derivatives.py::test_derivatives_agree_with_the_toolbox": [
        "talos_reduced.urdf",
    ],
    "specialization/test_row_code.py::test_a_step_of_rows_equals_the_engine": ["panda.urdf"],
    "specialization/test_lanes.py::test_every_lane_has_the_bits_of_one_robot": ["quadruped-2"],
    "description/test_collisions.py::test_real_robots_become_models": ["talos_reduced.urdf"],
    "description/test_appearance.py::test_pinocchio_reads_the_same_visuals": [
        "talos_reduced.urdf", "kinova.urdf",
    ],
    "engine/test_contact_robots.py::test_robots_fall_and_stay_in_one_piece": [
        "talos_full_v2.urdf",
    ],
    "engine/test_contact_pairs.py::test_contacts_of_real_robots_match_the_distances": [
        "talos_reduced.urdf-25",
    ],
    "engine/test_contact_force.py::test_cfrc_contact_and_qfrc_contact_sum_all_contacts": [
        "talos_reduced.urdf",
    ],
    "engine/test_self_contact.py::test_a_robot_at_rest_does_not_push_itself": ["icub.urdf"],
    "engine/test_contact_rest.py::test_a_robot_on_the_floor_stands_still": ["anymal.urdf"],
    "loading/test_geometry_masses.py::test_masses_equal_those_of_jacobians": [
        "talos_reduced.urdf",
    ],
    "rollouts/test_cuda_batch.py::test_a_gpu_has_the_bits_of_the_cpu_for_robots": [
        "processor-Go2",
    ],
    "runtime/test_loaded_servos.py::test_a_square_of_two_metres_is_driven_by_wheel_speeds": [
        "turtlebot3",
    ],
    # a larger case, which always runs, includes these
    "rollouts/test_rollout_bits.py::test_a_rollout_has_the_bits_of_steps": ["balls", "springs"],
    "dynamics/test_quantities.py::test_a_centre_of_mass_is_the_weighted_mean_of_bodies": [
        "mixed", "three trees", "reversed", "coupled", "lossy",
    ],
    "dynamics/test_quantities.py::test_rates_of_frames_are_exact": ["mixed", "three trees"],
    # further scenes under one law
    "engine/test_contact_scenes.py::test_forces_in_scenes_satisfy_the_contact_law": ["dominoes"],
    "engine/test_contact_scenes.py::test_dominoes_fall_one_after_the_other": ["31"],
    "engine/test_contact_scenes.py::test_hulls_thrown_on_a_pile_come_to_rest": ["0", "6"],
    "engine/test_contact_solution.py::"
    "test_forces_satisfy_the_law_and_match_a_dual_solver": ["rough box", "cylinder"],
    "engine/test_contact_robots.py::test_each_step_of_a_falling_humanoid_satisfies_the_law": [
        "False",
    ],
    "engine/test_contact_bodies.py::test_forces_between_bodies_satisfy_the_law": ["panda"],
    "engine/test_contact_bits.py::test_bits_do_not_depend_on_earlier_calls": ["humanoid"],
    "engine/test_contact_bits.py::test_threads_leave_the_bits_of_step": ["humanoid"],
    "engine/test_contact_bodies.py::test_implicit_integrators_use_the_step_with_contact": [
        "implicit_midpoint",
    ],
    "dynamics/test_linearise.py::test_the_discrete_system_is_exact_at_an_equilibrium": ["case1"],
    "rollouts/test_contact_lanes.py::test_joints_with_friction_step_in_lanes_as_in_the_engine": [
        "implicit_damping",
    ],
    "rollouts/test_contact_lanes.py::test_a_wrong_contact_law_fails_the_comparison": [
        "rbdyn_ros.rollouts.contact.newton-_linear_force-<lambda>",
        "rbdyn_ros.rollouts.contact.places-follow_arcs-<lambda>",
    ],
    # the same code with other compiler options
    "codegen/test_c_robots.py::test_generated_c_agrees_with_the_engine": [
        "panda-clang", "anymal-clang", "reversed-clang", "library-clang",
    ],
    "codegen/test_fmu.py::"
    "test_an_fmu_is_valid_and_has_the_bits_of_the_c_and_the_motion_of_the_engine": [
        "panda-2.0", "panda-3.0", "anymal-2.0",
    ],
    "codegen/test_c_robots.py::test_single_precision_code_is_close_to_double": [
        "anymal", "reversed",
    ],
    "codegen/test_c_blocks.py::test_blocks_give_the_bits_of_one_long_function": ["7"],
    "specialization/test_processors.py::test_code_uses_the_instructions_of_the_chosen_processor": [
        "x86-64-v3", "skylake-avx512",
    ],
    "rollouts/test_cuda_code.py::test_nvcc_compiles_the_kernels_and_reports_registers": [
        "sm_80-float", "sm_90-double",
    ],
    "rollouts/test_cuda_batch.py::test_a_gpu_uses_parameters_forces_and_outputs_of_each_robot": [
        "processor-5200",
    ],
    "rollouts/test_rollout_interrupt.py::test_ctrl_c_ends_a_rollout_at_once": [
        "1-10000000000-False", "1000000-10000-True",
    ],
    "engine/test_kernel_cache.py::test_only_a_change_of_code_causes_a_new_compilation": [
        "comment", "module docstring",
    ],
    "engine/test_bounds_checked.py::test_an_index_error_in_code_called_by_address_is_reported": [
        "-1-1",
    ],
    "control/test_generated_start_up.py::test_generated_code_moves_a_correct_arm_as_python_does": [
        "panda.urdf", "kinova.urdf",
    ],
    "control/test_specialised_arm.py::test_efforts_match_the_engine": [
        "panda.urdf", "kinova.urdf",
    ],
    # the fit with the smallest strength takes the most iterations
    "identification/test_identification_solve.py::test_extreme_options_are_refused_or_used": [
        "1e-300-strength",
    ],
    # isolated controllers have the same limit of time
    "trials/test_trial_nodes.py::test_the_result_of_a_run_says_what_its_node_did": ["hangs"],
    # arms in processes of their own; test_controlled_motion.py has the same arms in one process
    "ros/test_documented_motion.py::test_the_gravity_node_floats_and_comes_to_rest": ["plain"],
    "ros/arm/test_arm_floats_node.py::test_an_armed_arm_floats": [
        "3.0-ur5_gripper", "3.0-ur5_robot", "3.0-panda",
    ],
    "control_box/test_ur_client.py::test_moves_end_at_their_goals": ["ur10_robot.urdf"],
    # walks ahead, on the spot and around a bend; the bend has all parts of a command
    "ros/policy/test_policy_node.py::test_a_robot_walks_in_lock_step_as_in_python": [
        "command0-0.06", "command1-0.06",
    ],
    # signals between the first and the last of the moments that run
    "ros/simulator/test_start_and_end.py::test_ctrl_c_ends_a_starting_simulator": ["0.01", "0.1"],
    # the paths of all kinds of drives are in test/control/mobile
    "ros/simulator/test_mobile_base_node.py::test_a_driven_square_closes_within_a_percent": [
        "mecanum", "public", "skid", "car", "planar", "omni",
    ],
    "ros/arm/test_arm_tracks_node.py::"
    "test_computed_torque_tracks_twenty_times_closer_than_pd": ["panda"],
}  # fmt: skip
#: Names in LONG that no collected case of their family has.
UNKNOWN: list[str] = []

#: Golden ratio less 1: its multiples modulo 1 are spread evenly for any period of parameters.
GOLDEN = 0.5 * (5**0.5 - 1.0)


def runs(number, one_in):
    """Return whether the case with this number in its family also runs in `make test`."""
    return number * GOLDEN % 1.0 < 1.0 / one_in


def mark(items, tests):
    """Mark the cases of the families that do not run in `make test` as nightly.

    Args:
        items: the collected tests.
        tests: folder of the tests.
    """
    families = {name: [] for name in ONE_IN | LONG}
    for item in items:
        name = f"{item.path.relative_to(tests).as_posix()}::{getattr(item, 'originalname', '')}"
        if name in families and not item.get_closest_marker("nightly"):
            families[name].append(item)
    for name, cases in families.items():
        one_in = ONE_IN.get(name, 1) if len(cases) >= FEW else 1
        for number, case in enumerate(cases):
            if not runs(number, one_in) or case.callspec.id in LONG.get(name, ()):
                case.add_marker(pytest.mark.nightly)
        ids = {case.callspec.id for case in cases}
        UNKNOWN.extend(f"{name}[{each}]" for each in LONG.get(name, ()) if ids and each not in ids)

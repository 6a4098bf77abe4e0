# SPDX-License-Identifier: Apache-2.0
"""Tests with many cases: `make test` runs a few cases, and `make test-nightly` runs all."""

import pytest

#: For each test the number of cases of which `make test` runs one.
ONE_IN = {
    # random arms, whose cases have the same assertion
    "identification/test_real_imperfections.py::"
    "test_standard_deviations_match_the_real_errors": 16,
    "identification/test_drive_gains.py::test_gains_are_within_three_standard_deviations": 20,
    # robots of example-robot-data, most of which have similar trees
    "specialization/test_traced_robots.py::test_traced_functions_equal_the_engine": 8,
    "specialization/test_traced_robots.py::test_inverse_derivatives_of_a_robot_are_traced": 8,
    "specialization/test_traced_robots.py::test_forward_derivatives_of_a_robot_are_traced": 8,
    "specialization/test_traced_robots.py::test_coupled_robots_are_traced": 5,
    "specialization/programs/test_limbs.py::test_limbs_of_every_robot_give_the_same_bits": 6,
    "dynamics/test_toolbox_pinocchio.py::test_the_toolbox_agrees_with_pinocchio_on_a_robot": 4,
    "dynamics/test_toolbox_mujoco.py::test_the_toolbox_agrees_with_mujoco_on_a_robot": 4,
    "dynamics/test_near_pairs.py::test_self_contacts_of_robots_match_coal": 4,
    "dynamics/test_quantities.py::test_gravity_is_the_gradient_of_the_potential": 3,
    "dynamics/test_derivatives.py::test_inverse_derivatives_equal_differences": 3,
    "dynamics/test_derivatives.py::test_forward_derivatives_equal_differences": 3,
    "engine/test_pinocchio.py::test_a_robot_agrees_with_pinocchio": 4,
    "engine/test_stages_mujoco.py::test_a_robot_agrees_with_mujoco": 4,
    "engine/test_falling_robots.py::test_a_falling_robot_gains_no_energy": 4,
    "engine/test_contact_robots.py::test_robots_fall_on_the_floor_and_stay_above_it": 3,
    "engine/test_self_contact.py::test_a_robot_at_rest_does_not_push_itself": 3,
    "model/test_model_mujoco.py::test_the_model_of_a_robot_agrees_with_mujoco": 4,
    # joint types, couplings and integrators in all combinations
    "engine/test_constraint_equations.py::test_equations_agree_with_finite_differences": 8,
    "engine/test_constraint_equations.py::test_accelerations_and_forces_solve_the_equations": 6,
    "engine/test_constraint_equations.py::test_constraints_do_not_drift": 3,
    "specialization/test_traced_joints.py::test_a_traced_step_equals_the_engine": 4,
    "specialization/test_traced_joints.py::test_traced_functions_equal_the_engine": 3,
    "specialization/test_traced_joints.py::test_steps_equal_the_engine_near_a_singularity": 2,
    "specialization/test_trace_derivatives.py::"
    "test_models_that_the_toolbox_refuses_have_traced_derivatives": 2,
    "specialization/test_trace_derivatives.py::"
    "test_a_step_of_a_model_that_the_toolbox_refuses_has_derivatives": 2,
    "specialization/test_row_code.py::test_a_step_of_one_robot_equals_the_engine": 3,
    "specialization/test_lanes.py::test_every_lane_has_the_bits_of_one_robot": 4,
    "specialization/test_not_finite.py::test_nan_reaches_the_same_entries_as_in_the_engine": 4,
    "textbook/test_textbook_loops.py::test_K_is_the_derivative_of_the_error": 3,
    "textbook/test_textbook_loops.py::test_k_is_minus_the_rate_of_K_times_qd": 3,
    "textbook/test_maximal.py::test_joint_forces_balance_every_body": 5,
    "textbook/test_maximal.py::test_lambda_of_redundant_constraints_has_the_least_norm": 5,
    "textbook/test_maximal.py::test_maximal_kkt_and_projection_agree": 5,
    "textbook/test_engine_constraints.py::test_closed_loops_agree_with_the_textbook": 3,
    "engine/test_joint_library.py::test_the_motion_subspace_is_the_derivative_of_the_pose": 3,
    "engine/test_joint_library.py::test_the_derivative_of_the_subspace_is_exact": 3,
    "engine/test_integrators.py::test_each_integrator_has_its_order": 3,
    "textbook/test_links.py::test_the_unit_vector_method_gives_the_acceleration_of_the_trunk": 3,
    "model/test_graph.py::test_random_graphs_are_numbered_by_the_rules": 5,
    # random states and trees, for which the same identity is checked
    **dict.fromkeys(
        [
            f"engine/test_identities.py::test_{law}"
            for law in (
                "bias_is_quadratic_in_velocity",
                "forward_undoes_inverse",
                "inverse_undoes_forward_with_external_forces",
                "one_data_gives_the_same_result_three_times",
                "the_engine_agrees_with_the_textbook",
                "the_mass_matrix_is_the_derivative_of_inverse_dynamics",
                "the_rate_of_energy_is_the_power_of_the_applied_forces",
                "velocity_is_the_derivative_of_position",
            )
        ],
        5,
    ),
    "engine/test_joint_library.py::test_constraint_forces_of_a_joint_do_no_work": 4,
    "engine/test_loop_properties.py::test_every_order_of_joints_follows_the_closed_form": 4,
    "engine/test_plain_python.py::test_plain_python_agrees_with_compiled_code": 3,
    "engine/test_plain_python.py::test_kernels_can_run_on_symbols": 3,
    "engine/test_mechanisms.py::test_mechanisms_keep_their_energy_for_a_minute": 4,
    "engine/test_mechanisms.py::test_default_integrators_keep_loops_closed_without_energy_gain": 4,
    "engine/test_driven_force.py::"
    "test_qfrc_driven_after_forward_gives_a_free_joint_the_same_motion": 3,
    "engine/test_driven_force.py::"
    "test_qfrc_driven_after_inverse_with_xfrc_gives_a_free_joint_the_same_motion": 3,
    "engine/test_driven_force.py::test_qfrc_driven_after_a_step_belongs_to_its_start": 3,
    "engine/test_flight.py::test_an_elastic_impact_of_a_spinning_two_link_robot_adds_no_energy": 4,
    "engine/test_flight.py::test_an_elastic_impact_of_a_spinning_part_adds_no_energy": 4,
    "engine/test_forged_data.py::test_no_result_depends_on_old_integers_in_a_data": 3,
    "textbook/test_newton_euler.py::test_two_spatial_forms_agree_with_the_engine": 4,
    "textbook/test_newton_euler.py::test_gravity_and_coriolis_terms_equal_the_recursion": 4,
    "textbook/test_newton_euler.py::"
    "test_forces_on_bodies_and_across_joints_agree_with_the_engine": 4,
    "textbook/test_newton_euler.py::test_every_vector_agrees_in_both_coordinates": 4,
    # scenes with contact, for which the same contact law is checked
    "engine/test_contact_steps.py::test_no_surface_is_too_stiff_for_a_step": 4,
    "engine/test_contact_steps.py::test_the_contact_forces_of_a_step_give_its_acceleration": 4,
    "engine/test_contact_scenes.py::test_forces_in_scenes_satisfy_the_contact_law": 2,
    "engine/test_contact_bodies.py::test_forces_between_bodies_satisfy_the_contact_law": 3,
    "engine/test_contact_seams.py::test_shapes_slide_smoothly_over_seams": 3,
    "engine/test_contact_triangle_mesh.py::"
    "test_bodies_slide_over_a_curved_mesh_with_the_right_speed": 4,
    "engine/test_contact_places.py::"
    "test_moving_along_the_normal_reduces_the_depth_by_the_same_distance": 3,
    "engine/test_contact_places.py::test_contacts_do_not_depend_on_the_bounding_radius": 3,
    "engine/test_contact_terrain.py::test_a_flat_height_field_acts_as_a_plane": 3,
    "engine/test_one_law.py::test_forces_of_random_systems_balance_and_agree_in_all_functions": 2,
    "engine/test_implicit.py::test_boxes_on_ball_joints_keep_their_energy": 3,
    "view/test_surfaces.py::test_bounding_boxes_of_meshes_equal_boxes_of_pinocchio": 3,
    "view/test_stored_pictures.py::test_a_picture_is_similar_to_its_stored_picture": 2,
    # parts of a file, a state or an option that are damaged in the same way
    "loading/test_storage.py::test_arrays_of_another_shape_are_refused": 8,
    "loading/test_storage.py::test_an_index_out_of_range_is_refused": 8,
    "loading/test_storage.py::test_a_changed_index_is_refused_or_can_be_simulated": 8,
    "loading/test_storage.py::test_nan_and_infinity_are_refused": 6,
    "loading/test_storage.py::test_a_joint_of_another_type_is_refused_or_can_be_stepped": 4,
    "description/test_kinds.py::test_bad_values_raise_only_errors_of_the_package": 6,
    "identification/test_identification_solve.py::test_extreme_motions_are_refused_or_fitted": 5,
    "loading/test_storage.py::test_derived_fields_in_a_file_are_refused": 6,
    "loading/test_door.py::test_every_command_loads_every_format": 3,
    "loading/test_door.py::test_every_function_and_command_loads_the_same_robot": 3,
    "description/test_mjcf.py::test_geoms_give_the_inertia_of_mujoco": 4,
    "description/test_urdf_real_robots.py::test_real_robots_are_read_or_refused_as_listed": 3,
    "description/test_urdf_real_robots.py::"
    "test_joints_and_inertias_of_real_robots_agree_with_pinocchio": 3,
    "trials/test_trial_processes.py::test_the_result_of_a_run_says_what_its_controller_did": 3,
    # ordinary motions of arms; `make test` runs all cases with false states of an arm
    "control/test_uses.py::test_an_ordinary_use_ends_without_a_fault": 3,
    "control/test_controller.py::test_modes_change_without_a_bump": 3,
    "runtime/test_loaded_servos.py::test_a_joint_withstands_each_load_below_its_effort_limit": 3,
    "runtime/test_loaded_servos.py::"
    "test_a_servo_behind_a_soft_gear_is_as_slow_as_the_gear_needs": 3,
    # generated code and rollouts, compared with the same engine
    "rollouts/test_batch_steps.py::test_a_batch_has_the_bits_of_specialised_steps": 4,
    "specialization/test_row_code.py::test_functions_of_one_robot_equal_the_engine": 3,
    "writing/test_mjcf_mujoco.py::test_random_trees_agree_in_mujoco": 3,
    "codegen/test_c_robots.py::test_the_generated_test_passes_and_fails_for_changed_code": 4,
    "rollouts/test_rollout_laws.py::test_laws_compute_the_same_as_numpy": 6,
    "rollouts/test_rollout_params.py::test_joint_parameters_equal_a_model_with_replaced_fields": 3,
    # all integrators on two trees, none of which may allocate memory
    "engine/test_determinism.py::test_a_tick_allocates_nothing": 2,
    # scripts that call the same functions on other robots
    "docs/test_examples.py::test_an_example_prints_the_lines_in_its_docstring": 5,
    "docs/test_examples.py::test_an_example_draws_its_picture": 3,
    # test_examples.py runs the examples themselves
    "docs/test_notebooks.py::test_a_notebook_runs": 12,
    "view/test_live_pull.py::test_a_pulled_point_follows_the_cursor_without_swinging": 8,
}

#: `make test` runs all cases of a test with fewer cases, except the names in LONG.
FEW = 4

#: Long cases that run nightly, because shorter cases of the same test run the same code.
LONG = {
    # large robots; `make test` runs smaller robots
    "specialization/test_traced_robots.py::test_traced_functions_equal_the_engine": [
        "a1", "anymal-kinova",
    ],
    "specialization/test_traced_robots.py::test_forward_derivatives_of_a_robot_are_traced": [
        "a1", "anymal-kinova",
    ],
    "specialization/test_traced_robots.py::test_inverse_derivatives_of_a_robot_are_traced": [
        "a1", "anymal-kinova",
    ],
    "specialization/test_traced_robots.py::test_coupled_robots_are_traced": ["pr2.urdf-rk4-fixed"],
    "specialization/programs/test_limbs.py::test_limbs_computed_side_by_side_give_the_same_bits": [
        "step-go2.urdf", "mass_matrix-talos_reduced.urdf", "step-talos_reduced.urdf",
    ],
    "specialization/programs/test_limbs.py::test_limbs_of_random_trees_give_the_same_bits": [
        "1", "2", "3",
    ],
    "specialization/test_trace_derivatives.py::test_derivatives_agree_with_the_toolbox": [
        "talos_reduced.urdf",
    ],
    "specialization/test_row_code.py::test_a_step_of_one_robot_equals_the_engine": [
        "panda.urdf", "springs",
    ],
    "specialization/test_lanes.py::test_every_lane_has_the_bits_of_one_robot": ["quadruped-2"],
    "description/test_collisions.py::test_real_robots_become_models": ["talos_reduced.urdf"],
    "description/test_appearance.py::test_pinocchio_reads_the_same_visuals": [
        "talos_reduced.urdf", "kinova.urdf",
    ],
    "engine/test_contact_robots.py::test_robots_fall_on_the_floor_and_stay_above_it": [
        "talos_full_v2.urdf",
    ],
    "engine/test_contact_pairs.py::test_contacts_of_real_robots_match_rb_collisions": [
        "talos_reduced.urdf-25",
    ],
    "engine/test_contact_force.py::test_cfrc_contact_and_qfrc_contact_sum_all_contacts": [
        "talos_reduced.urdf",
    ],
    "engine/test_self_contact.py::test_a_robot_at_rest_does_not_push_itself": ["icub.urdf"],
    "engine/test_contact_rest.py::test_a_robot_that_has_fallen_lies_still": ["anymal.urdf"],
    "loading/test_geometry_masses.py::test_masses_agree_with_jacobians": [
        "talos_reduced.urdf",
    ],
    "rollouts/test_cuda_batch.py::test_a_gpu_and_the_cpu_give_equal_bits_for_real_robots": [
        "processor-Go2", "processor-UR5",
    ],
    "view/test_stored_pictures.py::test_a_picture_is_similar_to_its_stored_picture": ["anymal"],
    "view/test_live_pull.py::test_a_pulled_point_follows_the_cursor_without_swinging": [
        "walker-base-point9-0.0", "walker-FR_calf-point13-0.0",
    ],
    "runtime/test_loaded_servos.py::test_a_rover_drives_a_square_of_two_metres_by_wheel_speeds": [
        "turtlebot3",
    ],
    # parts of a larger case that `make test` runs
    "rollouts/test_rollout_bits.py::test_a_rollout_has_the_bits_of_steps": ["balls", "springs"],
    "dynamics/test_quantities.py::test_a_centre_of_mass_is_the_weighted_mean_of_bodies": [
        "mixed", "three trees", "reversed", "coupled", "lossy",
    ],
    "dynamics/test_quantities.py::test_rates_of_frames_are_exact": ["mixed", "three trees"],
    # further scenes, for which the same contact law is checked
    "engine/test_contact_scenes.py::test_forces_in_scenes_satisfy_the_contact_law": ["dominoes"],
    "engine/test_contact_scenes.py::test_dominoes_fall_one_after_the_other": ["31"],
    "engine/test_contact_scenes.py::test_hulls_thrown_on_a_pile_come_to_rest": ["0", "6", "5"],
    "engine/test_contact_solution.py::"
    "test_forces_meet_the_contact_law_and_match_a_dual_solver": ["rough box", "cylinder", "box"],
    "engine/test_contact_robots.py::test_steps_of_a_falling_humanoid_satisfy_the_contact_law": [
        "False",
    ],
    "engine/test_contact_bodies.py::test_forces_between_bodies_satisfy_the_contact_law": ["panda"],
    "engine/test_contact_bits.py::test_result_bits_do_not_depend_on_earlier_calls": ["humanoid"],
    "engine/test_contact_bits.py::test_threads_give_the_same_bits_as_step": ["humanoid"],
    "engine/test_contact_bodies.py::test_implicit_integrators_omit_coriolis_terms_in_contact": [
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
    "rollouts/test_contact_lanes.py::test_a_leg_that_can_jam_steps_as_in_the_engine": ["5"],
    "specialization/programs/test_limbs.py::"
    "test_values_kept_at_the_same_time_have_different_slots": ["1-20", "8-20"],
    "ros/simulator/test_topics.py::test_a_second_simulator_starts_at_the_time_of_the_first": [
        "names1",
    ],
    "ros/simulator/test_world_changes.py::"
    "test_bodies_attached_to_the_world_get_no_contact_forces_from_the_world": ["pair1"],
    "identification/test_drive_gains.py::"
    "test_a_grossly_wrong_mass_of_the_load_causes_a_warning": ["4.0"],
    # the same code with other compiler options
    "rollouts/test_contact_cuda.py::test_nvcc_compiles_steps_with_contact": ["sm_90"],
    "rollouts/test_cuda_batch.py::test_a_gpu_has_the_bits_of_the_cpu": ["processor-True"],
    "codegen/test_c_robots.py::test_generated_c_agrees_with_the_engine": [
        "panda-clang", "anymal-clang", "reversed-clang", "library-clang",
        "panda-gcc", "anymal-gcc", "reversed-gcc",
    ],
    "codegen/test_fmu.py::"
    "test_an_fmu_has_the_bits_of_the_c_code_and_the_motion_of_the_engine": [
        "panda-2.0", "panda-3.0", "anymal-2.0", "anymal-3.0", "arm-2.0",
    ],
    "codegen/test_c_robots.py::test_single_precision_code_is_close_to_double": [
        "anymal", "reversed", "panda", "library",
    ],
    "codegen/test_c_blocks.py::test_blocks_give_the_bits_of_one_long_function": ["7"],
    "rollouts/test_cuda_code.py::test_nvcc_compiles_the_kernels_and_reports_registers": [
        "sm_80-float", "sm_80-double", "sm_90-double",
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
        "3-1",
    ],
    "control/test_generated_start_up.py::test_generated_code_moves_a_correct_arm_as_python_does": [
        "panda.urdf", "kinova.urdf",
        "ur5_robot.urdf",
    ],
    "control/test_specialised_arm.py::test_efforts_match_the_engine": [
        "panda.urdf", "kinova.urdf",
    ],
    # the fit with the smallest strength needs the most iterations
    "identification/test_identification_solve.py::test_extreme_options_are_refused_or_used": [
        "1e-300-strength",
    ],
    # isolated controllers have the same time limit
    "trials/test_trial_nodes.py::test_the_result_of_a_run_says_what_its_node_did": ["hangs"],
    # arms in separate processes; test_controlled_motion.py runs the same arms in one process
    "ros/test_documented_motion.py::test_the_gravity_node_lets_the_arm_float_and_come_to_rest": [
        "plain", "hil",
    ],
    "ros/arm/test_arm_floats_node.py::test_an_armed_arm_floats": [
        "3.0-ur5_gripper", "3.0-ur5_robot", "3.0-panda",
    ],
    "control_box/test_ur_client.py::test_moves_end_at_their_goals": ["ur10_robot.urdf"],
    # walks ahead and on the spot; the walk around a bend uses all parts of a command
    "ros/policy/test_policy_node.py::test_a_robot_walks_in_lock_step_as_in_python": [
        "command0-0.06", "command1-0.06",
    ],
    # other delays of the signal; `make test` runs the shortest and the longest delay
    "ros/simulator/test_start_and_end.py::test_ctrl_c_ends_a_starting_simulator": [
        "0.01", "0.1", "0.03",
    ],
    # test/control/mobile tests the paths of all kinds of drives
    "ros/simulator/test_mobile_base_node.py::test_a_driven_square_ends_near_its_start": [
        "mecanum", "public", "skid", "car", "planar", "omni",
        "differential",
    ],
    "ros/arm/test_arm_tracks_node.py::"
    "test_computed_torque_tracks_twenty_times_closer_than_pd": ["panda", "ur5"],
    # further cases of a test; `make test` runs one or two cases
    "specialization/test_row_code.py::test_functions_of_one_robot_equal_the_engine": ["library"],
    "identification/test_identification_solve.py::test_extreme_motions_are_refused_or_fitted": [
        "1e+20-qvel",
    ],
    "identification/test_identification_solve.py::test_extreme_gravity_is_refused_or_fitted": [
        "1e+20",
    ],
    "codegen/test_fmu.py::test_fmpy_validates_and_simulates_an_fmu_from_the_command": ["2.0"],
    "codegen/test_fmu.py::test_a_step_that_is_not_a_whole_number_of_timesteps_is_refused": ["2.0"],
    "codegen/test_fmu.py::test_a_restored_simulation_continues_with_the_same_bits": ["2.0"],
    "docs/test_examples.py::test_an_example_prints_the_lines_in_its_docstring": ["high_gain.py"],
    "docs/test_documents.py::test_python_blocks_of_a_page_run_in_turn": [
        "docs/guides/rollouts.md", "docs/guides/trials.md",
    ],
    "view/test_scene.py::test_visuals_have_the_poses_of_pinocchio": ["talos_reduced.urdf"],
    "description/test_urdf_xacro.py::test_expressions_that_take_too_long_are_refused": [
        "range", "macros",
    ],
    "rollouts/test_contact_lanes.py::test_a_fingertip_that_lifts_off_steps_as_in_the_engine": [
        "slanted-6",
    ],
    "rollouts/test_contact_fields.py::test_spheres_on_terrain_step_as_in_the_engine": ["slanted"],
    "rollouts/test_contact_fields.py::"
    "test_the_comparison_with_the_engine_finds_missing_features_of_terrain": [
        "valleys",
    ],
    "rollouts/test_contact_capsules.py::test_rods_that_slide_and_spin_step_as_in_the_engine": [
        "flat",
    ],
    "rollouts/test_contact_capsules.py::"
    "test_an_error_in_the_code_of_capsules_is_detected": ["tilted", "arcs"],
    "rollouts/test_batch_steps.py::"
    "test_real_robots_have_the_bits_of_specialised_steps": [
        "arm", "coupled fingers",
    ],
    "engine/test_contact_robots.py::test_a_fallen_robot_rests_with_other_integrators": ["rk4"],
    "engine/test_closed_inverse.py::test_two_motors_move_a_five_bar": ["1", "2"],
    "engine/test_contact_coupled.py::test_inverse_reverses_forward": ["panda"],
    "engine/test_contact_coupled.py::test_accelerations_in_contact_match_dense_algebra": ["panda"],
    "engine/test_contact_coupled.py::test_contact_forces_act_without_opt_passive": ["panda"],
    "specialization/test_processors.py::"
    "test_specialised_code_gives_the_same_bits_on_every_processor": [
        "x86-64-v3",
    ],
    "specialization/test_processors.py::"
    "test_a_rollout_gives_the_bits_of_steps_on_every_processor": [
        "x86-64-v3", "skylake-avx512",
    ],
    "codegen/test_control_package.py::test_the_gate_checks_states_like_arm_controller": [
        "partial",
    ],
    "trials/test_trial_boxes.py::test_the_result_of_a_run_says_what_its_program_did": [
        "waits-15-timeout-after 15 s the ",
    ],
    "ros/simulator/test_external_node.py::"
    "test_a_known_push_and_weight_are_estimated_within_two_percent": [
        "arm_controller",
    ],
    "ros/simulator/test_view_node.py::test_the_view_ends_with_its_node": [
        "15-realtime", "9-realtime",
    ],
    "ros/simulator/test_lockstep_node.py::test_a_run_with_random_commander_delays_repeats": [
        "600",
    ],
    "control_box/test_franka_client.py::test_all_motion_interfaces_end_at_their_goals": ["1"],
    "writing/test_written_robots.py::test_a_written_robot_is_read_as_the_same_model": [
        ".urdf-centauro", ".yaml-centauro", ".urdf-baxter", ".yaml-ur5_robot",
    ],
    "writing/test_written_robots.py::test_a_written_sdf_moves_like_the_robot": [
        "centauro", "baxter",
    ],
    "writing/test_mjcf_mujoco.py::test_robots_agree_in_mujoco": ["baxter", "panda"],
    "docs/test_docs_commands.py::test_commands_of_a_page_run": [
        "docs/guides/recordings.md",
        "docs/tutorials/pick_a_cube.md",
        "docs/guides/hil.md",
        "docs/guides/fmu.md",
        "docs/guides/moveit.md",
        "docs/guides/trials.md",
        "docs/guides/policies.md",
        "docs/guides/several_robots.md",
        "docs/guides/actuators.md",
        "docs/guides/codegen.md",
    ],
}  # fmt: skip
#: Long tests; `make test` runs a shorter test of the same behaviour instead of each.
INSTEAD = {
    # motion of nodes and clients; the shorter tests run the same loop, server or client
    "ros/simulator/test_servo_node.py::test_the_tool_of_a_simulated_arm_follows_twists_then_holds":
        "ros/simulator/topics/test_servo_topic.py::"
        "test_the_tool_moves_along_a_line_then_brakes_and_holds_its_pose",
    "ros/simulator/test_lockstep_node.py::test_time_runs_on_while_the_commander_is_silent":
        "runtime/test_lockstep_loop.py::"
        "test_time_runs_freely_between_a_timeout_and_the_next_command",
    "ros/simulator/test_so101_node.py::test_the_arm_picks_the_cube_and_a_dataset_records_it":
        "ros/simulator/test_gripper_node.py::"
        "test_the_action_grips_a_cube_and_a_trajectory_lifts_it",
    "ros/simulator/test_start_and_end.py::test_ctrl_c_ends_a_simulator_that_compiles":
        "engine/test_compiling_interrupted.py::"
        "test_ctrl_c_ends_a_compilation_while_llvm_calls_python",
    "ros/test_graph_tools.py::test_the_commands_report_misspelled_names":
        "ros/test_graph_tools.py::test_missing_names_are_reported_after_a_bounded_wait",
    "ros/arm/test_arm_client.py::test_a_real_controller_follows_a_path":
        "ros/arm/test_arm_client.py::test_follow_returns_when_the_arm_reaches_its_goal",
    "ros/arm/test_estimate_node.py::test_services_estimate_and_apply_a_payload":
        "identification/test_online_payload.py::"
        "test_a_payload_is_estimated_if_the_arm_adds_its_own_gravity",
    "ros/arm/test_positions_node.py::test_an_arm_with_a_trajectory_controller_follows_lines":
        "ros/arm/test_positions_node.py::test_the_tool_follows_lines_and_yields_to_a_push",
    "ros/arm/test_arm_faults_node.py::test_invalid_states_end_in_a_fault":
        "ros/arm/test_fault_table_node.py::"
        "test_each_fault_of_the_table_occurs_with_its_reaction",
    "ros/arm/test_arm_time_node.py::test_losing_states_for_some_simulated_time_is_a_fault":
        "control/test_state_clock.py::"
        "test_a_lag_beyond_the_timeout_is_a_fault_even_if_the_limit_is_larger",
    "ros/arm/test_arm_topics_node.py::"
    "test_effort_arrays_move_the_arm_and_hostile_messages_do_not":
        "ros/common/test_trajectory_messages.py::"
        "test_invalid_messages_of_trajectories_are_refused",
    "control_box/test_ur_client.py::test_streams_of_commands_give_the_same_motion_twice":
        "control_box/test_franka_client.py::test_torques_give_the_same_motion_twice",
    "control_box/test_ur_client.py::test_late_packets_change_no_move":
        "control_box/test_ur_reverse.py::"
        "test_delays_of_the_connection_apply_to_commands_and_results",
    "control_box/test_boxed_arm.py::test_two_arms_move_one_after_the_other":
        "control_box/test_boxed_arm.py::test_two_arms_move_at_the_same_time",
    "test_gym_nodes.py::test_the_example_reach_node_reaches_its_goals":
        "test_gym_nodes.py::test_an_episode_has_the_bits_of_the_engine",
    "trials/test_trial_nodes.py::test_measures_of_a_slow_node_use_only_the_states_that_it_receives":
        "trials/test_trial_nodes.py::test_the_result_of_a_run_says_what_its_node_did",
    "trials/test_trial_nodes.py::test_a_node_has_the_same_runs_as_its_law_in_python":
        "trials/test_trial_nodes.py::test_the_result_of_a_run_says_what_its_node_did",
    "trials/test_trial_boxes.py::test_two_trials_of_a_program_give_the_same_bits":
        "trials/test_trial_boxes.py::test_the_result_of_a_run_says_what_its_program_did",
    "trials/test_trial_boxes.py::test_a_script_moves_the_arm_after_its_sender_has_ended":
        "trials/test_trial_boxes.py::test_a_run_fails_if_its_sender_fails_after_sending_the_script",
    "trials/test_trial_runs.py::test_every_run_gets_a_new_object_of_a_controller_class":
        "trials/test_trial_runs.py::test_a_run_does_not_depend_on_the_other_runs",
    "ros/simulator/test_saved_states_node.py::"
    "test_a_lockstep_run_with_noise_and_delays_repeats_after_loading_a_state":
        "ros/simulator/test_saved_states_node.py::"
        "test_after_loading_a_state_the_node_does_not_repeat_later_joint_states",
    "ros/simulator/test_specialised_node.py::"
    "test_specialised_control_laws_hold_an_arm_with_a_payload":
        "runtime/test_specialised_runtime.py::"
        "test_a_specialised_loop_moves_like_the_engine_after_each_command_and_change",
    "ros/moveit/test_pick_node.py::test_the_arm_and_the_gripper_lift_the_cube":
        "ros/simulator/test_gripper_node.py::"
        "test_the_action_grips_a_cube_and_a_trajectory_lifts_it",
    "control_box/test_franky_client.py::test_motions_finish_at_their_goals":
        "control_box/test_franky_client.py::test_the_gripper_lifts_a_cube",
    "control_box/test_ur_client.py::test_force_mode_pushes_with_its_force":
        "control_box/test_ur_external.py::test_force_mode_moves_the_tool_until_it_is_ended",
    "control_box/test_ur_client.py::test_a_joint_at_its_limit_causes_a_protective_stop":
        "control_box/test_ur_servers.py::test_a_large_force_on_the_tool_causes_a_protective_stop",
    "trials/test_trial_processes.py::"
    "test_a_controller_in_python_gives_the_same_runs_in_two_processes":
        "trials/test_trial_processes.py::test_the_runs_do_not_depend_on_the_number_of_processes",
    "trials/test_trial_processes.py::test_ctrl_c_ends_the_controller_of_a_run":
        "trials/test_trial_processes.py::test_the_controller_of_a_run_ends_with_its_worker",
    "view/test_live_page.py::test_a_drag_of_the_mouse_pulls_a_link":
        "view/test_live_pull.py::test_a_pulled_point_follows_the_cursor_without_swinging",
    "ros/arm/test_arm_tracks_node.py::test_an_arm_sags_under_a_load_until_its_payload_is_set":
        "control/test_driven_arm.py::test_a_payload_set_in_the_controller_is_compensated",
    "trials/test_trial_plugin.py::"
    "test_a_fixture_starts_a_simulator_and_fails_the_test_on_an_error":
        "trials/test_trial_plugin.py::"
        "test_a_session_runs_trials_in_tests_and_reports_their_verdicts",
    "docs/test_docs_reference.py::test_every_page_is_in_the_site":
        "docs/test_documents.py::test_link_targets_exist",
    "docs/test_docs_reference.py::test_no_page_loads_anything_from_the_network":
        "docs/test_documents.py::test_link_targets_exist",
    "docs/test_docs_reference.py::test_linked_files_are_copied_into_the_site":
        "docs/test_documents.py::test_link_targets_exist",
    # films and further examples; `make test` compares the numbers that other examples print
    **dict.fromkeys(
        [
            f"docs/test_examples.py::test_{name}"
            for name in (
                "an_example_writes_its_film",
                "computed_torque_tracks_better_than_pd",
                "double_pendulums_diverge_while_energy_is_conserved",
            )
        ],
        "docs/test_examples.py::test_an_example_prints_the_lines_in_its_docstring",
    ),
    # a browser draws in software, on all cores; `make test` keeps the first tests of these pages
    "view/test_replay_page.py::test_a_page_plays_a_recording_and_its_buttons_pause_seek_and_step":
        "view/test_replay_page.py::test_a_player_advances_seeks_and_steps_its_time",
    "view/test_view_page.py::test_the_page_undoes_an_impossible_position_and_says_why":
        "view/test_view_page.py::test_a_slider_moved_in_the_browser_moves_the_joint_in_the_program",
    "view/test_view_page.py::test_the_connectivity_graph_opens_and_closes":
        "view/test_draw_connectivity.py::test_large_graphs_have_fewer_texts",
    "view/test_view_page.py::test_a_click_on_a_body_shows_its_name_as_plain_text":
        "view/test_view_page.py::test_the_page_shows_a_robot_and_a_chosen_layer",
    "ros/simulator/test_view_node.py::test_the_view_shows_objects_that_are_spawned_and_deleted":
        "view/test_view_link.py::test_energies_of_an_instant_belong_to_the_exchanged_model",
    "view/test_live_page.py::test_buttons_pause_and_resume_time":
        "ros/simulator/test_view_node.py::test_buttons_of_the_view_change_the_simulation",
    "view/test_live_page.py::test_buttons_set_the_speed_and_the_page_shows_the_wanted_speed":
        "view/test_live_panel.py::test_the_buttons_of_speed_start_from_the_current_speed",
    "view/test_live_page.py::test_a_slider_drives_its_joint_until_the_button_release_is_pressed":
        "ros/simulator/test_view_node.py::test_buttons_of_the_view_change_the_simulation",
    "view/test_live_page.py::test_a_slider_moves_a_joint_and_the_other_joints_hold_their_positions":
        "view/test_live_panel.py::test_position_sliders_follow_the_robot_until_one_slider_is_moved",
    "view/test_live_page.py::test_the_button_push_pushes_the_chosen_link":
        "ros/simulator/test_view_node.py::test_buttons_of_the_view_change_the_simulation",
    # larger robots and scenes, for which the same contact law is checked
    "rollouts/test_contact_cuda.py::test_a_trot_on_a_gpu_has_the_bits_of_the_cpu":
        "rollouts/test_contact_cuda.py::"
        "test_a_finger_with_friction_and_a_limit_has_the_bits_of_the_cpu",
    "rollouts/test_contact_fields.py::test_a_trot_on_terrain_steps_as_in_the_engine":
        "rollouts/test_contact_fields.py::test_spheres_on_terrain_step_as_in_the_engine",
    "rollouts/test_lanes_of_pairs.py::test_a_robot_that_stands_and_grasps_steps_as_in_the_engine":
        "rollouts/test_lanes_of_pairs.py::"
        "test_robots_with_their_own_masses_grip_as_in_their_own_models",
    "rollouts/test_lanes_of_pairs.py::test_errors_in_the_code_of_pairs_are_detected":
        "rollouts/test_contact_lanes.py::test_a_wrong_contact_law_fails_the_comparison",
    "rollouts/test_lanes_of_pairs.py::test_touching_fingers_step_as_in_the_engine":
        "rollouts/test_lanes_of_pairs.py::"
        "test_robots_with_their_own_masses_grip_as_in_their_own_models",
    "rollouts/test_contact_lanes.py::test_a_hundred_trotting_robots_step_as_in_the_engine":
        "rollouts/test_contact_lanes.py::test_a_standing_robot_sways_as_in_the_engine",
    "description/test_appearance.py::test_every_visual_and_collision_of_the_real_robots_is_read":
        "description/test_collisions.py::test_every_real_robot_is_read_with_all_its_meshes",
    "engine/test_long_chain.py::test_a_long_chain_read_from_a_urdf_equals_the_built_chain":
        "description/test_urdf_legal.py::test_ten_thousand_links_are_read",
    "engine/test_contact_bits.py::test_simulations_in_two_processes_have_equal_bits":
        "engine/test_contact_bits.py::test_result_bits_do_not_depend_on_earlier_calls",
    "rollouts/test_contact_fields.py::"
    "test_a_robot_whose_other_geometry_touches_terrain_runs_on_the_engine":
        "rollouts/test_contact_fields.py::"
        "test_a_robot_whose_contact_begins_at_an_edge_runs_on_the_engine",
    "engine/test_mechanisms.py::test_a_delta_robot_on_springs_keeps_its_energy_for_a_minute":
        "engine/test_mechanisms.py::test_mechanisms_keep_their_energy_for_a_minute",
    "identification/test_fit.py::test_standard_deviations_agree_with_many_recordings":
        "identification/test_real_imperfections.py::"
        "test_standard_deviations_match_the_real_errors",
    "identification/test_identify_cli.py::test_no_urdf_is_patched_after_a_motion_of_one_joint":
        "identification/test_identification_warnings.py::"
        "test_a_motion_at_rest_prevents_a_patch",
    "identification/test_online_payload.py::"
    "test_parameters_are_within_three_standard_deviations":
        "identification/test_online_payload.py::"
        "test_deviations_of_the_centre_of_mass_follow_from_the_covariance",
    "identification/test_identify_cli.py::test_excite_proposes_a_motion_after_a_recording":
        "identification/test_identify_cli.py::test_excite_reports_the_motion",
    "specialization/test_processors.py::test_code_uses_the_instructions_of_the_chosen_processor":
        "specialization/test_machine_cache.py::"
        "test_another_model_option_or_processor_has_its_own_code",
    "specialization/test_processors.py::"
    "test_specialised_code_gives_the_same_bits_on_every_processor":
        "specialization/test_lanes.py::test_every_lane_has_the_bits_of_one_robot",
    "specialization/test_processors.py::test_each_processor_has_its_own_cache":
        "specialization/test_machine_cache.py::"
        "test_another_model_option_or_processor_has_its_own_code",
}  # fmt: skip
#: Names in LONG that no collected case of their test has.
UNKNOWN: list[str] = []

#: Golden ratio less 1, whose multiples modulo 1 are spread evenly for any period of parameters.
GOLDEN = 0.5 * (5**0.5 - 1.0)


def runs(number, one_in):
    """Return whether `make test` runs the case with this number among the cases of its test."""
    return number * GOLDEN % 1.0 < 1.0 / one_in


def mark(items, tests):
    """Give the marker nightly to cases that do not run in `make test`.

    Args:
        items: the collected tests.
        tests: path of the folder with the tests.
    """
    families = {name: [] for name in ONE_IN | LONG | INSTEAD}
    files = {path: path.relative_to(tests).as_posix() for path in {item.path for item in items}}
    for item in items:
        name = f"{files[item.path]}::{getattr(item, 'originalname', '')}"
        if name in families and not item.get_closest_marker("nightly"):
            families[name].append(item)
    for name, cases in families.items():
        one_in = ONE_IN.get(name, 1) if len(cases) >= FEW else 1
        for number, case in enumerate(cases):
            if name in INSTEAD or not runs(number, one_in) or _id(case) in LONG.get(name, ()):
                case.add_marker(pytest.mark.nightly)
        ids = {_id(case) for case in cases}
        UNKNOWN.extend(f"{name}[{each}]" for each in LONG.get(name, ()) if ids and each not in ids)


def _id(item):
    return item.callspec.id if hasattr(item, "callspec") else ""

# SPDX-License-Identifier: Apache-2.0
"""Recordings as a dataset of LeRobot, version 3.0: tables in parquet, pictures in mp4."""

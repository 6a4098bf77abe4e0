# SPDX-License-Identifier: Apache-2.0
"""Write recordings as a dataset of LeRobot 3.0: tables in parquet files, pictures in mp4 files."""

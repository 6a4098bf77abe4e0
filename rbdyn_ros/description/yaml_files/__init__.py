# SPDX-License-Identifier: Apache-2.0
"""YAML files as tables: one row for each key, which reads it, describes it and checks it."""

# SPDX-License-Identifier: Apache-2.0
"""The runs of a trial on disk, and their verdict."""

# SPDX-License-Identifier: Apache-2.0
"""Generate C99 from traced functions: sources for firmware, a test and a build file.

    table.py      the functions that C code can have, with their arguments
    functions.py  Model and Wanted -> the Program of each function, traced by specialization/
    names.py      names of files, joints and links -> identifiers and comments
    project.py    CProject: everything to write, and the parts that the files share
    header.py     CProject -> the header: sizes, indices, prototypes
    source.py     CProject -> the functions, and the file for CMake
    samples.py    CProject -> states, the engine's results in them, and the allowed rounding
    self_test.py  CProject, samples -> the test, a program in C
    folder.py     CProject -> files in a folder, where only generated files are overwritten

specialization/languages/c_language.py writes the statements of a Program, and c_blocks.py cuts a
long Program into functions, which compile much faster. Code for a GPU uses both modules.

`rbdyn codegen` (commands/codegen.py) runs these steps from top to bottom.
"""

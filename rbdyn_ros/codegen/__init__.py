"""C99 of what was traced: standalone sources for firmware, with a test and a build file.

    table.py      which functions there are in C, with their arguments
    functions.py  Model and Wanted -> the Program of each function, traced (specialize/)
    language.py   Program -> statements of C; Real: double or float, and how its constants look
    c_blocks.py   a long Program -> static functions, which compile much faster
    names.py      names of files, joints and links -> identifiers and comments
    project.py    CProject: all that is to be written, and what its files share
    header.py     CProject -> the header: sizes, indices, prototypes
    source.py     CProject -> the functions, and the file for CMake
    samples.py    CProject -> states, what the engine computes there, what rounding is allowed
    check.py      CProject, samples -> the test, a program in C
    folder.py     CProject -> a folder, where nothing foreign is overwritten

`rbdyn codegen` (commands/codegen.py) goes this way from top to bottom.
"""

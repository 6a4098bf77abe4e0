"""Read files and text that may come from anybody: size, paths, XML, xacro."""

# Included after project() of every message package (build.py).
find_package(ament_cmake REQUIRED)
find_package(rosidl_default_generators REQUIRED)

# Python needs no C++ bindings; without them the build takes half the time.
list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "_cpp")

foreach(generator generator_type_description generator_c generator_py
    typesupport_c typesupport_fastrtps_c typesupport_introspection_c)
  list(PREPEND rosidl_${generator}_BIN "${CMAKE_CURRENT_LIST_DIR}/parse_once.py")
endforeach()

# Compilers spend most of the time on headers, so join the sources of each library to one file.
function(join_sources)
  foreach(part typesupport_c typesupport_fastrtps_c typesupport_introspection_c generator_py)
    set_target_properties(${PROJECT_NAME}__rosidl_${part} PROPERTIES
      UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endforeach()
endfunction()
cmake_language(DEFER CALL join_sources)

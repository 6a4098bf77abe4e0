# SPDX-License-Identifier: Apache-2.0
"""The shader programs that draw depths of triangles, and of solids solved for each pixel.

Lengths are metres in the axes of the camera. Each pixel gets its depth along z and the number of
its shape.
"""

#: Least distance that is drawn [m].
NEAREST = 1e-4

_WRITE = """
out vec2 pixel;
uniform float number;
void write_pixel(float z) {
    pixel = vec2(z, number);
    gl_FragDepth = z / (1.0 + z);  // 2e-6 m at 5 m, in 24 bits
}
"""

VERTEX = """#version 330
uniform mat4 pose, projection;
in vec3 at;
out float z;
void main() {
    vec4 place = pose * vec4(at, 1.0);
    z = place.z;
    gl_Position = projection * place;
}
"""

FRAGMENT = f"""#version 330
in float z;
{_WRITE}
void main() {{ write_pixel(z); }}
"""

#: Vertex shader of a plane, for which a square covers the whole picture.
PLANE_VERTEX = """#version 330
in vec2 at;
void main() { gl_Position = vec4(at, 0.0, 1.0); }
"""

_RAY = """
uniform vec4 pinhole;  // fx, fy, cx, cy
vec3 ray() { return vec3((gl_FragCoord.xy - 0.5 - pinhole.zw) / pinhole.xy, 1.0); }
"""

PLANE_FRAGMENT = f"""#version 330
uniform vec4 plane;  // normal, and its product with the points of the plane
{_RAY}{_WRITE}
void main() {{
    float z = plane.w / dot(plane.xyz, ray());
    if (!(z > {NEAREST} && z < 1e9)) discard;
    write_pixel(z);
}}
"""

#: Fragment shader of a solid, for the far sides of the box around it; `kind` is a GeomType.
SOLID_FRAGMENT = f"""#version 330
uniform mat4 to_solid;
uniform vec3 size;
uniform int kind;
{_RAY}{_WRITE}
const vec2 MISSED = vec2(1.0, -1.0);

vec2 slab(float o, float u, float half_width) {{
    float safe = abs(u) < 1e-9 ? 1e-9 : u;
    vec2 t = (vec2(-half_width, half_width) - o) / safe;
    return vec2(min(t.x, t.y), max(t.x, t.y));
}}

vec2 both(vec2 s, vec2 t) {{ return vec2(max(s.x, t.x), min(s.y, t.y)); }}

vec2 either(vec2 s, vec2 t) {{
    if (s.x > s.y) return t;
    if (t.x > t.y) return s;
    return vec2(min(s.x, t.x), max(s.y, t.y));
}}

// from the nearest point of the ray, so that no large numbers cancel
vec2 ball(vec3 o, vec3 u, float radius) {{
    float nearest = -dot(o, u) / dot(u, u);
    vec3 off = o + nearest * u;
    float inside = radius * radius - dot(off, off);
    return inside < 0.0 ? MISSED : nearest + sqrt(inside / dot(u, u)) * vec2(-1.0, 1.0);
}}

vec2 tube(vec3 o, vec3 u, float radius) {{
    float across = max(dot(u.xy, u.xy), 1e-18), nearest = -dot(o.xy, u.xy) / across;
    vec2 off = o.xy + nearest * u.xy;
    float inside = radius * radius - dot(off, off);
    return inside < 0.0 ? MISSED : nearest + sqrt(inside / across) * vec2(-1.0, 1.0);
}}

vec2 crossing(vec3 o, vec3 u) {{
    if (kind == SPHERE) return ball(o, u, size.x);
    if (kind == BOX)
        return both(both(slab(o.x, u.x, size.x), slab(o.y, u.y, size.y)), slab(o.z, u.z, size.z));
    vec2 side = both(tube(o, u, size.x), slab(o.z, u.z, size.y));
    if (kind == CYLINDER) return side;
    vec3 up = vec3(0.0, 0.0, size.y);
    return either(side, either(ball(o - up, u, size.x), ball(o + up, u, size.x)));
}}

void main() {{
    vec3 o = to_solid[3].xyz, u = mat3(to_solid) * ray();
    float middle = -dot(o, u) / dot(u, u);
    vec2 t = middle + crossing(o + middle * u, u);
    float z = t.x > {NEAREST} ? t.x : t.y;
    if (t.x > t.y || z < {NEAREST}) discard;
    write_pixel(z);
}}
"""

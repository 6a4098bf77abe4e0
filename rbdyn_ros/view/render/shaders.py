# SPDX-License-Identifier: Apache-2.0
"""The shader programs of the renderer: a sun with shadows, light of the sky, floors with a grid.

Colours are computed in linear space and then encoded as sRGB, as files and messages need them.
"""

from rbdyn_ros.description.parts.lights import MOST_LIGHTS

VERTEX = """#version 330
uniform mat4 model, view, sun;
in vec3 at, across;
in vec2 place;
out vec3 world, normal;
out vec4 in_sun;
out vec2 in_image;
void main() {
    vec4 there = model * vec4(at, 1.0);
    world = there.xyz;
    normal = mat3(model) * across;  // models turn and move; rods stretch along their side
    in_sun = sun * there;
    in_image = place;
    gl_Position = view * there;
}
"""

FRAGMENT = """#version 330
uniform vec4 color;
uniform vec3 to_sun, sun_color, eye;
uniform float sun_gloss;
uniform int lamps;
uniform vec3 lamp_at[MOST_LIGHTS], lamp_towards[MOST_LIGHTS], lamp_color[MOST_LIGHTS];
uniform vec4 lamp_fade[MOST_LIGHTS];  // attenuation and range
uniform vec2 lamp_cone[MOST_LIGHTS];  // cosines of the half angles
uniform sampler2DShadow shadow;
uniform bool is_floor, has_image;
uniform sampler2D image;
in vec3 world, normal;
in vec4 in_sun;
in vec2 in_image;
out vec4 pixel;

float sunlit(float facing) {
    vec3 place = in_sun.xyz / in_sun.w * 0.5 + 0.5;
    if (any(lessThan(place, vec3(0.0))) || any(greaterThan(place, vec3(1.0)))) return 1.0;
    float slack = mix(0.004, 0.0008, facing), lit = 0.0;
    vec2 step = 1.0 / textureSize(shadow, 0);
    for (int x = -1; x <= 1; x++) for (int y = -1; y <= 1; y++)
        lit += texture(shadow, vec3(place.xy + step * vec2(x, y), place.z - slack));
    return lit / 9.0;
}

// the light of a lamp at this place
vec3 lamplight(int i, vec3 n) {
    vec3 away = lamp_at[i] - world;
    float r = length(away);
    vec4 fade = lamp_fade[i];
    vec3 to_lamp = away / max(r, 1e-6);
    float inside = smoothstep(lamp_cone[i].y, lamp_cone[i].x, dot(-to_lamp, lamp_towards[i]));
    float edge = 1.0 - smoothstep(0.8 * fade.w, fade.w, r);
    float share = edge * min(1.0 / max(fade.x + r * (fade.y + r * fade.z), 1e-6), 1.0);
    return lamp_color[i] * share * inside * max(dot(n, to_lamp), 0.0);
}

// the share of a line of a grid in this pixel
float line(vec2 at, float spacing, float width) {
    vec2 cell = at / spacing, blur = max(fwidth(cell), vec2(1e-6));
    vec2 away = abs(fract(cell - 0.5) - 0.5);
    vec2 share = clamp((width / spacing - away) / blur + 0.5, 0.0, 1.0);
    share *= clamp(0.5 / blur, 0.0, 1.0);  // lines that are too near to each other fade
    return max(share.x, share.y);
}

void main() {
    vec3 n = normalize(normal), from = normalize(eye - world);
    if (dot(n, from) < 0.0) n = -n;
    vec3 base = pow(has_image ? texture(image, in_image).rgb : color.rgb, vec3(2.2));
    if (is_floor)
        base *= 1.0 - 0.45 * line(world.xy, 1.0, 0.006) - 0.2 * line(world.xy, 0.25, 0.002);
    float facing = max(dot(n, to_sun), 0.0);
    float lit = facing > 0.0 ? sunlit(facing) : 0.0;
    vec3 sky = mix(vec3(0.22, 0.21, 0.20), vec3(0.42, 0.45, 0.50), 0.5 + 0.5 * n.z);
    vec3 half_way = normalize(to_sun + from);
    float gloss = is_floor ? 0.0 : 0.12 * pow(max(dot(n, half_way), 0.0), 40.0);
    vec3 light = sky + sun_color * facing * lit;
    for (int i = 0; i < lamps; i++) light += lamplight(i, n);
    vec3 shown = base * light + gloss * lit * sun_gloss;
    pixel = vec4(pow(clamp(shown, 0.0, 1.0), vec3(1.0 / 2.2)), color.a);
}
""".replace("MOST_LIGHTS", str(MOST_LIGHTS))

#: Fragment shader of the shadow map, which needs only the depths seen from the sun.
SHADOW_FRAGMENT = """#version 330
void main() {}
"""

#: Shaders of a lens: each pixel gets the colour at its place in a picture without distortion.
LENS_VERTEX = """#version 330
in vec2 corner;
void main() { gl_Position = vec4(corner, 0.0, 1.0); }
"""

LENS_FRAGMENT = """#version 330
uniform sampler2D plain, places;
out vec4 pixel;
void main() {
    pixel = texture(plain, texelFetch(places, ivec2(gl_FragCoord.xy), 0).xy);
}
"""

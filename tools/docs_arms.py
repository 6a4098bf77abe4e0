# SPDX-License-Identifier: Apache-2.0
"""Generate the table of arms in docs/guides/real_arm.md from config/arms/*.yaml."""

from __future__ import annotations

from pathlib import Path

from docs_parameters import ROOT
from docs_words import escaped

from rbdyn_ros.ros.arm.presets import ArmPreset, Fact, preset_files, presets_in

PAGE = ROOT / "docs/guides/real_arm.md"
BEGIN = "<!-- arms: written by tools/docs.py -->"
END = "<!-- end of arms -->"
TERMS = ("gravity", "coriolis", "friction")
HEAD = (
    "| `arm` | driver | takes efforts | gravity, Coriolis, friction carried by the arm | "
    "measured effort | Hz | needs |"
)


def arms_page() -> dict[Path, str]:
    """Return the text of the guide with the table."""
    before, rest = PAGE.read_text(encoding="utf-8").split(f"{BEGIN}\n")
    after = rest.split(END)[1]
    families = [list(presets_in(path)) for path in preset_files()]
    return {PAGE: f"{before}{BEGIN}\n{_table(families)}\n\n{_traps(families)}\n{END}{after}"}


def _table(families: list[list[ArmPreset]]) -> str:
    lines = [
        HEAD,
        "|---|---|---|---|---|---|---|",
    ]
    for family in families:
        first, facts = family[0], family[0].facts
        cells = (
            ", ".join(f"`{preset.name}`" for preset in family),
            first.driver,
            _linked(_yes(facts["takes_efforts"]), facts["takes_efforts"]),
            ", ".join(_carried(first, term) for term in TERMS),
            *(
                _linked(str(facts[name].value), facts[name])
                for name in ("measured_effort", "rate", "firmware")
            ),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _carried(preset: ArmPreset, term: str) -> str:
    nothing = Fact(False, preset.facts["takes_efforts"].source)
    fact = preset.parameters.get(f"robot_compensates_{term}", nothing)
    return _linked(_yes(fact), fact)


def _traps(families: list[list[ArmPreset]]) -> str:
    lines = []
    for family in families:
        taken = family[0].facts["takes_efforts"]
        facts = [] if taken.value else [(taken.note, taken.source)]
        facts += [(trap.value, trap.source) for trap in family[0].traps]
        lines.append(f"- **{family[0].driver}**")
        lines += [f"    - {fact} ([source]({source}))" for fact, source in facts]
    return "\n".join(lines)


def _yes(fact: Fact) -> str:
    return "yes" if fact.value else "no"


def _linked(text: str, fact: Fact) -> str:
    return f"[{escaped(text)}]({fact.source})"

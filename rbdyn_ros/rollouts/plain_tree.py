"""The Model that a law uses: the tree alone, without contact and constraints."""

from __future__ import annotations

from rbdyn_ros.model.model import Model, unchecked_model
from rbdyn_ros.model.model_fields import MODEL_FIELDS, NAME_DIMS

#: Sizes of everything beyond a plain tree.
_SURROUNDINGS = (
    *("ngeom", "nvert", "nobstacle"),
    *("ngeomall", "nvertall", "nedge", "nexclude", "nmeet", "npush", "nface", "nfacevert"),
)
_CONSTRAINTS = ("nloop", "nlength", "npoint", "ngear", "nterm", "nroll", "nefc", "nwrench")


def plain_tree(m: Model) -> Model:
    """Return the Model without contact and constraints, with options of its own."""
    if m.ngeom == 0 and m.nefc == 0:
        return m.replaced()
    dropped = {*_SURROUNDINGS, *_CONSTRAINTS}
    arrays = {
        each.name: getattr(m, each.name)[:0] if dropped & set(each.dims) else getattr(m, each.name)
        for each in MODEL_FIELDS
    }
    names = {name: () if dim in dropped else getattr(m, name) for name, dim in NAME_DIMS.items()}
    return unchecked_model(m.name, arrays, names, m.replaced().opt, (), m)

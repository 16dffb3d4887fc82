"""Parameters that may change while a node runs: fields of a config with a mark, each within its declared range."""

from pydantic import BaseModel
from pydantic.fields import FieldInfo

TUNABLE = "is_tunable"
TUNED = "tuned"  # key of a solve's status: JSON object of what was changed before it
REFERENCE_START = "reference_start_ns"  # key of the same: when the reference starts that is followed, "": there is none
WAITED = "waited_s"  # key of the same: for how long that reference has stood still, because the bridge held


def is_tunable(field: FieldInfo) -> bool:
    """Whether a field may change at run time."""
    extra = field.json_schema_extra
    return isinstance(extra, dict) and extra.get(TUNABLE) is True


def tunable_names(config_class: type[BaseModel]) -> tuple[str, ...]:
    """Return the names of the fields that may change at run time."""
    return tuple(name for name, field in config_class.model_fields.items() if is_tunable(field))

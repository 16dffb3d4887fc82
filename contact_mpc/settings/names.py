"""Names and file names in YAML: what they may contain, since names become folders, topics and titles."""

from typing import Annotated

from pydantic import Field, StringConstraints

NAME = r"^[A-Za-z0-9][A-Za-z0-9_+-]*(\.[A-Za-z0-9_+-]+)*$"  # no separator of folders, no blank, no bracket
PRINTABLE = r"^[^\x00-\x1f\x7f]+$"

Name = Annotated[str, StringConstraints(pattern=NAME, max_length=100), Field(description="letters, digits, _ + - .")]
FileName = Annotated[str, StringConstraints(pattern=PRINTABLE, max_length=1000)]
